//! What a search loads: a running server, or a target of a plan, by slices of brunt's own generator or by whole runs, for which the
//! target is started anew as for a trial of `brunt run`.

use super::command::CommandedLoads;
use super::whole::{WholeLoad, WholeLoads};
use crate::plan::settings::Amount;
use crate::plan::{Target, tester::Capabilities};
use crate::run::trial::{TrialGroup, TrialRunner, TrialSpec, TrialStatus};
use crate::run::{Request, build::build};
use crate::schedule::{Cell, Schedule, skipped_lines};
use crate::slices::Generator;
use crate::slices::account::TargetAccount;
use crate::system::process_registry::ProcessRegistry;
use brunt_meter::environment;
use brunt_results::{Error, RunResult, Span};
use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, atomic::AtomicBool};

/// Open files of a process that are not connections: a generous guess.
const SPARE_FILES: u64 = 200;

#[derive(Debug, Clone)]
pub enum LoadSource {
    /// A running server.
    Url {
        url: String,
        /// Arguments of `brunt load`, with a rate.
        words: Vec<String>,
        /// The process of this machine that serves it.
        server: Option<u32>,
        account: Metered,
        generator: Rc<dyn Generator>,
    },
    Planned(Box<PlannedTarget>),
    /// A running server, by whole runs of a command.
    Command(Box<CommandedLoads>),
}

/// The account of a server, which the search takes. Copies are of the same one.
#[derive(Clone, Default)]
pub struct Metered(Rc<RefCell<Option<Box<dyn TargetAccount>>>>);

impl Metered {
    pub fn new(account: Option<Box<dyn TargetAccount>>) -> Self {
        Self(Rc::new(RefCell::new(account)))
    }

    pub(super) fn take(&self) -> Option<Box<dyn TargetAccount>> {
        self.0.borrow_mut().take()
    }
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metered")
    }
}

impl LoadSource {
    /// The target as typed, or the cell of the plan.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Url { url, .. } => url.clone(),
            Self::Command(command) => command.url.clone(),
            Self::Planned(planned) => format!("{}, {}", planned.run.plan.name, planned.cell.id()),
        }
    }

    /// Whether whole runs make the loads: of another tester, of several machines, or of brunt with more connections than one process
    /// may have.
    pub fn is_by_runs(&self) -> bool {
        match self {
            Self::Url { .. } => false,
            Self::Command(_) => true,
            Self::Planned(planned) => {
                self.tester().is_some() || planned.cell.connections() + SPARE_FILES > environment::open_files().1
            }
        }
    }

    /// The external tester, if one makes the loads.
    pub(super) fn tester(&self) -> Option<&'static Capabilities> {
        match self {
            Self::Url { .. } | Self::Command(_) => None,
            Self::Planned(planned) => planned.cell.settings.external_tester(),
        }
    }

    /// Whether the times of a result begin when a request is sent: service times.
    pub(super) fn starts_at_send(&self) -> bool {
        self.tester().is_some_and(|tester| !tester.corrects_coordinated_omission)
    }
}

/// One load of a plan on one target; the search sets its rate and duration.
#[derive(Debug, Clone)]
pub struct PlannedTarget {
    pub(super) run: Request,
    pub(super) cell: Cell,
}

impl PlannedTarget {
    /// The only cell of a schedule; an error if there are several, or if it cannot run here.
    pub fn new(run: Request, schedule: &Schedule) -> Result<Self, Error> {
        match schedule.selected().as_slice() {
            [cell] => Ok(Self { cell: (*cell).clone(), run }),
            [] => {
                let mut lines = skipped_lines(&schedule.skipped);
                lines.extend(schedule.filtered_line());
                Err(Error::Failed(format!("nothing can be run here\n{}", lines.join("\n"))))
            }
            [first, others @ ..] => {
                let (name, count) = (&run.plan.name, others.len() + 1);
                let first = first.combination();
                Err(Error::Usage(format!(
                    "{name} has {count} loads for this target: select one with --only, such as --only {first}"
                )))
            }
        }
    }

    pub(super) fn generator(&self) -> Result<Rc<dyn Generator>, Error> {
        self.run.generator.clone().ok_or_else(|| Error::Failed("no generator makes slices".to_owned()))
    }

    pub fn target(&self) -> &Target {
        let target = self.run.plan.targets.iter().find(|target| target.name == self.cell.target);
        target.expect("cells are made of the plan's own targets")
    }

    /// Builds the target, if its plan says how; false if the user stopped it.
    pub(super) fn build(&self, log: &Path, ledger: &Arc<ProcessRegistry>, stop: &AtomicBool) -> Result<bool, Error> {
        if self.target().build.is_empty() {
            return Ok(true);
        }
        match build(self.target(), &self.run.base, log, ledger, stop) {
            None => Ok(false),
            Some(built) => built.map(|()| true).map_err(Error::Failed),
        }
    }
}

impl WholeLoads for PlannedTarget {
    fn load(
        &self,
        load: &WholeLoad,
        ledger: &Arc<ProcessRegistry>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error> {
        let mut cell = self.cell.clone();
        cell.settings.rate = Some(Amount::Total(load.rate));
        cell.settings.duration = Span(load.window);
        let trials = vec![TrialSpec { cell: &cell, number: load.number, dir: load.dir.to_owned() }];
        let group = TrialGroup { trials, target: self.target(), repeat: 1, seed: load.seed };
        let runner = TrialRunner { request: &self.run, registry: ledger, stop };
        match runner.run(&group, &mut |_, _| ())?.pop() {
            Some(TrialStatus::Done(result)) => Ok(Some(*result)),
            Some(TrialStatus::Failed(failure)) => Err(Error::Failed(failure.line())),
            Some(TrialStatus::Interrupted) | None => Ok(None),
        }
    }
}
