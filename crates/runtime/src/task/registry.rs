//! The workers of the process by number, and how any thread reaches one: a token in its mailbox, and a ring of its bell or
//! a knock at its door if it sleeps. Nothing else of a worker is ever touched by another thread.

use crate::{task::Token, task::mailbox::Mailbox};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard},
};

/// The part of a worker that other threads may touch.
pub(crate) struct Remote {
    pub mailbox: Mailbox,
    /// The number of the worker.
    pub id: u16,
    /// An eventfd.
    pub bell: Arc<OwnedFd>,
    /// Its ring, if that takes messages from other rings. This descriptor is the remote's own: whoever holds the remote may
    /// name it in a request without fear that it is another file's by then.
    pub door: Option<OwnedFd>,
}

impl Remote {
    /// Rings the bell, from any thread.
    pub fn ring(&self) {
        // The only error of a blocking-free eventfd write is a counter that is full, and then it has rung already.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

/// A number is used again after its worker's end, unless a stream, a listener, a timer or a lease has outlived it and
/// would be taken for one of the new worker's. A token of the old one wakes a task of the new one in vain, which is
/// harmless.
static PLACES: Mutex<Vec<Place>> = Mutex::new(Vec::new());

enum Place {
    Free,
    Taken(Arc<Remote>),
    Retired,
}

fn places() -> MutexGuard<'static, Vec<Place>> {
    PLACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives a worker its number; `remote` makes what others may touch of it.
pub(crate) fn take(remote: impl FnOnce(u16) -> Remote) -> io::Result<Arc<Remote>> {
    let mut places = places();
    let free = places.iter().position(|place| matches!(place, Place::Free)).unwrap_or(places.len());
    if free >= usize::from(u16::MAX) {
        let message = "65,535 runtimes are alive in this process, or have left streams behind; drop some";
        return Err(io::Error::other(message));
    }
    if free == places.len() {
        places.push(Place::Free);
    }
    let remote = Arc::new(remote(free as u16));
    places[free] = Place::Taken(remote.clone());
    Ok(remote)
}

/// A worker has ended; its number may be used again if it has left nothing behind.
pub(crate) fn leave(id: u16, nothing_left: bool) {
    places()[usize::from(id)] = if nothing_left { Place::Free } else { Place::Retired };
}

/// Leaves a token for a task of any worker. That worker, if it sleeps: the caller must wake it.
#[cold]
#[must_use]
pub(crate) fn post(token: Token) -> Option<Arc<Remote>> {
    find(token.worker()).filter(|remote| remote.mailbox.post(token))
}

/// Rings the bell of the worker of that number, if there still is one.
pub(crate) fn ring(worker: u16) {
    if let Some(remote) = find(worker) {
        remote.ring();
    }
}

fn find(worker: u16) -> Option<Arc<Remote>> {
    match places().get(usize::from(worker)) {
        Some(Place::Taken(remote)) => Some(remote.clone()),
        _ => None,
    }
}
