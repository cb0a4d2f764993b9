//! Listeners: accepted sockets wait in a queue until `accept` is called.

use super::{Io, closed};
use crate::sys;
use crate::{driver::Driver, driver::epoll::Interest, driver::user_data::OpKind, slab::Key, task::waiter::Waiter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};
use std::{collections::VecDeque, io};

/// Connections taken from one ready listener in one turn (epoll).
const ACCEPTS_A_TURN: usize = 64;

#[derive(Default)]
pub(super) struct Listener {
    fd: Option<OwnedFd>,
    accepted: VecDeque<OwnedFd>,
    pub(super) acceptor: Waiter,
    armed: bool,
    registered: bool,
    pub(super) dropped: bool,
    errno: i32,
}

impl Io {
    pub fn add_listener(&mut self, fd: OwnedFd) -> Key {
        self.listeners.insert(Listener { fd: Some(fd), ..Listener::default() })
    }

    pub fn listener_fd(&mut self, key: Key) -> io::Result<BorrowedFd<'_>> {
        self.listeners.get(key).and_then(|listener| listener.fd.as_ref()).map(AsFd::as_fd).ok_or_else(closed)
    }

    /// The next accepted socket. After an error, the next call tries again.
    pub fn poll_accept(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<OwnedFd>> {
        let Some(listener) = self.listeners.get(key) else { return Poll::Ready(Err(closed())) };
        if let Some(fd) = listener.accepted.pop_front() {
            return Poll::Ready(Ok(fd));
        }
        if listener.errno != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(std::mem::take(&mut listener.errno))));
        }
        self.wakers.park(&mut listener.acceptor, cx);
        if let Some(fd) = listener.fd.as_ref().filter(|_| !listener.armed) {
            match &mut self.driver {
                Driver::Uring(uring) => uring.accept(key, fd.as_raw_fd()),
                Driver::Epoll(epoll) => {
                    listener.registered =
                        epoll.watch(OpKind::Accept, key, fd.as_fd(), listener.registered, Interest::INPUT)?;
                }
            }
            listener.armed = true;
        }
        Poll::Pending
    }

    /// Handles an accepted socket or the errno of a failed accept; `more` says whether the request remains armed.
    pub(super) fn accepted(&mut self, key: Key, accepted: Result<OwnedFd, i32>, more: bool) {
        let Some(listener) = self.listeners.get(key) else { return };
        listener.armed = more;
        if listener.dropped {
            accepted.into_iter().for_each(sys::close);
            if !more {
                self.close_listener(key);
            }
            return;
        }
        match accepted {
            Ok(fd) => listener.accepted.push_back(fd),
            // The peer has gone, or the accept was cancelled: not an error of the listener.
            Err(libc::ECONNABORTED | libc::EINTR | libc::EAGAIN | libc::ECANCELED) => (),
            Err(errno) => listener.errno = errno,
        }
        self.wakers.wake(&mut listener.acceptor);
    }

    /// Epoll: accepts waiting connections.
    pub(super) fn acceptable(&mut self, key: Key) {
        for _ in 0..ACCEPTS_A_TURN {
            let Some(fd) = self.listeners.get(key).and_then(|listener| listener.fd.as_ref()) else { return };
            let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
            match rustix::net::accept_with(fd, flags) {
                Ok(socket) => self.accepted(key, Ok(socket), true),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => (),
                Err(errno) => {
                    // Usually out of descriptors. Level-triggered epoll would report the listener forever, so it leaves the
                    // set until the next `poll_accept`.
                    let Some(listener) = self.listeners.get(key) else { return };
                    if let (Driver::Epoll(epoll), Some(fd)) = (&self.driver, &listener.fd) {
                        let _ = epoll.watch(OpKind::Accept, key, fd.as_fd(), listener.registered, Interest::NONE);
                        listener.registered = false;
                    }
                    return self.accepted(key, Err(errno.raw_os_error()), false);
                }
            }
        }
    }

    /// Stops listening and closes the queued sockets.
    pub fn drop_listener(&mut self, key: Key) {
        let Some(listener) = self.listeners.get(key) else { return };
        listener.accepted.drain(..).for_each(sys::close);
        self.wakers.forget(&mut listener.acceptor);
        match &mut self.driver {
            Driver::Uring(uring) if listener.armed => {
                listener.dropped = true;
                uring.cancel(OpKind::Accept, key);
            }
            Driver::Epoll(epoll) if listener.registered => {
                // Not left to closing, which keeps a descriptor in the set while it has a duplicate.
                listener.fd.iter().for_each(|fd| epoll.forget(fd.as_fd()));
                self.close_listener(key);
            }
            _ => self.close_listener(key),
        }
    }

    fn close_listener(&mut self, key: Key) {
        let fd = self.listeners.remove(key).and_then(|listener| listener.fd);
        fd.into_iter().for_each(sys::close);
    }

    /// Whether the process or the system is out of descriptors or memory, which may pass.
    pub fn is_exhaustion(error: &io::Error) -> bool {
        // ENOSPC: the user's limit of epoll watches is reached.
        matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::ENOSPC))
    }
}
