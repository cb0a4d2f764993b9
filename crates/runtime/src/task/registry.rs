//! The workers of the process by number, and how any thread wakes one: a token in its mailbox, then a message to its ring
//! or a write to its eventfd if it sleeps. Other threads touch nothing else of a worker.

use super::{Token, mailbox::Mailbox};
use crate::sync::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{io, os::fd::OwnedFd};

/// The part of a worker that other threads may touch.
pub(crate) struct Remote {
    pub mailbox: Mailbox,
    pub id: u16,
    /// An eventfd that ends its sleep.
    pub wake_fd: Arc<OwnedFd>,
    /// Its ring, if it takes messages from others: a duplicate, so requests may name it while this struct lives.
    pub ring_fd: Option<OwnedFd>,
    /// Work of other threads that a virtual clock waits for.
    held: AtomicUsize,
}

/// Keeps a virtual clock from jumping while another thread works for its worker.
pub(crate) struct ClockHold(Arc<Remote>);

impl ClockHold {
    pub fn new(remote: Arc<Remote>) -> Self {
        remote.held.fetch_add(1, Ordering::SeqCst);
        Self(remote)
    }
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        // The worker may sleep without a bound: mail that does nothing has it look at its clock.
        if let Ok(true) = self.0.mailbox.post_spawn(Box::new(|| ())) {
            self.0.wake();
        }
    }
}

impl Remote {
    pub fn new(id: u16, wake_fd: Arc<OwnedFd>, ring_fd: Option<OwnedFd>) -> Self {
        Self { mailbox: Mailbox::new(), id, wake_fd, ring_fd, held: AtomicUsize::new(0) }
    }

    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst) > 0
    }

    pub fn wake(&self) {
        // The only error of a non-blocking write to an eventfd is a full counter, and then the worker wakes already.
        let _ = rustix::io::write(&*self.wake_fd, &1u64.to_ne_bytes());
    }
}

/// Numbers of workers of simulated worlds begin here. They are those of one thread: a number depends on nothing that another
/// thread does, and a stale token wakes nothing in the world of another thread.
const SIMULATED: u16 = if cfg!(any(test, feature = "sim")) { 0x8000 } else { u16::MAX };

/// Workers by number. A number is reused after its worker has ended, unless a stream, listener, timer or buffer has outlived the
/// worker and would be mistaken for one of the new worker. A stale token may wake a task of the new worker, which is harmless.
struct Slots {
    /// The number of the first slot, and the first that is that of no slot.
    first: u16,
    end: u16,
    slots: Vec<Slot>,
}

enum Slot {
    Free,
    Taken(Arc<Remote>),
    Retired,
}

static SLOTS: Mutex<Slots> = Mutex::new(Slots::new(0, SIMULATED));

#[cfg(any(test, feature = "sim"))]
thread_local! {
    static SIMULATED_SLOTS: std::cell::RefCell<Slots> = const { std::cell::RefCell::new(Slots::new(SIMULATED, u16::MAX)) };
}

impl Slots {
    const fn new(first: u16, end: u16) -> Self {
        Self { first, end, slots: Vec::new() }
    }

    fn take(&mut self, remote: impl FnOnce(u16) -> Remote) -> io::Result<Arc<Remote>> {
        let free = self.slots.iter().position(|slot| matches!(slot, Slot::Free)).unwrap_or(self.slots.len());
        let most = self.end - self.first;
        if free >= usize::from(most) {
            let message = format!("{most} runtimes are alive in this process, or have left streams behind; drop some");
            return Err(io::Error::other(message));
        }
        if free == self.slots.len() {
            self.slots.push(Slot::Free);
        }
        let remote = Arc::new(remote(self.first + free as u16));
        self.slots[free] = Slot::Taken(remote.clone());
        Ok(remote)
    }

    fn end(&mut self, id: u16, slot: Slot) {
        self.slots[usize::from(id - self.first)] = slot;
    }

    fn find(&self, id: u16) -> Option<Arc<Remote>> {
        match self.slots.get(usize::from(id - self.first)) {
            Some(Slot::Taken(remote)) => Some(remote.clone()),
            _ => None,
        }
    }
}

/// Calls `use_slots` with the slots that hold a number. `None` if they are those of a thread that ends.
fn with_slots<T>(number: u16, use_slots: impl FnOnce(&mut Slots) -> T) -> Option<T> {
    #[cfg(any(test, feature = "sim"))]
    if number >= SIMULATED {
        return SIMULATED_SLOTS.try_with(|slots| use_slots(&mut slots.borrow_mut())).ok();
    }
    let _ = number;
    Some(use_slots(&mut lock(&SLOTS)))
}

/// Registers a worker under a free number; `remote` makes the part that other threads may touch.
pub(crate) fn register(remote: impl FnOnce(u16) -> Remote) -> io::Result<Arc<Remote>> {
    let first = if crate::sys::is_simulated() { SIMULATED } else { 0 };
    with_slots(first, |slots| slots.take(remote)).unwrap_or_else(|| Err(io::Error::other("the thread ends")))
}

/// Removes a worker; its number may be used again if it has left nothing behind.
pub(crate) fn unregister(id: u16, nothing_left: bool) {
    with_slots(id, |slots| slots.end(id, if nothing_left { Slot::Free } else { Slot::Retired }));
}

/// Posts a token to the mailbox of its worker. Returns the worker if it sleeps: the caller must wake it.
#[cold]
#[must_use]
pub(crate) fn post(token: Token) -> Option<Arc<Remote>> {
    find(token.worker()).filter(|remote| remote.mailbox.post(token))
}

pub(crate) fn wake(worker: u16) {
    if let Some(remote) = find(worker) {
        remote.wake();
    }
}

fn find(worker: u16) -> Option<Arc<Remote>> {
    with_slots(worker, |slots| slots.find(worker)).flatten()
}
