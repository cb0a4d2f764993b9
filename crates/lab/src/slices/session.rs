//! The rounds of one start, until there are enough of them.

use super::rounds::Rounds;
use crate::clock;
use brunt_slices::Slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a session has made so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    pub rounds: u32,
    /// Those of them that the machine has spoilt.
    pub void: u32,
    /// Since the begin of the first one.
    pub time: Duration,
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Enough,
    /// No target is left.
    NoTarget,
    Stopped,
}

/// Makes rounds until `each` says that they are enough, no target is left or `stop` is set, which counts between two rounds.
/// `each` gets the slices of every round, and may take targets out.
pub fn session<E>(
    rounds: &mut Rounds,
    stop: &AtomicBool,
    failed: impl Fn(String) -> E,
    mut each: impl FnMut(&mut Rounds, Vec<Slice>, Made) -> Result<bool, E>,
) -> Result<End, E> {
    let (begun, mut made) = (clock::now(), Made::default());
    while !stop.load(Ordering::Relaxed) {
        let slices = rounds.round().map_err(&failed)?;
        made.rounds += 1;
        made.void += u32::from(slices.iter().any(Slice::is_void));
        made.time = clock::since(begun);
        let is_enough = each(rounds, slices, made)?;
        if rounds.is_empty() {
            return Ok(End::NoTarget);
        }
        if is_enough {
            return Ok(End::Enough);
        }
    }
    Ok(End::Stopped)
}

#[cfg(test)]
mod tests;
