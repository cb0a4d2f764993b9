//! When the connections of a load thread open and close, if their number changes in the window: a pure function.
//!
//! With `n` connections, those of a [`Share::rank`] below `n` are open: threads have even parts, and the last connection
//! opened is the first closed. In a straight line the number is that of the line, rounded to the nearest.

use super::{Share, Stage};
use std::time::Duration;

/// The connections of a thread that are open from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Counted from the start of the window.
    pub at: Duration,
    pub count: usize,
}

/// The changes of one thread, in order; the first is at the start. `stages` are of all threads, in whole connections.
pub fn changes(stages: &[Stage], share: Share) -> impl Iterator<Item = Change> + use<> {
    let mut start = Duration::ZERO;
    let starts = stages.iter().map(|stage| {
        let began = start;
        start += stage.length;
        (began, *stage)
    });
    let starts: Vec<(Duration, Stage)> = starts.collect();
    starts.into_iter().flat_map(move |(start, stage)| {
        let [first, last] = [stage.from, stage.to].map(|connections| share.below(connections as usize));
        let begin = Change { at: start, count: first };
        let rising = (first..last).map(move |index| (index, index + 1));
        let falling = (last..first).rev().map(|index| (index, index));
        let crossed = rising.chain(falling).map(move |(index, count)| {
            let line = share.rank(index) as f64 + 0.5;
            let part = (line - stage.from) / (stage.to - stage.from);
            Change { at: start + stage.length.mul_f64(part.clamp(0.0, 1.0)), count }
        });
        std::iter::once(begin).chain(crossed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stages(all: &[(u32, u32, f64)]) -> Vec<Stage> {
        let stage = |(from, to, seconds): &(u32, u32, f64)| Stage {
            from: f64::from(*from),
            to: f64::from(*to),
            length: Duration::from_secs_f64(*seconds),
        };
        all.iter().map(stage).collect()
    }

    fn of(all: &[(u32, u32, f64)], thread: usize, threads: usize) -> Vec<(f64, usize)> {
        let connections = all.iter().map(|(from, to, _)| (*from).max(*to)).max().unwrap_or(1) as usize;
        let share = Share { thread, threads, connections, group: threads };
        changes(&stages(all), share).map(|change| (change.at.as_secs_f64(), change.count)).collect()
    }

    #[test]
    fn a_line_opens_each_connection_when_it_rounds_up_to_it_and_closes_the_last_first() {
        assert_eq!(of(&[(1, 3, 2.0)], 0, 1), [(0.0, 1), (0.5, 2), (1.5, 3)]);
        assert_eq!(of(&[(3, 1, 2.0)], 0, 1), [(0.0, 3), (0.5, 2), (1.5, 1)]);
        assert_eq!(of(&[(2, 2, 1.0), (4, 4, 1.0), (1, 1, 1.0)], 0, 1), [(0.0, 2), (1.0, 4), (2.0, 1)]);
        // A thread may have no connection for a while.
        assert_eq!(of(&[(1, 3, 2.0)], 1, 2), [(0.0, 0), (0.5, 1)]);
        assert_eq!(of(&[(1, 3, 2.0)], 0, 2), [(0.0, 1), (1.5, 2)]);
    }

    proptest! {
        #[test]
        fn threads_have_even_parts_that_add_up_to_the_line(
            all in proptest::collection::vec((1u32..300, 1u32..300, 0.01f64..100.0), 1..5),
            threads in 1usize..9,
            group in 1usize..4,
            at in 0.0f64..1.0,
        ) {
            let threads = threads * group;
            let stages = stages(&all);
            let connections = all.iter().map(|(from, to, _)| *from.max(to)).max().unwrap().max(threads as u32) as usize;
            let length: Duration = stages.iter().map(|stage| stage.length).sum();
            let at = length.mul_f64(at);
            let counts: Vec<usize> = (0..threads).map(|thread| {
                let share = Share { thread, threads, connections, group };
                let all: Vec<Change> = changes(&stages, share).collect();
                assert!(all.windows(2).all(|pair| pair[0].at <= pair[1].at));
                assert!(all.iter().all(|change| change.count <= share.own()));
                all.iter().rev().find(|change| change.at <= at).unwrap().count
            }).collect();
            let mut start = Duration::ZERO;
            let stage = stages.iter().find(|stage| {
                start += stage.length;
                at < start
            }).unwrap_or(stages.last().unwrap());
            let part = 1.0 - (start - at).as_secs_f64() / stage.length.as_secs_f64();
            let line = stage.from + (stage.to - stage.from) * part;
            let open = counts.iter().sum::<usize>() as f64;
            prop_assert!((open - line).abs() < 0.5 + 1e-6 * line, "{open} of {line}");
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{counts:?}");
        }

        #[test]
        fn every_connection_of_a_thread_has_a_rank_of_its_own(threads in 1usize..9, extra in 0usize..40) {
            let connections = threads + extra;
            let mut ranks: Vec<usize> = (0..threads).flat_map(|thread| {
                let share = Share { thread, threads, connections, group: 1 };
                (0..share.own()).map(move |index| share.rank(index))
            }).collect();
            ranks.sort_unstable();
            prop_assert!(ranks.into_iter().eq(0..connections));
        }
    }
}
