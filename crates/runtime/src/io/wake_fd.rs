//! Waking a worker that sleeps: a message from ring to ring where both have one, else its eventfd.
//!
//! Must never lose a ring: a message that could not be delivered becomes a write to the eventfd.

use super::Io;
use crate::{
    driver::Driver,
    driver::epoll::Interest,
    driver::user_data::Kind,
    slab::Key,
    task::registry::{self, Remote},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::Arc,
};

impl Io {
    pub(super) fn watch_bell(&mut self) -> io::Result<()> {
        match &mut self.driver {
            Driver::Uring(uring) => uring.watch_bell(self.bell.as_raw_fd()),
            Driver::Epoll(epoll) => {
                let key = Key { index: 0, generation: 0 };
                epoll.watch(Kind::Bell, key, self.bell.as_fd(), false, Interest { input: true, output: false })?;
            }
        }
        Ok(())
    }

    /// The eventfd was written to.
    pub(super) fn rung(&mut self, more: bool) {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        if !more {
            let _ = self.watch_bell();
        }
    }

    /// Where other rings send their messages to, if this one has such a place.
    pub fn door(&self) -> Option<OwnedFd> {
        match &self.driver {
            Driver::Uring(uring) => uring.door(),
            Driver::Epoll(_) => None,
        }
    }

    /// Wakes a worker from this one, at once.
    #[cold]
    pub fn ring(&mut self, sleeper: Arc<Remote>) {
        match &mut self.driver {
            Driver::Uring(uring) if sleeper.door.is_some() => uring.message(sleeper),
            _ => sleeper.ring(),
        }
    }

    /// A message has arrived, which is all it is for, or was not delivered to the worker of that number.
    #[cold]
    pub(super) fn messaged(&mut self, result: i32, worker: u32) {
        if result < 0 {
            registry::ring(worker as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{driver::BackendKind, task::mailbox::Mailbox};
    use rustix::event::{EventfdFlags, eventfd};
    use std::{fs::File, time::Duration};

    fn bell() -> Arc<OwnedFd> {
        Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap())
    }

    fn has_rung(bell: &OwnedFd) -> bool {
        rustix::io::read(bell, &mut [0u8; 8]).is_ok()
    }

    fn sleeper(bell: &Arc<OwnedFd>, door: Option<OwnedFd>) -> Arc<Remote> {
        registry::take(|id| Remote { mailbox: Mailbox::new(), id, bell: bell.clone(), door }).unwrap()
    }

    /// Rings one worker from another; how many events that worker sees, and whether its eventfd was written to.
    fn ring(from: BackendKind, to: BackendKind, door: impl FnOnce(&Io) -> Option<OwnedFd>) -> (u64, bool) {
        let (heard, quiet) = (bell(), bell());
        let (mut ringing, _) = Io::new(Some(from), None, quiet).unwrap();
        let (mut woken, _) = Io::new(Some(to), None, heard.clone()).unwrap();
        let remote = sleeper(&heard, door(&woken));
        ringing.ring(remote.clone());
        ringing.turn(Some(Duration::ZERO));
        let written = has_rung(&heard);
        if written {
            remote.ring();
        }
        woken.turn(Some(Duration::from_secs(5)));
        registry::leave(remote.id, true);
        (woken.metrics.events, written)
    }

    #[test]
    fn rings_send_messages_and_all_others_ring_the_bell() {
        use BackendKind::{Epoll, Uring};
        assert_eq!(ring(Epoll, Epoll, Io::door), (1, true));
        let Ok((io, _)) = Io::new(Some(Uring), None, bell()) else { return eprintln!("skipped: no io_uring here") };
        assert_eq!(ring(Epoll, Uring, Io::door), (1, true));
        assert_eq!(ring(Uring, Epoll, Io::door), (1, true));
        assert_eq!(ring(Uring, Uring, |_| None), (1, true));
        assert_eq!(ring(Uring, Uring, Io::door), (1, io.door().is_none()));
        // No ring is behind this door: the kernel refuses the message.
        assert_eq!(ring(Uring, Uring, |_| Some(File::open("/dev/null").unwrap().into())), (1, true));
    }
}
