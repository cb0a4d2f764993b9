//! The target's folder and command line: its words with placeholders replaced, or those of a server that brunt knows.

use super::{ENDPOINT, Result, TARGET_LOG, TrialError, TrialGroup, TrialRunner};
use crate::plan::TargetKind;
use crate::plan::template::expand;
use crate::run::{nginx, preflight};
use crate::schedule::{Machine, OTHER_FILES, Placement};
use crate::system::cgroup::MemoryCgroup;
use crate::system::process_group::Launch;
use crate::system::rlimits;
use brunt_meter::environment;
use brunt_results::Cores;
use std::net::SocketAddr;
use std::{collections::BTreeMap, fs, fs::File, io, path::PathBuf};

/// One start of a target, and what is settled before any process of its trials is started.
pub(in crate::run) struct TrialContext<'a> {
    pub(super) runner: &'a TrialRunner<'a>,
    pub(super) group: &'a TrialGroup<'a>,
    /// Where a target of this machine is to listen.
    pub(in crate::run) address: SocketAddr,
    pub(super) dir: PathBuf,
    values: BTreeMap<String, String>,
    /// Every core that this process may use.
    all_cores: Cores,
}

impl<'a> TrialContext<'a> {
    pub(in crate::run) fn new(
        runner: &'a TrialRunner,
        group: &'a TrialGroup,
        address: SocketAddr,
        machine: Machine,
    ) -> io::Result<Self> {
        let dir = std::path::absolute(preflight::folder(group.target, &runner.request.base))?;
        let mut values = group.cell().placeholders();
        values.insert("listen".into(), address.to_string());
        values.insert("host".into(), address.ip().to_string());
        values.insert("port".into(), address.port().to_string());
        values.insert("dir".into(), dir.display().to_string());
        values.insert("brunt".into(), runner.request.brunt.display().to_string());
        Ok(Self { runner, group, address, dir, values, all_cores: Cores(machine.cores) })
    }

    pub(super) fn words(&self, words: &[String]) -> Result<Vec<String>> {
        words.iter().map(|word| expand(word, &self.values).map_err(TrialError::usage)).collect()
    }

    pub(super) fn env(&self) -> Result<BTreeMap<String, String>> {
        let value = |value| expand(value, &self.values).map_err(TrialError::usage);
        self.group.target.env.iter().map(|(name, text)| Ok((name.clone(), value(text)?))).collect()
    }

    pub(super) fn existing_dir(&self) -> Option<PathBuf> {
        Some(self.dir.clone()).filter(|dir| dir.is_dir())
    }

    pub(super) fn target_launch(&self, cgroup: Option<&MemoryCgroup>) -> Result<Launch> {
        let (program, args) = self.target_command()?;
        let (program, args) = rlimits::wrap_command(&self.group.target.limits, program, args, cgroup);
        let placement = &self.group.cell().placement;
        let log = File::create(self.group.dir().join(TARGET_LOG))?;
        Ok(Launch {
            dir: self.existing_dir(),
            env: self.env()?,
            cores: Some(match placement {
                Placement { elsewhere: true, .. } => placement.client.clone(),
                Placement { free: true, .. } => self.all_cores.clone(),
                _ => placement.server.clone(),
            }),
            ..Launch::new(program, args, log.try_clone()?, log)
        })
    }

    fn target_command(&self) -> Result<(PathBuf, Vec<String>)> {
        let group = self.group;
        let tls = group.cell().settings.uses_tls();
        match &group.target.kind {
            TargetKind::Serve { service, model, args } => {
                let own = ["serve", service, "--listen", "{listen}", "--model", model, "--cores", "{cores}"];
                let own = own.into_iter().chain(tls.then_some("--tls")).map(str::to_owned);
                let all: Vec<String> = own.chain(args.iter().cloned()).chain(processes(group, service, args)).collect();
                Ok((self.runner.request.brunt.clone(), self.words(&all)?))
            }
            TargetKind::OfAgent => {
                let (request, target) = (self.runner.request, group.target);
                let agents = target.on.as_ref().and_then(|on| request.plan.hosts.get(on)).cloned().unwrap_or_default();
                let settings = serde_json::to_string(&group.cell().settings).map_err(io::Error::other)?;
                let endpoint = group.dir().join(ENDPOINT).display().to_string();
                let agents = self.words(&[agents])?.remove(0);
                let words = ["fleet", "start", &agents, &target.name, "--endpoint", &endpoint, "--settings", &settings];
                let words = words.map(str::to_owned).into_iter().chain(request.fleet_file());
                Ok((request.brunt.clone(), words.collect()))
            }
            TargetKind::Command(all) => {
                let mut all = self.words(all)?;
                let args = all.split_off(1);
                Ok((preflight::program(&all[0], &self.dir), args))
            }
            TargetKind::Nginx { body, keepalive_requests } => {
                let body = self.words(std::slice::from_ref(body))?;
                if tls {
                    nginx::write_identity(group.dir())?;
                }
                let config = nginx::Config {
                    address: self.address,
                    workers: group.cell().placement.server.count(),
                    connections: group.max_connections(),
                    keepalive_requests: *keepalive_requests,
                    body: &body[0],
                    tls,
                };
                fs::write(group.dir().join(nginx::FILE), config.to_string())?;
                let here = std::path::absolute(group.dir())?.display().to_string();
                Ok((nginx::PROGRAM.into(), nginx::args(&here)))
            }
        }
    }
}

/// Tells `brunt serve echo` and `discard` how many connections to expect, if one process cannot hold them.
fn processes(group: &TrialGroup, service: &str, args: &[String]) -> Vec<String> {
    let flag = "--connections";
    let connections = group.max_connections();
    let files = group.target.limits.open_files(environment::open_files().1);
    let is_set = args.iter().any(|word| word.split('=').next() == Some(flag));
    match service {
        "echo" | "discard" if connections.saturating_add(OTHER_FILES) > files && !is_set => {
            vec![flag.to_owned(), connections.to_string()]
        }
        _ => Vec::new(),
    }
}
