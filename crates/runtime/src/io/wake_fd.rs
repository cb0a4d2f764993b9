//! Waking a sleeping worker: by a message from ring to ring if both have one, else by its eventfd.
//!
//! Invariant: no wake-up is lost. A message that could not be delivered becomes a write to the eventfd.

use super::Io;
use crate::{
    driver::Driver,
    driver::epoll::Interest,
    driver::user_data::OpKind,
    slab::Key,
    task::registry::{self, Remote},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::Arc,
};

impl Io {
    pub(super) fn arm_wake_fd(&mut self) -> io::Result<()> {
        match &mut self.driver {
            Driver::Uring(uring) => uring.arm_wake_fd(self.wake_fd.as_raw_fd()),
            Driver::Epoll(epoll) => {
                let key = Key { index: 0, generation: 0 };
                epoll.watch(
                    OpKind::WakeFd,
                    key,
                    self.wake_fd.as_fd(),
                    false,
                    Interest { input: true, output: false },
                )?;
            }
        }
        Ok(())
    }

    /// The eventfd was written to.
    pub(super) fn on_wake(&mut self, more: bool) {
        let _ = rustix::io::read(&*self.wake_fd, &mut [0u8; 8]);
        if !more {
            let _ = self.arm_wake_fd();
        }
    }

    /// The descriptor to which other rings send messages, if there is one.
    pub fn ring_fd(&self) -> Option<OwnedFd> {
        match &self.driver {
            Driver::Uring(uring) => uring.ring_fd(),
            Driver::Epoll(_) => None,
        }
    }

    /// Wakes a worker from this one, at once.
    #[cold]
    pub fn wake_worker(&mut self, sleeper: Arc<Remote>) {
        match &mut self.driver {
            Driver::Uring(uring) if sleeper.ring_fd.is_some() => uring.message(sleeper),
            _ => sleeper.wake(),
        }
    }

    /// Handles a message: one that has arrived has done its work by that; one that failed was for the worker of that number.
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
    use crate::{
        driver::{BackendKind, uring::Features},
        task::{mailbox::Mailbox, queue::Tasks},
    };
    use rustix::event::{EventfdFlags, eventfd};
    use std::{fs::File, rc::Rc, time::Duration};

    fn wake_fd() -> Arc<OwnedFd> {
        Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap())
    }

    fn has_rung(wake_fd: &OwnedFd) -> bool {
        rustix::io::read(wake_fd, &mut [0u8; 8]).is_ok()
    }

    fn sleeper(wake_fd: &Arc<OwnedFd>, ring_fd: Option<OwnedFd>) -> Arc<Remote> {
        registry::register(|id| Remote { mailbox: Mailbox::new(), id, wake_fd: wake_fd.clone(), ring_fd }).unwrap()
    }

    fn io(backend: BackendKind, wake_fd: Arc<OwnedFd>) -> io::Result<(Io, Option<String>)> {
        Io::new(Some(backend), Features::default(), None, wake_fd, Rc::new(Tasks::new()))
    }

    /// Wakes one worker from another. Returns how many events that worker gets, and whether its eventfd was written to.
    fn ring(from: BackendKind, to: BackendKind, ring_fd: impl FnOnce(&Io) -> Option<OwnedFd>) -> (u64, bool) {
        let (heard, quiet) = (wake_fd(), wake_fd());
        let (mut ringing, _) = io(from, quiet).unwrap();
        let (mut woken, _) = io(to, heard.clone()).unwrap();
        let remote = sleeper(&heard, ring_fd(&woken));
        ringing.wake_worker(remote.clone());
        ringing.turn(Some(Duration::ZERO));
        let written = has_rung(&heard);
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
        assert_eq!(ring(Epoll, Epoll, Io::ring_fd), (1, true));
        let Ok((io, _)) = io(Uring, wake_fd()) else { return eprintln!("skipped: no io_uring here") };
        assert_eq!(ring(Epoll, Uring, Io::ring_fd), (1, true));
        assert_eq!(ring(Uring, Epoll, Io::ring_fd), (1, true));
        assert_eq!(ring(Uring, Uring, |_| None), (1, true));
        assert_eq!(ring(Uring, Uring, Io::ring_fd), (1, io.ring_fd().is_none()));
        // This descriptor is not a ring: the kernel refuses the message.
        assert_eq!(ring(Uring, Uring, |_| Some(File::open("/dev/null").unwrap().into())), (1, true));
    }
}
