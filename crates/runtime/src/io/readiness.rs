//! Readiness of descriptors (`AsyncFd`, listeners): those that wait for a direction share one watch, armed until the next event.
//!
//! Invariant: no descriptor is kept beyond a call. On io_uring a poll request holds the file itself; on epoll a watch reports
//! one event and nothing more until it is armed again.

use super::{Io, closed};
use crate::named::named;
use crate::task::wait_list::{Ticket, WaitList};
use crate::{driver::Driver, driver::epoll::Interest, driver::user_data::OpKind, slab::Key};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::task::{Context, Poll};
use std::{io, mem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Input = 0,
    Output = 1,
}

impl Direction {
    fn kind(self) -> OpKind {
        if self == Self::Input { OpKind::WatchInput } else { OpKind::WatchOutput }
    }
}

#[derive(Default)]
pub(super) struct Watched {
    pub(super) sides: [Side; 2],
    /// The descriptor is in the epoll set.
    registered: bool,
    /// The `AsyncFd` was dropped; the slot remains until the last completion.
    dropped: bool,
    /// The descriptor of the last wait, for reports.
    #[cfg(any(test, feature = "sim"))]
    pub(super) fd: Option<std::os::fd::RawFd>,
}

/// One direction of a watched descriptor.
#[derive(Default)]
pub(super) struct Side {
    pub(super) waiters: WaitList,
    /// A poll request or an epoll interest is active.
    armed: bool,
    /// Ready, and not yet reported. The next poll reports it, and the one after that arms the watch again.
    ready: bool,
    errno: i32,
}

impl Watched {
    fn is_armed(&self, direction: Direction) -> bool {
        self.sides[direction as usize].armed
    }

    fn is_quiet(&self) -> bool {
        !self.is_armed(Direction::Input) && !self.is_armed(Direction::Output)
    }
}

/// With the remedy, where the message of the kernel has none.
fn explained(error: io::Error) -> io::Error {
    if error.raw_os_error() != Some(libc::EEXIST) {
        return error;
    }
    named("on epoll a descriptor is watched by one AsyncFd at a time; duplicate it for another", error)
}

impl Io {
    pub fn add_watch(&mut self) -> Key {
        self.watches.insert(Watched::default())
    }

    /// A caller is about to try: what it finds is what the watch would report.
    pub fn forget_ready(&mut self, key: Key, direction: Direction) {
        if let Some(watched) = self.watches.get(key) {
            watched.sides[direction as usize].ready = false;
        }
    }

    /// Waits until the descriptor is ready. It may be a different one in each call.
    pub fn poll_ready(
        &mut self,
        key: Key,
        fd: BorrowedFd<'_>,
        (direction, ticket): (Direction, &mut Ticket),
        cx: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(watched) = self.watches.get(key).filter(|watched| !watched.dropped) else {
            return Poll::Ready(Err(closed()));
        };
        #[cfg(any(test, feature = "sim"))]
        watched.fd.replace(fd.as_raw_fd());
        let side = &mut watched.sides[direction as usize];
        if side.errno != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(mem::take(&mut side.errno))));
        }
        if mem::take(&mut side.ready) {
            return Poll::Ready(Ok(()));
        }
        side.waiters.park(&mut self.wakers, ticket, cx);
        if side.armed {
            return Poll::Pending;
        }
        side.armed = true;
        let epoll = match &mut self.driver {
            Driver::Uring(uring) => {
                uring.poll(direction.kind(), key, fd.as_raw_fd());
                return Poll::Pending;
            }
            Driver::Epoll(epoll) => epoll,
        };
        let [input, output] = [Direction::Input, Direction::Output].map(|direction| watched.is_armed(direction));
        let interest = Interest { input, output, once: true };
        let result = epoll.watch(OpKind::WatchInput, key, fd, watched.registered, interest);
        let side = &mut watched.sides[direction as usize];
        match result {
            Ok(registered) => watched.registered = registered,
            // A regular file, which epoll does not watch and which is always ready: reported in the next turn.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                (side.armed, side.ready) = (false, true);
                side.waiters.wake_all(&mut self.wakers);
            }
            Err(error) => {
                side.armed = false;
                side.waiters.leave(&mut self.wakers, *ticket);
                return Poll::Ready(Err(explained(error)));
            }
        }
        Poll::Pending
    }

    /// A future that waited is dropped.
    pub fn leave(&mut self, key: Key, (direction, ticket): (Direction, Ticket)) {
        if let Some(watched) = self.watches.get(key) {
            watched.sides[direction as usize].waiters.leave(&mut self.wakers, ticket);
        }
    }

    /// Handles the completion of a poll: the descriptor is ready or cannot be watched.
    #[cold]
    pub(super) fn polled(&mut self, data: u64, result: i32) {
        // Not a poll: a cancel that failed because its request had ended.
        let Some((kind, key)) = OpKind::untag_watch(data) else { return };
        let direction = if kind == OpKind::WatchInput { Direction::Input } else { Direction::Output };
        self.count_ended(false);
        let Some(watched) = self.watches.get(key) else { return };
        let side = &mut watched.sides[direction as usize];
        side.armed = false;
        if watched.dropped {
            if watched.is_quiet() {
                self.watches.remove(key);
            }
            return;
        }
        if result < 0 {
            side.errno = -result;
        } else {
            side.ready = true;
        }
        side.waiters.wake_all(&mut self.wakers);
    }

    /// Epoll: handles an event. It disables both directions, so those that wait for the other one are woken too, to arm it again.
    #[cold]
    pub(super) fn watched(&mut self, key: Key) {
        let (Driver::Epoll(epoll), Some(watched)) = (&self.driver, self.watches.get(key)) else { return };
        for (side, ready) in watched.sides.iter_mut().zip(epoll.ready_for()) {
            if mem::take(&mut side.armed) {
                side.ready = ready;
                side.waiters.wake_all(&mut self.wakers);
            }
        }
    }

    /// Ends a watch; without the descriptor if the epoll set is about to be closed.
    pub fn drop_watch(&mut self, key: Key, fd: Option<BorrowedFd<'_>>) {
        let Some(watched) = self.watches.get(key).filter(|watched| !watched.dropped) else { return };
        for side in &mut watched.sides {
            side.waiters.forget_all(&mut self.wakers);
        }
        watched.dropped = true;
        match &mut self.driver {
            Driver::Uring(uring) if !watched.is_quiet() => {
                for direction in [Direction::Input, Direction::Output] {
                    if watched.is_armed(direction) {
                        uring.cancel(direction.kind(), key);
                    }
                }
                // A poll holds the file: the address of a listener is free only once the cancel was submitted.
                uring.flush();
                return;
            }
            Driver::Epoll(epoll) if watched.registered => fd.into_iter().for_each(|fd| epoll.forget(fd)),
            _ => (),
        }
        self.watches.remove(key);
    }

    /// Ends all watches when the worker ends; returns true if there were none.
    pub(super) fn drop_watches(&mut self) -> bool {
        let mut nothing_left = true;
        for key in self.watches.keys() {
            let Some(watched) = self.watches.get(key).filter(|watched| !watched.dropped) else { continue };
            nothing_left = false;
            // A future polled by another executor may be waiting.
            watched.sides.iter_mut().for_each(|side| side.waiters.wake_all(&mut self.wakers));
            self.drop_watch(key, None);
        }
        nothing_left
    }
}
