//! A target of a plan that is started here for a load of another machine.
//!
//! Invariant: no process of it outlives [`Host::with`].

use super::build::build;
use super::endpoint::Endpoint;
use super::trial::{TrialContext, TrialError, TrialGroup, TrialRunner, TrialSpec};
use super::{Request, single::Gone};
use crate::plan::settings::Settings;
use crate::plan::{Plan, Target};
use crate::schedule::{Cell, Machine, Placement, assign_cores};
use crate::system::ports;
use crate::system::process_group::last_lines;
use crate::system::process_registry::ProcessRegistry;
use crate::testers::Tester;
use brunt_results::Cores;
use brunt_results::directory::Directory;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// The targets of a plan that may be started here.
pub struct Host {
    plan: Plan,
    base: PathBuf,
    brunt: PathBuf,
    registry: Arc<ProcessRegistry>,
    /// Where others reach this machine.
    address: IpAddr,
    built: Mutex<BTreeSet<String>>,
}

/// A target that is up, as long as the work goes on.
pub struct Up<'a> {
    pub endpoint: Endpoint,
    gone: &'a mut Gone<'a>,
    log: PathBuf,
}

impl Up<'_> {
    /// Why it has ended, if it has.
    pub fn gone(&mut self) -> Option<String> {
        (self.gone)()
    }

    /// The last lines that it has written.
    pub fn log(&self, lines: usize) -> Vec<String> {
        last_lines(&self.log, lines)
    }
}

impl Host {
    /// The targets of a plan whose paths are relative to `base`, reached at `address`. `dir` has the registry of their processes: those
    /// that an earlier program left there are ended.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn new(plan: Plan, base: PathBuf, brunt: PathBuf, address: IpAddr, dir: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let (registry, _) = ProcessRegistry::open(&dir.join("processes"))?;
        Ok(Self { plan, base, brunt, registry: Arc::new(registry), address, built: Mutex::default() })
    }

    fn request(&self, dir: &Path) -> Request {
        Request {
            plan: self.plan.clone(),
            plan_text: String::new(),
            base: self.base.clone(),
            out: dir.to_owned(),
            fresh: false,
            tester: Tester::brunt(&self.brunt),
            generator: None,
            brunt: self.brunt.clone(),
            fleet: None,
            command: Vec::new(),
        }
    }

    /// Names of the targets.
    pub fn names(&self) -> Vec<&str> {
        self.plan.targets.iter().map(|target| target.name.as_str()).collect()
    }

    /// Whether there is a target of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn check(&self, name: &str) -> Result<(), String> {
        self.target(name).map(drop)
    }

    fn target(&self, name: &str) -> Result<&Target, String> {
        let found = self.plan.targets.iter().find(|target| target.name == name && target.on.is_none());
        found.ok_or_else(|| format!("its owner has no target '{name}'; there is {}", self.names().join(", ")))
    }

    /// Builds the target if it has not been, starts it for a load of these settings, calls `work` and stops it.
    ///
    /// # Errors
    /// There is no such target, or it cannot be started or stopped; one line.
    pub fn with(
        &self,
        name: &str,
        settings: &Settings,
        dir: &Path,
        stop: &AtomicBool,
        work: impl FnOnce(&mut Up<'_>),
    ) -> Result<(), String> {
        let target = self.target(name)?;
        let io = |error: std::io::Error| error.to_string();
        Directory::create(dir).map_err(io)?;
        self.build(target, dir, stop)?;
        let machine = Machine::here().map_err(io)?;
        let placed =
            assign_cores(&machine, &target.pin, settings.server_cores, crate::plan::settings::ClientCores::Fixed(0));
        let placed = placed.map_err(|why| why.to_string())?;
        let placement = Placement { client: Cores(machine.cores.clone()), ..placed };
        let cell = Cell::new(name.to_owned(), String::new(), settings.clone(), placement);
        let trials = vec![TrialSpec { cell: &cell, number: 1, dir: dir.to_owned() }];
        let group = TrialGroup { trials, target, repeat: 1, seed: 1 };
        let request = self.request(dir);
        let runner = TrialRunner { request: &request, registry: &self.registry, stop };
        let address = SocketAddr::new(self.address, ports::free().map_err(io)?);
        let context = TrialContext::new(&runner, &group, address, machine).map_err(io)?;
        let mut background = None;
        let done = started(&context, &mut background, dir, work);
        let after = context.after(&mut |_| ());
        drop(background);
        done.and(after.map_err(line))
    }

    fn build(&self, target: &Target, dir: &Path, stop: &AtomicBool) -> Result<(), String> {
        // Two starts at the same time build once.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if target.build.is_empty() || built.contains(&target.name) {
            return Ok(());
        }
        match build(target, &self.base, &dir.join("build.log"), &self.registry, stop) {
            None => Err("it was stopped while it was built".to_owned()),
            Some(done) => done.map(|()| _ = built.insert(target.name.clone())),
        }
    }
}

fn started(
    context: &TrialContext<'_>,
    background: &mut Option<crate::system::process_group::ProcessGroup>,
    dir: &Path,
    work: impl FnOnce(&mut Up<'_>),
) -> Result<(), String> {
    let mut running = context.start_target(background, &mut |_, _| ()).map_err(line)?;
    let (endpoint, log) = (running.endpoint.clone(), dir.join(super::trial::TARGET_LOG));
    work(&mut Up { endpoint, gone: &mut || running.gone(), log });
    context.stop_target(running).map_err(line)
}

fn line(error: TrialError) -> String {
    match error {
        TrialError::Interrupted => "it was stopped".to_owned(),
        TrialError::Failed(_, failure) => failure.line(),
        TrialError::Io(error) => error.to_string(),
    }
}
