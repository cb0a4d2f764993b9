//! One load of an agent, with its journal.

use super::Load;
use crate::agent::Effect;
use crate::nats::journal::Journal;
use crate::words::{End, Origin, PART_BYTES, Part, Table, Task, split};
use std::collections::BTreeMap;
use std::path::Path;
use tokio::task::AbortHandle;

/// A load, from its preparation until the next one.
pub(super) struct Slot {
    run: String,
    epoch: u64,
    journal: Option<Journal>,
    control: Option<Box<dyn Load>>,
    /// Ends the fetching of its files.
    fetching: Option<AbortHandle>,
    /// What is to be done once it is prepared.
    waiting: Vec<Effect>,
    /// Seconds that are not in the journal.
    measured: BTreeMap<u64, Table>,
    has_ended: bool,
}

impl Slot {
    /// One that is being prepared, and whether its journal could be made.
    pub fn new(journals: &Path, run: &str, epoch: u64, incarnation: u64, task: &Task) -> (Self, Result<(), String>) {
        let journal = Journal::create(journals, run, epoch, incarnation)
            .and_then(|journal| journal.describe(task).map(|()| journal));
        let (journal, created) = match journal {
            Ok(journal) => (Some(journal), Ok(())),
            Err(error) => (None, Err(format!("no journal in {}: {error}", journals.display()))),
        };
        let (run, waiting, measured) = (run.to_owned(), Vec::new(), BTreeMap::new());
        let slot = Self { run, epoch, journal, control: None, fetching: None, waiting, measured, has_ended: false };
        (slot, created)
    }

    /// The same, whose files are being fetched.
    pub fn fetching(self, fetching: AbortHandle) -> Self {
        Self { fetching: Some(fetching), ..self }
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub fn prepared(&mut self, control: Box<dyn Load>) {
        self.waiting.drain(..).for_each(|effect| order(&*control, &effect));
        self.control = Some(control);
    }

    pub fn measured(&mut self, second: u64, table: Table) {
        self.measured.insert(second, table);
    }

    /// All threads have ended. Returns the digest of the journal.
    pub fn end(&mut self) -> String {
        (self.has_ended, self.control) = (true, None);
        self.journal.as_ref().map_or_else(String::new, Journal::digest)
    }

    /// The agent reports how it has ended.
    pub fn finish(&self, end: &End) {
        // Without it a collected run counts as one that was cut off.
        let _ = self.journal.as_ref().map(|journal| journal.finish(end));
    }

    pub fn effect(&mut self, effect: &Effect) -> Result<(), String> {
        if let Effect::Keep { second } = effect {
            let (Some(journal), Some(table)) = (&mut self.journal, self.measured.remove(second)) else { return Ok(()) };
            return journal.keep(*second, &table).map_err(|error| format!("its journal cannot be written ({error})"));
        }
        match &self.control {
            Some(control) => order(&**control, effect),
            None if self.has_ended => (),
            None => {
                // It is not to be prepared: nothing waits for files.
                let ends = matches!(effect, Effect::Abandon | Effect::Release);
                self.fetching.iter().filter(|_| ends).for_each(AbortHandle::abort);
                self.waiting.push(effect.clone());
            }
        }
        Ok(())
    }

    /// The seconds of the journal from this one on, as messages.
    pub fn parts(&self, agent: &str, incarnation: u64, from: u64) -> Vec<Part> {
        let Some(journal) = &self.journal else { return Vec::new() };
        let origin = |second: u64| Origin {
            run: self.run.clone(),
            epoch: self.epoch,
            agent: agent.to_owned(),
            incarnation,
            second,
        };
        let seconds = (from..journal.seconds()).map_while(|second| Some((second, journal.read(second).ok()?)));
        seconds.flat_map(|(second, bytes)| split(&origin(second), &bytes, PART_BYTES)).collect()
    }
}

fn order(control: &dyn Load, effect: &Effect) {
    match effect {
        Effect::Connect => control.connect(),
        Effect::Begin { start, open, close } => control.begin([*start, *open, *close]),
        Effect::Lease { until } => control.lease(*until),
        Effect::CloseAt { close } => control.close(*close),
        Effect::Release => control.release(),
        Effect::Abandon => control.abandon(),
        Effect::Prepare { .. } | Effect::Keep { .. } | Effect::Send { .. } => (),
    }
}
