//! Which load threads each agent has, and how many requests.
//!
//! Threads are numbered over the whole run, and each agent has a contiguous range of them, so that connections keep their
//! numbers and requests their times however the threads are split: the load decides both by the number of the thread alone.
//!
//! Invariants:
//! - Ranges follow each other without a gap from 0; each has at least one thread.
//! - Numbers of requests add up to the whole.

use std::ops::Range;
use thiserror::Error;

/// Threads cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SharesError {
    /// An agent would have no thread.
    #[error("{threads} load threads for {agents} agents, of which each needs one: use more threads or fewer agents")]
    Threads {
        /// Load threads of the run.
        threads: usize,
        /// Agents of the run.
        agents: usize,
    },
    /// An agent has weight 0.
    #[error("agent number {0} has weight 0: give it a weight of at least 1, or leave it out")]
    Weight(usize),
    /// Without agents there is nothing to split.
    #[error("no agent: name at least one")]
    NoAgent,
}

/// Splits the threads of a run over agents by weights, such as their cores: each part is within one thread of its exact share,
/// unless agents of less than one thread are raised to one.
///
/// # Errors
/// There are more agents than threads, none at all, or one of weight 0.
pub fn threads(threads: usize, weights: &[u32]) -> Result<Vec<Range<usize>>, SharesError> {
    if weights.is_empty() {
        return Err(SharesError::NoAgent);
    }
    if let Some(agent) = weights.iter().position(|weight| *weight == 0) {
        return Err(SharesError::Weight(agent));
    }
    if threads < weights.len() {
        return Err(SharesError::Threads { threads, agents: weights.len() });
    }
    let all: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    let exact = |agent: usize| threads as i128 * i128::from(weights[agent]);
    let mut counts: Vec<usize> = (0..weights.len()).map(|agent| ((exact(agent) / all) as usize).max(1)).collect();
    // What an agent lacks of its exact share, in threads times `all`.
    let lack = |counts: &[usize], agent: usize| exact(agent) - counts[agent] as i128 * all;
    let mut given: usize = counts.iter().sum();
    while given != threads {
        let agents = 0..counts.len();
        if given < threads {
            // The first of those that lack most.
            let most = agents.rev().max_by_key(|agent| lack(&counts, *agent));
            most.into_iter().for_each(|agent| counts[agent] += 1);
            given += 1;
        } else {
            // The last of those that have most above it: one that has more than one thread, since all threads are enough for
            // one each.
            let most = agents.rev().filter(|agent| counts[*agent] > 1).min_by_key(|agent| lack(&counts, *agent));
            most.into_iter().for_each(|agent| counts[agent] -= 1);
            given -= 1;
        }
    }
    let mut first = 0;
    let range = |count: &usize| {
        first += count;
        first - count..first
    };
    Ok(counts.iter().map(range).collect())
}

/// Splits a number of requests by the connections of each agent, in the order of their threads. Those of an agent are as many as
/// its threads have together where one process makes the load.
pub fn requests(requests: u64, connections: &[usize]) -> Vec<u64> {
    let all: u128 = connections.iter().map(|own| *own as u128).sum();
    let below = |connections: u128| (u128::from(requests) * connections).checked_div(all).unwrap_or(0) as u64;
    let mut before = 0;
    let part = |own: &usize| {
        before += *own as u128;
        below(before) - below(before - *own as u128)
    };
    connections.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_cover_all_threads_by_weight(
            weights in prop::collection::vec(1..1000u32, 1..20),
            more in 0..300usize,
        ) {
            let all = weights.len() + more;
            let ranges = threads(all, &weights).unwrap();
            prop_assert_eq!(ranges.len(), weights.len());
            prop_assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, all));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            let sum: u32 = weights.iter().sum();
            let exact: Vec<f64> = weights.iter().map(|weight| all as f64 * f64::from(*weight) / f64::from(sum)).collect();
            let raised = exact.iter().any(|exact| *exact < 1.0);
            for ((range, exact), weight) in ranges.iter().zip(&exact).zip(&weights) {
                prop_assert!(raised || (range.len() as f64 - exact).abs() < 1.0 + 1e-9);
                // A heavier one has no fewer, but for one thread of a remainder.
                let heavier = ranges.iter().zip(&weights).filter(|(_, other)| *other > weight);
                prop_assert!(heavier.clone().all(|(other, _)| other.len() + 1 > range.len()));
            }
        }

        #[test]
        fn requests_add_up_however_connections_are_grouped(
            total in any::<u64>(),
            connections in prop::collection::vec(1..5000usize, 1..30),
            cut in any::<prop::sample::Index>(),
        ) {
            let parts = requests(total, &connections);
            prop_assert_eq!(parts.iter().map(|part| u128::from(*part)).sum::<u128>(), u128::from(total));
            // Two agents have what the threads have that they are made of.
            let (first, second) = connections.split_at(cut.index(connections.len()));
            let both = requests(total, &[first.iter().sum(), second.iter().sum()]);
            prop_assert_eq!(both[0], parts[..first.len()].iter().sum::<u64>());
        }
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        assert_eq!(threads(2, &[1, 1, 1]), Err(SharesError::Threads { threads: 2, agents: 3 }));
        assert_eq!(threads(2, &[1, 0]), Err(SharesError::Weight(1)));
        assert_eq!(threads(2, &[]), Err(SharesError::NoAgent));
        assert_eq!(threads(100, &[1, 90, 1]).unwrap(), [0..1, 1..99, 99..100]);
        assert_eq!(requests(7, &[]), [0u64; 0]);
    }
}
