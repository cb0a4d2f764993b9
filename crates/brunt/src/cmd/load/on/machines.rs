//! The agents of a load as its coordinator sees them: they have agreed on times before it begins, and end by themselves.

use brunt_fleet::coordinator::Outcome;
use brunt_fleet::nats::{Begun, FleetError, Run};
use brunt_load::LoadError;
use brunt_load::remote::{Order, Others};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Copies are of the same run.
#[derive(Clone)]
pub(super) struct Machines {
    run: Arc<Run>,
    /// Zero of the clock of the load.
    zero_ns: u64,
    start: Arc<OnceLock<u64>>,
}

impl Machines {
    pub fn new(run: Run, zero_ns: u64) -> Self {
        Self { run: Arc::new(run), zero_ns, start: Arc::new(OnceLock::new()) }
    }

    /// Waits until all agents have confirmed when they begin.
    pub fn wait_for_start(&self, stop: &AtomicBool) -> Result<(), LoadError> {
        let (mut told, mut is_interrupted) = (0, false);
        loop {
            match self.run.begun(LOOK) {
                Begun::At(start) => {
                    let _ = self.start.set(self.own(start));
                    return Ok(());
                }
                Begun::Over => return Err(LoadError::Process("the agents have not begun".to_owned())),
                Begun::Waiting(opened) if opened != told && io::stderr().is_terminal() => {
                    told = opened;
                    let _ = write!(io::stderr(), "\r{opened} connections are open\x1b[K\r");
                }
                Begun::Waiting(_) => (),
            }
            if stop.load(Ordering::SeqCst) && !std::mem::replace(&mut is_interrupted, true) {
                self.run.close();
            }
        }
    }

    /// Waits for the end of the run; returns how it ended, and the version of the NATS server.
    pub fn end(self) -> Result<(Outcome, String), FleetError> {
        match Arc::try_unwrap(self.run) {
            Ok(run) => run.end(),
            Err(_) => Err(FleetError::Ended("its run is still in use".to_owned())),
        }
    }

    fn own(&self, time: i64) -> u64 {
        (time.max(0) as u64).saturating_sub(self.zero_ns)
    }
}

impl Others for Machines {
    fn order(&self, _: Order) {}

    fn agreed_start(&self) -> Option<u64> {
        self.start.get().copied()
    }

    fn close(&self, at: u64) -> u64 {
        self.run.close().map_or(at, |close| self.own(close))
    }

    fn notice(&self) -> Duration {
        Duration::ZERO
    }

    fn exit_reason(&self, _: usize) -> String {
        self.run.lost().map_or_else(String::new, |(agent, why)| format!("agent {agent} was lost ({why})"))
    }
}
