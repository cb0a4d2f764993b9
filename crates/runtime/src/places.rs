//! The workers of the process by number, and how any thread reaches one: a token in its mailbox, and a ring of its bell if
//! it sleeps. Nothing else of a worker is ever touched by another thread.

use crate::{mailbox::Mailbox, task::Token};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard},
};

/// The part of a worker that other threads may touch.
pub(crate) struct Remote {
    pub mailbox: Mailbox,
    pub bell: Arc<OwnedFd>,
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

/// Gives a worker its number.
pub(crate) fn take(remote: Arc<Remote>) -> io::Result<u16> {
    let mut places = places();
    let free = places.iter().position(|place| matches!(place, Place::Free)).unwrap_or(places.len());
    if free >= usize::from(u16::MAX) {
        let message = "65,535 runtimes are alive in this process, or have left streams behind; drop some";
        return Err(io::Error::other(message));
    }
    if free == places.len() {
        places.push(Place::Free);
    }
    places[free] = Place::Taken(remote);
    Ok(free as u16)
}

/// A worker has ended; its number may be used again if it has left nothing behind.
pub(crate) fn leave(id: u16, nothing_left: bool) {
    places()[usize::from(id)] = if nothing_left { Place::Free } else { Place::Retired };
}

/// Wakes a task of any worker.
#[cold]
pub(crate) fn wake(token: Token) {
    let remote = match places().get(usize::from(token.worker())) {
        Some(Place::Taken(remote)) => remote.clone(),
        _ => return,
    };
    if remote.mailbox.post(token) {
        // The only error of a blocking-free eventfd write is a counter that is full, and then it has rung already.
        let _ = rustix::io::write(&*remote.bell, &1u64.to_ne_bytes());
    }
}
