//! Waking a sleeping worker: by a message from ring to ring if both have one, else by its eventfd.
//!
//! Invariant: no wake-up is lost. A message that could not be delivered becomes a write to the eventfd.

use super::Io;
use crate::task::registry::{self, Remote};
use crate::{driver::Driver, driver::epoll::Interest, driver::user_data::OpKind, slab::Key};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::{io, sync::Arc};

impl Io {
    pub(super) fn arm_wake_fd(&mut self) -> io::Result<()> {
        match &mut self.driver {
            Driver::Uring(uring) => uring.arm_wake_fd(self.wake_fd.as_raw_fd()),
            Driver::Epoll(epoll) => {
                epoll.watch(OpKind::WakeFd, Key::default(), self.wake_fd.as_fd(), false, Interest::INPUT)?;
            }
        }
        Ok(())
    }

    /// Handles a write to the eventfd.
    pub(super) fn on_wake(&mut self, more: bool) {
        let _ = rustix::io::read(&*self.wake_fd, &mut [0u8; 8]);
        if !more {
            let _ = self.arm_wake_fd();
        }
    }

    /// The descriptor to which other rings send messages, if supported.
    pub fn ring_fd(&self) -> Option<OwnedFd> {
        if let Driver::Uring(uring) = &self.driver { uring.ring_fd() } else { None }
    }

    /// Wakes another worker, at once.
    #[cold]
    pub fn wake_worker(&mut self, sleeper: Arc<Remote>) {
        match &mut self.driver {
            Driver::Uring(uring) if sleeper.ring_fd.is_some() => uring.message(sleeper),
            _ => sleeper.wake(),
        }
    }

    /// Handles a message: a received one has ended this worker's sleep; a failed one was for the worker of that number.
    #[cold]
    pub(super) fn messaged(&mut self, result: i32, worker: u32) {
        if result < 0 {
            registry::wake(worker as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{driver::BackendKind, driver::uring::Features, task::queue::Tasks};
    use rustix::event::{EventfdFlags, eventfd};
    use std::{fs::File, rc::Rc, time::Duration};

    fn wake_fd() -> Arc<OwnedFd> {
        Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap())
    }

    fn io(backend: BackendKind, wake_fd: Arc<OwnedFd>) -> io::Result<(Io, Option<String>)> {
        Io::new(Some(backend), Features::default(), None, wake_fd, Rc::new(Tasks::new()))
    }

    /// Wakes one worker from another. Returns the number of events it gets, and whether its eventfd was written to.
    fn wake(from: BackendKind, to: BackendKind, ring_fd: impl FnOnce(&Io) -> Option<OwnedFd>) -> (u64, bool) {
        let to_fd = wake_fd();
        let (mut waking, _) = io(from, wake_fd()).unwrap();
        let (mut woken, _) = io(to, to_fd.clone()).unwrap();
        let (ring_fd, wake_fd) = (ring_fd(&woken), to_fd.clone());
        let remote = registry::register(|id| Remote::new(id, wake_fd, ring_fd)).unwrap();
        waking.wake_worker(remote.clone());
        waking.turn(Some(Duration::ZERO));
        let written = rustix::io::read(&to_fd, &mut [0u8; 8]).is_ok();
        if written {
            remote.wake();
        }
        woken.turn(Some(Duration::from_secs(5)));
        registry::unregister(remote.id, true);
        (woken.metrics.events, written)
    }

    #[test]
    fn rings_send_messages_and_all_others_write_to_the_eventfd() {
        use BackendKind::{Epoll, Uring};
        assert_eq!(wake(Epoll, Epoll, Io::ring_fd), (1, true));
        let Ok((io, _)) = io(Uring, wake_fd()) else { return eprintln!("skipped: no io_uring here") };
        assert_eq!(wake(Epoll, Uring, Io::ring_fd), (1, true));
        assert_eq!(wake(Uring, Epoll, Io::ring_fd), (1, true));
        assert_eq!(wake(Uring, Uring, |_| None), (1, true));
        assert_eq!(wake(Uring, Uring, Io::ring_fd), (1, io.ring_fd().is_none()));
        // Not a ring: the kernel refuses the message.
        assert_eq!(wake(Uring, Uring, |_| Some(File::open("/dev/null").unwrap().into())), (1, true));
    }
}
