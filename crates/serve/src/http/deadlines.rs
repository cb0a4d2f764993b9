//! Deadlines without timers. Each connection records the phase it is in and the tick at which the phase began; a sweep per
//! tick wakes the connections whose phase has lasted too long. A request costs two stores.

use super::config::settings::Settings;
use std::cell::{Cell, RefCell};
use std::{rc::Rc, task::Waker, time::Duration};

/// What a connection is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// The client to take a response.
    Sending,
    /// The client to close after the last response.
    Lingering,
    /// A delay of the server itself; has no deadline.
    Delay,
}

/// Time for a client to close after the last response.
const LINGER: Duration = Duration::from_secs(2);
/// Shortest and longest tick.
const TICK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Connections expired in one go; the sweep then pauses, so that active connections need not wait until ten thousand others
/// have been closed.
const BATCH: usize = 8;
const BATCH_PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct Deadlines {
    tick: Duration,
    now: Cell<u32>,
    /// In ticks, indexed by phase.
    limits: [u32; 6],
    /// Parallel to `entries`, so that a sweep reads one compact array and not the memory of every connection.
    waits: RefCell<Vec<Wait>>,
    entries: RefCell<Vec<Rc<DeadlineEntry>>>,
    /// Where an unfinished sweep continues.
    next: Cell<Option<usize>>,
}

#[derive(Clone, Copy)]
struct Wait {
    since: u32,
    phase: Phase,
    expired: bool,
}

pub(crate) struct DeadlineEntry {
    index: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

impl Deadlines {
    pub fn new(settings: &Settings) -> Self {
        let deadlines = [settings.idle, settings.header, settings.body, settings.send, LINGER, Duration::MAX];
        let shortest = deadlines.into_iter().min().unwrap_or(TICK.1);
        let tick = (shortest / 8).clamp(TICK.0, TICK.1);
        let ticks =
            |deadline: Duration| u32::try_from(deadline.as_nanos().div_ceil(tick.as_nanos())).unwrap_or(u32::MAX);
        Self {
            tick,
            now: Cell::new(0),
            limits: deadlines.map(ticks),
            waits: RefCell::default(),
            entries: RefCell::default(),
            next: Cell::new(None),
        }
    }

    /// Registers a connection, which begins idle.
    pub fn register(&self) -> Rc<DeadlineEntry> {
        let mut entries = self.entries.borrow_mut();
        let entry = Rc::new(DeadlineEntry { index: Cell::new(entries.len()), waker: RefCell::default() });
        self.waits.borrow_mut().push(self.wait(Phase::Idle));
        entries.push(entry.clone());
        entry
    }

    pub fn remove(&self, entry: &DeadlineEntry) {
        let (mut waits, mut entries) = (self.waits.borrow_mut(), self.entries.borrow_mut());
        let mut index = entry.index.get();
        // The last one, which an unfinished sweep has yet to visit, must not come before the place where it continues.
        if let Some(last) = self.next.get().and_then(|next| next.checked_sub(1)).filter(|last| index <= *last) {
            waits.swap(index, last);
            entries.swap(index, last);
            entries[index].index.set(index);
            self.next.set(Some(last));
            index = last;
        }
        waits.swap_remove(index);
        entries.swap_remove(index);
        if let Some(moved) = entries.get(index) {
            moved.index.set(index);
        }
    }

    #[inline]
    pub fn begin(&self, entry: &DeadlineEntry, phase: Phase) {
        self.waits.borrow_mut()[entry.index.get()] = self.wait(phase);
    }

    /// Begins a phase unless the connection is in it already.
    #[inline]
    pub fn continue_in(&self, entry: &DeadlineEntry, phase: Phase) {
        if self.phase(entry) != phase {
            self.begin(entry, phase);
        }
    }

    pub fn phase(&self, entry: &DeadlineEntry) -> Phase {
        self.waits.borrow()[entry.index.get()].phase
    }

    #[inline]
    pub fn has_expired(&self, entry: &DeadlineEntry) -> bool {
        self.waits.borrow()[entry.index.get()].expired
    }

    fn wait(&self, phase: Phase) -> Wait {
        Wait { since: self.now.get(), phase, expired: false }
    }

    /// Time until the next [`sweep`](Self::sweep).
    pub fn pause(&self) -> Duration {
        if self.next.get().is_some() { BATCH_PAUSE } else { self.tick }
    }

    /// Begins a sweep, one tick after the last, or continues an unfinished one.
    pub fn sweep(&self) {
        let from = self.next.get().unwrap_or_else(|| {
            self.now.set(self.now.get().wrapping_add(1));
            0
        });
        let now = self.now.get();
        // Strictly greater: the first tick of a phase was counted whole but may have been short.
        let is_late = |wait: &Wait| now.wrapping_sub(wait.since) > self.limits[wait.phase as usize];
        self.next.set(self.expire(from, BATCH, is_late));
    }

    /// Expires all waits in this phase.
    pub fn expire_all(&self, phase: Phase) {
        self.expire(0, usize::MAX, |wait| wait.phase == phase);
    }

    /// Expires up to `most` connections that are `late`. Returns where to continue if there are more.
    fn expire(&self, from: usize, most: usize, late: impl Fn(&Wait) -> bool) -> Option<usize> {
        let (mut waits, entries) = (self.waits.borrow_mut(), self.entries.borrow());
        let mut left = most;
        for (index, wait) in waits.iter_mut().enumerate().skip(from) {
            if wait.expired || !late(wait) {
                continue;
            }
            if left == 0 {
                return Some(index);
            }
            left -= 1;
            wait.expired = true;
            if let Some(waker) = &*entries[index].waker.borrow() {
                waker.wake_by_ref();
            }
        }
        None
    }
}

impl DeadlineEntry {
    pub fn set_waker(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadlines() -> Deadlines {
        let second = Duration::from_secs(1);
        let settings =
            Settings { idle: 4 * second, header: second, body: 2 * second, send: second, ..Settings::default() };
        Deadlines::new(&settings)
    }

    #[test]
    fn a_deadline_is_never_early_and_at_most_two_ticks_late() {
        let deadlines = deadlines();
        assert_eq!(deadlines.tick, Duration::from_millis(125));
        let entry = deadlines.register();
        deadlines.begin(&entry, Phase::Head);
        (0..8).for_each(|_| deadlines.sweep());
        assert!(!deadlines.has_expired(&entry));
        // Receiving bytes does not extend the deadline; only a new phase does.
        deadlines.continue_in(&entry, Phase::Head);
        deadlines.sweep();
        assert!(deadlines.has_expired(&entry));
        deadlines.begin(&entry, Phase::Idle);
        assert!(!deadlines.has_expired(&entry));
    }

    #[test]
    fn removing_a_connection_keeps_the_others() {
        let deadlines = deadlines();
        let mut entries: Vec<_> = (0..100).map(|_| deadlines.register()).collect();
        for at in [0, 98, 50, 3] {
            deadlines.remove(&entries.swap_remove(at));
        }
        assert_eq!(deadlines.entries.borrow().len(), 96);
        (0..34 + 96 / BATCH).for_each(|_| deadlines.sweep());
        assert!(entries.iter().all(|entry| deadlines.has_expired(entry)));
        entries.iter().for_each(|entry| deadlines.remove(entry));
        assert!(deadlines.entries.borrow().is_empty() && deadlines.waits.borrow().is_empty());
    }

    /// Connections that end while a sweep is unfinished, late ones and others, keep none from it.
    #[test]
    fn a_sweep_visits_all_whatever_is_removed_meanwhile() {
        for stays in [1, 2, 3, 7] {
            let deadlines = deadlines();
            let mut entries: Vec<_> = (0..200).map(|_| deadlines.register()).collect();
            (0..8).for_each(|_| deadlines.sweep());
            // The others are not late.
            entries.iter().skip(1).step_by(2).for_each(|entry| deadlines.begin(entry, Phase::Delay));
            let mut expired = 0;
            (8..34).for_each(|_| deadlines.sweep());
            while deadlines.next.get().is_some() || expired == 0 {
                let (late, mut left): (Vec<_>, Vec<_>) =
                    entries.into_iter().partition(|entry| deadlines.has_expired(entry));
                expired += late.len();
                late.iter().for_each(|entry| deadlines.remove(entry));
                deadlines.remove(&left.swap_remove((left.len() - 1) / stays));
                entries = left;
                let indexes: Vec<_> = deadlines.entries.borrow().iter().map(|entry| entry.index.get()).collect();
                assert!(indexes.iter().enumerate().all(|(at, index)| at == *index));
                deadlines.sweep();
            }
            entries.retain(|entry| deadlines.phase(entry) == Phase::Idle);
            assert!(entries.iter().all(|entry| deadlines.has_expired(entry)), "{} of them", entries.len());
        }
    }

    #[test]
    fn late_connections_expire_in_batches() {
        let deadlines = deadlines();
        let entries: Vec<_> = (0..1000).map(|_| deadlines.register()).collect();
        entries.iter().for_each(|entry| deadlines.begin(entry, Phase::Head));
        (0..8).for_each(|_| deadlines.sweep());
        let mut ended = 0;
        for _ in 0..1000_usize.div_ceil(BATCH) {
            deadlines.sweep();
            let now = entries.iter().filter(|entry| deadlines.has_expired(entry)).count();
            assert!((1..=BATCH).contains(&(now - ended)), "{ended}, then {now}");
            ended = now;
            assert_eq!(deadlines.pause(), if ended < 1000 { BATCH_PAUSE } else { deadlines.tick });
        }
        assert_eq!(ended, 1000);
        assert_eq!(deadlines.next.get(), None);
        // They do not expire twice, and a new phase has a new deadline.
        deadlines.sweep();
        deadlines.begin(&entries[0], Phase::Head);
        assert!(!deadlines.has_expired(&entries[0]) && deadlines.next.get().is_none());
    }
}
