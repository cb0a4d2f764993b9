//! Gives out the journal of a run that is over or whose coordinator is gone.

use super::Serving;
use crate::nats::collect::{Collect, Journaled};
use crate::nats::journal::Kept;
use crate::nats::{signed, subject};
use crate::words::{Origin, PART_BYTES, Version, encode, split};

/// Seconds that are sent at a time.
const AT_ONCE: u64 = 16;

impl Serving<'_> {
    pub(super) async fn collected(&self, text: &str) {
        let Ok((collect, true)) = signed::read::<Collect>(self.access, text) else { return };
        let Collect { run, from, .. } = &collect;
        let id = self.core.id();
        let is_meant = collect.agent.as_ref().is_none_or(|agent| agent == id) && crate::nats::is_id(run);
        let Some(kept) = Some(()).filter(|()| is_meant).and_then(|()| Kept::find(&self.settings.journals, run)) else {
            return;
        };
        let Kept { epoch, incarnation, seconds, .. } = kept;
        for second in *from..seconds.min(from.saturating_add(AT_ONCE)) {
            let origin = Origin { run: run.clone(), epoch, agent: id.to_owned(), incarnation, second };
            let Ok(bytes) = kept.second(second) else { return };
            for part in split(&origin, &bytes, PART_BYTES) {
                if let Ok(text) = encode(&part) {
                    self.bus.send(subject::seconds(run, id), text).await;
                }
            }
        }
        let Kept { task, end, .. } = kept;
        let journaled = Journaled { version: Version, agent: id.to_owned(), epoch, incarnation, task, seconds, end };
        if let Ok(text) = encode(&journaled) {
            self.bus.send(subject::journals(run, id), text).await;
        }
    }
}
