//! A worker process: runs its load threads as the parent orders and reports what they measure. It decides nothing.

use super::part::{self, make_room_for, obey};
use super::{Report, Start, Task};
use crate::engine::clock::Clock;
use crate::engine::shared::Shared;
use crate::{error::LoadError, options::Options};
use brunt_multiprocess::Parent;
use brunt_spec::LoadSpec;
use std::ops::Range;
use std::{io, sync::Arc};

/// Does what the parent orders until the work is done, with the options that `resolve` makes of the description; its error is one
/// line. The process exits as soon as the parent does.
///
/// # Errors
/// The parent is gone, or sends something that is not an order.
pub fn run_worker(parent: Parent, resolve: impl FnOnce(&LoadSpec) -> Result<Options, String>) -> io::Result<()> {
    let Some((Task { spec, counts, threads, group, first, end }, _)) = parent.recv()? else { return Ok(()) };
    let resolved = resolve(&spec);
    parent.send(&resolved.as_ref().map(|_| ()))?;
    let Ok(options) = resolved else { return Ok(()) };
    let options = Options { counts, threads, group, ..options };
    let Some((Start { zero_ns }, _)) = parent.recv()? else { return Ok(()) };
    let shared = Arc::new(Shared::of_part(&options, Clock::since(zero_ns), first..end));
    match work(&parent, &shared, first..end) {
        Ok(taken) => parent.send(&Report::done(&shared, first, taken)),
        Err(error) => parent.send(&Report::Failed(error.to_string())),
    }
}

fn work(parent: &Parent, shared: &Arc<Shared>, threads: Range<usize>) -> Result<Vec<Option<u64>>, LoadError> {
    make_room_for(shared, &threads)?;
    let (ordered, first) = (Arc::clone(shared), threads.start);
    parent
        .handle_messages(move |order| obey(&ordered, first, order))
        .map_err(|error| LoadError::Process(format!("no thread could be started to receive orders: {error}")))?;
    let lost = |error: io::Error| LoadError::Process(format!("the parent cannot be reached: {error}"));
    let mut has_told = false;
    part::run(shared, threads, |report| {
        // Before the last intervals, which wake the parent.
        if let Some(end) = shared.end_of_share().filter(|_| !has_told) {
            has_told = true;
            parent.send(&Report::ShareDone(end)).map_err(lost)?;
        }
        parent.send(&report).map_err(lost)
    })
}
