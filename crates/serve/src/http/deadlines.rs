//! Deadlines without timers: each connection notes, on a coarse clock, since when it waits for what; one sweep a tick
//! looks through the notes and wakes those who have waited too long. A request costs two stores.

use super::settings::Settings;
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

/// The notes of all connections of a worker.
pub(crate) struct Deadlines {
    /// How often to sweep.
    pub tick: Duration,
    now: Cell<u32>,
    /// In ticks, by phase.
    limits: [u32; 6],
    notes: RefCell<Vec<Rc<Note>>>,
}

/// A connection's note.
pub(crate) struct Note {
    since: Cell<u32>,
    phase: Cell<Phase>,
    expired: Cell<bool>,
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
        Self { tick, now: Cell::new(0), limits, notes: RefCell::default() }
    }

    /// A note for a new connection, which waits for a request.
    pub fn enter(&self) -> Rc<Note> {
        let mut notes = self.notes.borrow_mut();
        let note = Rc::new(Note {
            since: self.now.clone(),
            phase: Cell::new(Phase::Idle),
            expired: Cell::new(false),
            place: Cell::new(notes.len()),
            waker: RefCell::default(),
        });
        notes.push(note.clone());
        note
    }

    /// The connection has ended.
    pub fn leave(&self, note: &Note) {
        let mut notes = self.notes.borrow_mut();
        let place = note.place.get();
        notes.swap_remove(place);
        if let Some(moved) = notes.get(place) {
            moved.place.set(place);
        }
    }

    /// From now on it waits for this.
    #[inline]
    pub fn begin(&self, note: &Note, phase: Phase) {
        note.phase.set(phase);
        note.since.set(self.now.get());
        note.expired.set(false);
    }

    /// It waits for this; if it did so before, since then.
    #[inline]
    pub fn go_on(&self, note: &Note, phase: Phase) {
        if note.phase.get() != phase {
            self.begin(note, phase);
        }
    }

    /// One tick has passed.
    pub fn sweep(&self) {
        let now = self.now.get().wrapping_add(1);
        self.now.set(now);
        for note in self.notes.borrow().iter() {
            // One tick more, because the first has been counted as a whole and was not.
            if now.wrapping_sub(note.since.get()) > self.limits[note.phase.get() as usize] {
                note.expire();
            }
        }
    }

    /// Ends the waiting of all who are in this phase.
    pub fn expire_all(&self, phase: Phase) {
        self.notes.borrow().iter().filter(|note| note.phase.get() == phase).for_each(|note| note.expire());
    }
}

impl Note {
    /// Whom to wake.
    pub fn watch(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }

    #[inline]
    pub fn has_expired(&self) -> bool {
        self.expired.get()
    }

    pub fn phase(&self) -> Phase {
        self.phase.get()
    }

    fn expire(&self) {
        self.expired.set(true);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
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
        assert!(!note.has_expired());
        // Bytes that come do not help: only another phase does.
        deadlines.go_on(&note, Phase::Head);
        deadlines.sweep();
        assert!(note.has_expired());
        deadlines.begin(&note, Phase::Idle);
        assert!(!note.has_expired());
    }

    #[test]
    fn those_who_leave_take_nobody_with_them() {
        let deadlines = deadlines();
        let mut notes: Vec<_> = (0..100).map(|_| deadlines.enter()).collect();
        for at in [0, 98, 50, 3] {
            deadlines.leave(&notes.swap_remove(at));
        }
        assert_eq!(deadlines.notes.borrow().len(), 96);
        (0..34).for_each(|_| deadlines.sweep());
        assert!(notes.iter().all(|note| note.has_expired()));
        notes.iter().for_each(|note| deadlines.leave(note));
        assert!(deadlines.notes.borrow().is_empty());
    }
}
