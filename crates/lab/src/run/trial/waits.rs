//! How a trial waits for its processes: how often it looks, and for how long at most.

use crate::clock::{self, poll};
use brunt_meter::poll::{backoff, every};
use std::time::Duration;

/// Until a target listens.
pub(super) fn until_listening<T>(timeout: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    poll(timeout, backoff(50), look)
}

/// Until nothing listens on the port of a target that has ended. A server's sockets can outlive it while the kernel tears its rings
/// down; a million connections take up to a minute.
pub(super) fn until_freed(connections: u64, mut is_free: impl FnMut() -> bool) -> bool {
    let timeout = Duration::from_secs(5) + Duration::from_micros(200).saturating_mul(connections.min(1 << 30) as u32);
    poll(timeout, every(5), || is_free().then_some(())).is_some()
}

/// Until `before` or `after` has ended.
pub(super) fn until_hook_ends<T>(timeout: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    poll(timeout, every(5), look)
}

/// Until a tester has ended. Without an external meter rarely enough not to disturb a generator that shares this core; with one,
/// more often near the end of a load of this length.
pub(super) fn until_tester_ends<T>(
    limit: Duration,
    metered_load: Option<Duration>,
    look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let begun = clock::now();
    let pause = || {
        let near = metered_load.is_some_and(|load| clock::since(begun) + Duration::from_millis(300) >= load);
        Duration::from_millis(if near { 10 } else { 50 })
    };
    poll(limit, pause, look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::given::{Given, Machine, Still};
    use std::{cell::RefCell, rc::Rc};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// When a wait looks for what happens after `after`, in milliseconds, and whether it sees it.
    fn looks(after: u64, wait: impl FnOnce(&mut dyn FnMut() -> Option<()>) -> bool) -> (Vec<u64>, bool) {
        let machine = Rc::new(Still::default());
        let _given = Given::begin(machine.clone());
        let looks = RefCell::new(Vec::new());
        let seen = wait(&mut || {
            looks.borrow_mut().push(machine.time().as_millis() as u64);
            (machine.time() >= ms(after)).then_some(())
        });
        (looks.take(), seen)
    }

    #[test]
    fn a_target_that_listens_is_seen_within_as_long_as_it_took_and_50_ms_at_most() {
        let wait = |after, timeout| looks(after, |look| until_listening(ms(timeout), look).is_some());
        assert_eq!(wait(0, 100), (vec![0], true));
        assert_eq!(wait(5, 100), (vec![0, 1, 3, 7], true));
        assert_eq!(wait(200, 300), (vec![0, 1, 3, 7, 15, 31, 63, 113, 163, 213], true));
        // It looks once more when the time is over.
        assert_eq!(wait(999, 100), (vec![0, 1, 3, 7, 15, 31, 63, 113], false));
        assert!(wait(110, 100).1);
    }

    #[test]
    fn a_port_may_stay_taken_longer_the_more_connections_it_had() {
        let wait = |after, connections| {
            let (looks, seen) = looks(after, |look| until_freed(connections, || look().is_some()));
            (looks.len(), *looks.last().unwrap(), seen)
        };
        assert_eq!(wait(0, 1), (1, 0, true));
        assert_eq!(wait(12, 1), (4, 15, true));
        assert_eq!(wait(u64::MAX, 0), (1001, 5000, false));
        assert_eq!(wait(u64::MAX, 10_000), (1401, 7000, false));
        assert_eq!(wait(60_000, 1_000_000), (12_001, 60_000, true));
    }

    #[test]
    fn a_hook_is_looked_at_every_5_ms() {
        assert_eq!(looks(9, |look| until_hook_ends(ms(20), look).is_some()), (vec![0, 5, 10], true));
        assert_eq!(looks(99, |look| until_hook_ends(ms(20), look).is_some()), (vec![0, 5, 10, 15, 20], false));
    }

    #[test]
    fn a_tester_is_looked_at_rarely_and_if_it_is_metered_often_near_its_end() {
        let wait = |after, metered: Option<u64>| {
            looks(after, |look| until_tester_ends(ms(2000), metered.map(ms), look).is_some()).0
        };
        assert_eq!(wait(120, None), [0, 50, 100, 150]);
        assert_eq!(wait(1000, None).len(), 21);
        let metered = wait(1000, Some(1000));
        assert_eq!(metered[..16], [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 710]);
        assert_eq!(metered[16..], (72..=100).map(|at| at * 10).collect::<Vec<_>>());
        assert_eq!(looks(9999, |look| until_tester_ends(ms(70), None, look).is_some()), (vec![0, 50, 100], false));
    }

    /// What a trial adds to a load of 20 ms of a target that listens after 5 ms.
    #[test]
    fn a_trial_takes_little_more_than_its_load() {
        let machine = Rc::new(Still::default());
        let _given = Given::begin(machine.clone());
        let since = |at: Duration, length: u64| (machine.time() - at >= ms(length)).then_some(());
        let mut took = Vec::new();
        let waits: [&dyn Fn(Duration) -> bool; 3] = [
            &|at| until_listening(ms(10_000), || since(at, 5)).is_some(),
            &|at| until_tester_ends(ms(60_000), None, || since(at, 20)).is_some(),
            &|at| until_freed(4, || since(at, 0).is_some()),
        ];
        for wait in waits {
            let at = machine.time();
            assert!(wait(at));
            took.push((machine.time() - at).as_millis());
        }
        assert_eq!(took, [7, 50, 0]);
    }
}
