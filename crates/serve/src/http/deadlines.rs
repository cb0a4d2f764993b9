//! Deadlines without timers: each connection notes, on a coarse clock, since when it waits for what; one sweep a tick
//! looks through the notes and wakes those who have waited too long. A request costs two stores.

use super::config::settings::Settings;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::Waker,
    time::Duration,
};

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// A client that takes what is sent.
    Sending,
    /// The end of a client to whom everything has been said.
    Lingering,
    /// Nobody but this server itself.
    Own,
}

/// How long a client has to take note of the last answer before the connection is closed under it.
const LINGER: Duration = Duration::from_secs(2);
const TICK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// So many connections at most are ended in one go, and then as many again after a breath: those who still want
/// something are not to wait until ten thousand others have been given up.
const AT_ONCE: usize = 8;
const BREATH: Duration = Duration::from_millis(1);

/// The notes of all connections of a worker.
pub(crate) struct Deadlines {
    tick: Duration,
    now: Cell<u32>,
    /// In ticks, by phase.
    limits: [u32; 6],
    /// By place. Apart from the notes, so that a sweep reads one short array and not the memory of every connection.
    waits: RefCell<Vec<Wait>>,
    notes: RefCell<Vec<Rc<DeadlineEntry>>>,
    /// Where the sweep that is under way goes on.
    next: Cell<Option<usize>>,
}

#[derive(Clone, Copy)]
struct Wait {
    since: u32,
    phase: Phase,
    expired: bool,
}

/// A connection's note.
pub(crate) struct DeadlineEntry {
    place: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

impl Deadlines {
    pub fn new(settings: &Settings) -> Self {
        let deadlines = [settings.idle, settings.header, settings.body, settings.send, LINGER];
        let shortest = deadlines.iter().min().copied().unwrap_or(TICK.1);
        let tick = (shortest / 8).clamp(TICK.0, TICK.1);
        let ticks =
            |deadline: Duration| u32::try_from(deadline.as_nanos().div_ceil(tick.as_nanos())).unwrap_or(u32::MAX);
        let [idle, head, body, send, linger] = deadlines.map(ticks);
        let limits = [idle, head, body, send, linger, u32::MAX];
        Self {
            tick,
            now: Cell::new(0),
            limits,
            waits: RefCell::default(),
            notes: RefCell::default(),
            next: Cell::new(None),
        }
    }

    /// A note for a new connection, which waits for a request.
    pub fn enter(&self) -> Rc<DeadlineEntry> {
        let mut notes = self.notes.borrow_mut();
        let note = Rc::new(DeadlineEntry { place: Cell::new(notes.len()), waker: RefCell::default() });
        self.waits.borrow_mut().push(self.wait(Phase::Idle));
        notes.push(note.clone());
        note
    }

    /// The connection has ended.
    pub fn leave(&self, note: &DeadlineEntry) {
        let mut notes = self.notes.borrow_mut();
        let place = note.place.get();
        notes.swap_remove(place);
        self.waits.borrow_mut().swap_remove(place);
        if let Some(moved) = notes.get(place) {
            moved.place.set(place);
        }
    }

    /// From now on it waits for this.
    #[inline]
    pub fn begin(&self, note: &DeadlineEntry, phase: Phase) {
        self.waits.borrow_mut()[note.place.get()] = self.wait(phase);
    }

    /// It waits for this; if it did so before, since then.
    #[inline]
    pub fn go_on(&self, note: &DeadlineEntry, phase: Phase) {
        if self.phase(note) != phase {
            self.begin(note, phase);
        }
    }

    pub fn phase(&self, note: &DeadlineEntry) -> Phase {
        self.waits.borrow()[note.place.get()].phase
    }

    #[inline]
    pub fn has_expired(&self, note: &DeadlineEntry) -> bool {
        self.waits.borrow()[note.place.get()].expired
    }

    fn wait(&self, phase: Phase) -> Wait {
        Wait { since: self.now.get(), phase, expired: false }
    }

    /// How long until the next `sweep`.
    pub fn pause(&self) -> Duration {
        if self.is_sweeping() { BREATH } else { self.tick }
    }

    /// Whether a sweep has stopped to take breath.
    fn is_sweeping(&self) -> bool {
        self.next.get().is_some()
    }

    /// Begins a sweep, for one tick has passed, or goes on with the one under way.
    pub fn sweep(&self) {
        let from = self.next.get().unwrap_or_else(|| {
            self.now.set(self.now.get().wrapping_add(1));
            0
        });
        let now = self.now.get();
        // One tick more, because the first has been counted as a whole and was not.
        let is_late = |wait: &Wait| now.wrapping_sub(wait.since) > self.limits[wait.phase as usize];
        self.next.set(self.expire(from, AT_ONCE, is_late));
    }

    /// Addrs the waiting of all who are in this phase.
    pub fn expire_all(&self, phase: Phase) {
        self.expire(0, usize::MAX, |wait| wait.phase == phase);
    }

    /// Wakes those who are `late`, so many at most; where to go on if there are more.
    fn expire(&self, from: usize, most: usize, late: impl Fn(&Wait) -> bool) -> Option<usize> {
        let (mut waits, notes) = (self.waits.borrow_mut(), self.notes.borrow());
        let mut left = most;
        for (place, wait) in waits.iter_mut().enumerate().skip(from) {
            if wait.expired || !late(wait) {
                continue;
            }
            if left == 0 {
                return Some(place);
            }
            left -= 1;
            wait.expired = true;
            if let Some(waker) = &*notes[place].waker.borrow() {
                waker.wake_by_ref();
            }
        }
        None
    }
}

impl DeadlineEntry {
    /// Whom to wake.
    pub fn watch(&self, waker: &Waker) {
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
        let note = deadlines.enter();
        deadlines.begin(&note, Phase::Head);
        (0..8).for_each(|_| deadlines.sweep());
        assert!(!deadlines.has_expired(&note));
        // Bytes that come do not help: only another phase does.
        deadlines.go_on(&note, Phase::Head);
        deadlines.sweep();
        assert!(deadlines.has_expired(&note));
        deadlines.begin(&note, Phase::Idle);
        assert!(!deadlines.has_expired(&note));
    }

    #[test]
    fn those_who_leave_take_nobody_with_them() {
        let deadlines = deadlines();
        let mut notes: Vec<_> = (0..100).map(|_| deadlines.enter()).collect();
        for at in [0, 98, 50, 3] {
            deadlines.leave(&notes.swap_remove(at));
        }
        assert_eq!(deadlines.notes.borrow().len(), 96);
        (0..34 + 96 / AT_ONCE).for_each(|_| deadlines.sweep());
        assert!(notes.iter().all(|note| deadlines.has_expired(note)));
        notes.iter().for_each(|note| deadlines.leave(note));
        assert!(deadlines.notes.borrow().is_empty() && deadlines.waits.borrow().is_empty());
    }

    #[test]
    fn many_who_are_late_end_a_few_at_a_time() {
        let deadlines = deadlines();
        let notes: Vec<_> = (0..1000).map(|_| deadlines.enter()).collect();
        notes.iter().for_each(|note| deadlines.begin(note, Phase::Head));
        (0..8).for_each(|_| deadlines.sweep());
        let mut ended = 0;
        for _ in 0..1000_usize.div_ceil(AT_ONCE) {
            deadlines.sweep();
            let now = notes.iter().filter(|note| deadlines.has_expired(note)).count();
            assert!((1..=AT_ONCE).contains(&(now - ended)), "{ended}, then {now}");
            ended = now;
            assert_eq!(deadlines.pause(), if ended < 1000 { BREATH } else { deadlines.tick });
        }
        assert_eq!(ended, 1000);
        // They are not ended again, and whoever begins anew is late anew.
        deadlines.sweep();
        deadlines.begin(&notes[0], Phase::Head);
        assert!(!deadlines.has_expired(&notes[0]) && !deadlines.is_sweeping());
    }
}
