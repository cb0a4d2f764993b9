//! Whole loads by a command that takes the words of `brunt load`, such as those of several machines.

use super::whole::{WholeLoad, WholeLoads};
use crate::clock;
use crate::system::process_group::{Launch, ProcessGroup, describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_results::{Error, Rate, RunResult, Span, directory::Directory};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Loads of a command.
#[derive(Debug, Clone)]
pub struct CommandedLoads {
    /// The target as typed.
    pub url: String,
    pub program: PathBuf,
    /// The words before those of a load: the target and what is the same for all loads.
    pub words: Vec<String>,
}

impl WholeLoads for CommandedLoads {
    fn load(
        &self,
        load: &WholeLoad,
        ledger: &Arc<ProcessRegistry>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error> {
        let directory = Directory::create(load.dir)?;
        let log = load.dir.join("load.log");
        let text = |value: &dyn ToString| value.to_string();
        let own = [
            "-R".to_owned(),
            text(&Rate(load.rate)),
            "-d".to_owned(),
            text(&Span(load.window)),
            "--seed".to_owned(),
            text(&load.seed),
            "--out".to_owned(),
            load.dir.display().to_string(),
            "--accept-any-result".to_owned(),
            "--quiet".to_owned(),
        ];
        let words = self.words.iter().cloned().chain(own).collect();
        let file = File::create(&log)?;
        let launch = Launch::new(self.program.clone(), words, file.try_clone()?, file);
        let mut group = ProcessGroup::start(launch, ledger)?;
        let mut is_told = false;
        let status = loop {
            if let Some(status) = group.ended() {
                break status;
            }
            if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut is_told, true) {
                // It ends what it has begun elsewhere.
                let _ = Pid::from_raw(group.pid().cast_signed()).map(|pid| kill_process(pid, Signal::INT));
            }
            clock::sleep(LOOK);
        };
        match (status.success(), is_told) {
            (_, true) => Ok(None),
            (true, _) => Ok(Some(directory.read_result()?)),
            (false, _) => {
                let last = last_lines(&log, 1).concat();
                let last = last.strip_prefix("error: ").unwrap_or(&last);
                Err(Error::Failed(format!("{last} ({})", describe_exit(status))))
            }
        }
    }
}
