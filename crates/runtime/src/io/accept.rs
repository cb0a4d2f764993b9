//! Listeners: accepted sockets wait in a queue until somebody calls `accept`.

use super::{Io, closed};
use crate::{driver::Driver, driver::epoll::Interest, driver::user_data::Kind, slab::Key, task::waiter::Waiter};
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    task::{Context, Poll},
};

/// Connections taken from one ready listener in one turn (epoll).
const ACCEPTS_A_TURN: usize = 64;

#[derive(Default)]
pub(super) struct Listener {
    fd: Option<OwnedFd>,
    accepted: VecDeque<OwnedFd>,
    acceptor: Waiter,
    armed: bool,
    registered: bool,
    dropped: bool,
    errno: i32,
}

impl Io {
    pub fn add_listener(&mut self, fd: OwnedFd) -> Key {
        self.listeners.insert(Listener { fd: Some(fd), ..Listener::default() })
    }

    /// The descriptor of a live listener.
    pub fn listener_fd(&mut self, key: Key) -> io::Result<BorrowedFd<'_>> {
        self.listeners.get(key).and_then(|listener| listener.fd.as_ref()).map(AsFd::as_fd).ok_or_else(closed)
    }

    /// The next accepted socket. An error ends nothing: the next call tries again.
    pub fn poll_accept(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<OwnedFd>> {
        let Some(listener) = self.listeners.get(key) else {
            return Poll::Ready(Err(closed()));
        };
        if let Some(fd) = listener.accepted.pop_front() {
            return Poll::Ready(Ok(fd));
        }
        if listener.errno != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(std::mem::take(&mut listener.errno))));
        }
        self.wakers.park(&mut listener.acceptor, cx);
        match self.arm_listener(key) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn arm_listener(&mut self, key: Key) -> io::Result<()> {
        let Some(listener) = self.listeners.get(key) else {
            return Ok(());
        };
        let Some(fd) = listener.fd.as_ref().filter(|_| !listener.armed) else {
            return Ok(());
        };
        match &mut self.driver {
            Driver::Uring(uring) => uring.accept(key, fd.as_raw_fd()),
            Driver::Epoll(epoll) => {
                let interest = Interest { input: true, output: false };
                listener.registered = epoll.watch(Kind::Accept, key, fd.as_fd(), listener.registered, interest)?;
            }
        }
        listener.armed = true;
        Ok(())
    }

    /// A completion of an accept, or what epoll's accepts amount to.
    pub(super) fn accepted(&mut self, key: Key, result: i32, more: bool) {
        // SAFETY: a result that is no error is a new descriptor that nobody else owns.
        let fd = (result >= 0).then(|| unsafe { OwnedFd::from_raw_fd(result) });
        let Some(listener) = self.listeners.get(key) else {
            return;
        };
        listener.armed = more;
        match fd {
            Some(_) if listener.dropped => (),
            Some(fd) => listener.accepted.push_back(fd),
            // The peer gave up before we came: not the listener's trouble.
            None if matches!(-result, libc::ECONNABORTED | libc::EINTR | libc::EAGAIN) => (),
            None if result == -libc::ECANCELED => (),
            None => listener.errno = -result,
        }
        if listener.dropped {
            if !more {
                self.listeners.remove(key);
            }
            return;
        }
        self.wakers.wake(&mut listener.acceptor);
    }

    /// Epoll says that connections wait.
    pub(super) fn acceptable(&mut self, key: Key) {
        for _ in 0..ACCEPTS_A_TURN {
            let Some(fd) = self.listeners.get(key).and_then(|listener| listener.fd.as_ref()) else {
                return;
            };
            let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
            match rustix::net::accept_with(fd, flags) {
                Ok(socket) => {
                    use std::os::fd::IntoRawFd;
                    self.accepted(key, socket.into_raw_fd(), true);
                }
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => (),
                Err(errno) => {
                    // Out of descriptors, most likely. Level-triggered epoll would report it for ever: look away until
                    // the acceptor asks again.
                    let listener = self.listeners.get(key).expect("it was just used");
                    if let (Driver::Epoll(epoll), Some(fd)) = (&self.driver, &listener.fd) {
                        let none = Interest { input: false, output: false };
                        let _ = epoll.watch(Kind::Accept, key, fd.as_fd(), listener.registered, none);
                        listener.registered = false;
                    }
                    return self.accepted(key, -errno.raw_os_error(), false);
                }
            }
        }
    }

    /// Whether somebody has this listener and has not dropped it.
    pub(super) fn listener_is_held(&mut self, key: Key) -> bool {
        self.listeners.get(key).is_some_and(|listener| !listener.dropped)
    }

    /// Stops listening. Sockets accepted and not yet handed over are closed.
    pub fn drop_listener(&mut self, key: Key) {
        let Some(listener) = self.listeners.get(key) else {
            return;
        };
        listener.accepted.clear();
        self.wakers.forget(&mut listener.acceptor);
        match &mut self.driver {
            Driver::Uring(uring) if listener.armed => {
                listener.dropped = true;
                uring.cancel(Kind::Accept, key);
            }
            _ => drop(self.listeners.remove(key)),
        }
    }

    /// Whether this is the process or the system running out of descriptors or memory: worth waiting for.
    pub fn is_exhaustion(error: &io::Error) -> bool {
        // ENOSPC: the user's share of epoll watches is used up.
        matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::ENOSPC))
    }
}
