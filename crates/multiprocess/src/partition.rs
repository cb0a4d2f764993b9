//! How work is dealt to processes: in as few as hold it, and evenly. Pure.

/// The largest part that one of several processes would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Processes in all.
    pub processes: u64,
    /// Slots of this one.
    pub slots: u64,
    /// Its connections.
    pub connections: u64,
}

/// More processes than this are a mistake, and not what a machine runs.
const MOST: usize = 10_000;

/// Deals `slots` (threads, each with its core) to the fewest processes of which each can hold its part of the
/// connections, as `fits` says of the largest part. Of fewer slots than processes each is given to several, as often as the
/// others: all slots, process after process, are then the list of slots repeated. `None` if no number of processes will do.
pub fn partition<T: Clone>(slots: &[T], connections: u64, fits: impl Fn(Part) -> bool) -> Option<Vec<Vec<T>>> {
    let count = slots.len();
    if count == 0 {
        return None;
    }
    let few = (1..=count).map(|processes| (processes, count));
    let many = (2..=MOST / count).map(|turns| (turns * count, turns * count));
    few.chain(many).find_map(|(processes, slots_in_all)| {
        let of_largest = slots_in_all.div_ceil(processes) as u64;
        let connections = (u128::from(connections) * u128::from(of_largest)).div_ceil(slots_in_all as u128);
        let part = Part { processes: processes as u64, slots: of_largest, connections: connections as u64 };
        fits(part).then(|| dealt(slots, processes, slots_in_all))
    })
}

fn dealt<T: Clone>(slots: &[T], processes: usize, slots_in_all: usize) -> Vec<Vec<T>> {
    let edge = |process: usize| process * slots_in_all / processes;
    let part = |process| (edge(process)..edge(process + 1)).map(|slot| slots[slot % slots.len()].clone()).collect();
    (0..processes).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn as_few_processes_as_hold_it() {
        let hold = |most: u64| move |part: Part| part.connections <= most;
        assert_eq!(partition(&[7], 100, hold(100)), Some(vec![vec![7]]));
        assert_eq!(partition(&[7], 101, hold(100)), Some(vec![vec![7], vec![7]]));
        assert_eq!(partition(&[0, 1], 100, hold(100)), Some(vec![vec![0, 1]]));
        assert_eq!(partition(&[0, 1], 150, hold(100)), Some(vec![vec![0], vec![1]]));
        assert_eq!(partition(&[0, 1], 201, hold(100)), Some(vec![vec![0], vec![1], vec![0], vec![1]]));
        assert_eq!(partition(&[0, 1, 2], 150, hold(100)), Some(vec![vec![0], vec![1, 2]]));
        assert_eq!(partition(&[0], 10, |_| false), None);
        assert_eq!(partition::<u8>(&[], 10, |_| true), None);
        assert_eq!(partition(&[()], 1_000_000, hold(19_900)).unwrap().len(), 51);
    }

    proptest! {
        #[test]
        fn slots_stay_in_their_order_and_no_process_has_more_than_was_asked_about(
            slots in 1usize..9,
            connections in 1u64..100_000,
            most in 50u64..5000,
        ) {
            let numbers: Vec<usize> = (0..slots).collect();
            let fits = |part: Part| part.connections <= most;
            if let Some(dealt) = partition(&numbers, connections, fits) {
                let flat: Vec<usize> = dealt.iter().flatten().copied().collect();
                prop_assert!(flat.len().is_multiple_of(slots));
                prop_assert!(flat.iter().enumerate().all(|(at, slot)| *slot == at % slots));
                for part in &dealt {
                    prop_assert!(!part.is_empty());
                    prop_assert!(connections * part.len() as u64 / flat.len() as u64 <= most);
                }
            }
        }
    }
}
