//! Distributes threads and connections over as few processes as can hold them. Pure.

/// The largest share that one of several processes gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub processes: u64,
    pub slots: u64,
    pub connections: u64,
}

/// Upper bound on processes: a request for more is a mistake.
const MAX_PROCESSES: usize = 10_000;

/// Distributes `slots` (threads, each with its core) over the fewest processes that can each hold their share of the
/// connections, as decided by `fits` for the largest share.
///
/// With more processes than slots, every slot is used by the same number of processes: the slots of all processes in order
/// are the list of slots repeated. `None` if no number of processes suffices.
pub fn partition<T: Clone>(slots: &[T], connections: u64, fits: impl Fn(Part) -> bool) -> Option<Vec<Vec<T>>> {
    let count = slots.len();
    if count == 0 {
        return None;
    }
    let within_slots = (1..=count).map(|processes| (processes, count));
    let beyond_slots = (2..=MAX_PROCESSES / count).map(|repeats| (repeats * count, repeats * count));
    within_slots.chain(beyond_slots).find_map(|(processes, total_slots)| {
        let largest = total_slots.div_ceil(processes) as u64;
        let connections = (u128::from(connections) * u128::from(largest)).div_ceil(total_slots as u128);
        let part = Part { processes: processes as u64, slots: largest, connections: connections as u64 };
        fits(part).then(|| distribute(slots, processes, total_slots))
    })
}

fn distribute<T: Clone>(slots: &[T], processes: usize, total_slots: usize) -> Vec<Vec<T>> {
    let edge = |process: usize| process * total_slots / processes;
    let part = |process| (edge(process)..edge(process + 1)).map(|slot| slots[slot % slots.len()].clone()).collect();
    (0..processes).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uses_the_fewest_processes_that_fit() {
        let up_to = |most: u64| move |part: Part| part.connections <= most;
        assert_eq!(partition(&[7], 100, up_to(100)), Some(vec![vec![7]]));
        assert_eq!(partition(&[7], 101, up_to(100)), Some(vec![vec![7], vec![7]]));
        assert_eq!(partition(&[0, 1], 100, up_to(100)), Some(vec![vec![0, 1]]));
        assert_eq!(partition(&[0, 1], 150, up_to(100)), Some(vec![vec![0], vec![1]]));
        assert_eq!(partition(&[0, 1], 201, up_to(100)), Some(vec![vec![0], vec![1], vec![0], vec![1]]));
        assert_eq!(partition(&[0, 1, 2], 150, up_to(100)), Some(vec![vec![0], vec![1, 2]]));
        assert_eq!(partition(&[0], 10, |_| false), None);
        assert_eq!(partition::<u8>(&[], 10, |_| true), None);
        assert_eq!(partition(&[()], 1_000_000, up_to(19_900)).unwrap().len(), 51);
    }

    proptest! {
        #[test]
        fn slots_keep_their_order_and_no_share_exceeds_the_checked_one(
            slots in 1usize..9,
            connections in 1u64..100_000,
            most in 50u64..5000,
        ) {
            let numbers: Vec<usize> = (0..slots).collect();
            let fits = |part: Part| part.connections <= most;
            if let Some(parts) = partition(&numbers, connections, fits) {
                let flat: Vec<usize> = parts.iter().flatten().copied().collect();
                prop_assert!(flat.len().is_multiple_of(slots));
                prop_assert!(flat.iter().enumerate().all(|(at, slot)| *slot == at % slots));
                for part in &parts {
                    prop_assert!(!part.is_empty());
                    prop_assert!(connections * part.len() as u64 / flat.len() as u64 <= most);
                }
            }
        }
    }
}
