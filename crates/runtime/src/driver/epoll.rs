//! The epoll backend, for machines where io_uring is forbidden or too old: level-triggered, interest kept between turns.

use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::{io, time::Duration};

const INPUT: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);
const ENDED: epoll::EventFlags = epoll::EventFlags::HUP.union(epoll::EventFlags::ERR);
/// Events of one turn. Received data occupies buffers until the tasks run: with a thousand events the buffers of a turn
/// outgrow the cache, and with long messages they run out. Descriptors left out come first in the next turn.
const EVENTS: usize = 64;
/// The kernel may end a wait late by a thousandth of it (select_estimate_accuracy in fs/select.c), so a wait longer than
/// this ends early and the worker waits for the rest.
const LONG: Duration = Duration::from_millis(10);

const _: () = assert!(
    size_of::<epoll::Event>() == size_of::<libc::epoll_event>()
        && align_of::<epoll::Event>() == align_of::<libc::epoll_event>(),
    "rustix's event has the layout of the kernel's"
);

pub(crate) struct Epoll {
    fd: OwnedFd,
    events: Vec<epoll::Event>,
    next: usize,
    /// The second half of an event that was both readable and writable.
    writable: Option<Key>,
    /// The kernel lacks epoll_pwait2 (Linux 5.11): timeouts are whole milliseconds, rounded up.
    coarse: bool,
    /// Free receive buffers of the usual size.
    pub free_buffers: Vec<u16>,
}

/// An event. A descriptor at its end or with an error is reported as ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Readable(Key),
    Writable(Key),
    Wake,
    /// A descriptor of an `AsyncFd` is ready.
    Watched(Key),
}

/// The directions for which a descriptor is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interest {
    pub input: bool,
    pub output: bool,
    /// Until the next event; then it stays in the set and reports nothing.
    pub once: bool,
}

impl Interest {
    pub const NONE: Self = Self { input: false, output: false, once: false };
    pub const INPUT: Self = Self { input: true, ..Self::NONE };

    fn flags(self) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(INPUT, self.input);
        flags.set(epoll::EventFlags::OUT, self.output);
        flags.set(epoll::EventFlags::ONESHOT, self.once);
        flags
    }
}

impl Epoll {
    pub fn new() -> io::Result<Self> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            fd,
            events: Vec::with_capacity(EVENTS),
            next: 0,
            writable: None,
            coarse: false,
            free_buffers: Vec::new(),
        })
    }

    /// Whether waiting would return at once. A system call.
    pub fn has_work(&self) -> bool {
        let mut set = [PollFd::new(&self.fd, PollFlags::IN)];
        matches!(poll(&mut set, Some(&Timespec::default())), Ok(1..))
    }

    /// Sets the interest in a descriptor; returns whether it is in the set. EOF cannot be masked, so without interest it is not.
    pub fn watch(
        &self,
        kind: OpKind,
        key: Key,
        fd: BorrowedFd<'_>,
        registered: bool,
        interest: Interest,
    ) -> io::Result<bool> {
        let (flags, data) = (interest.flags(), epoll::EventData::new_u64(kind.tag(key)));
        match (registered, !flags.is_empty()) {
            (false, true) => epoll::add(&self.fd, fd, data, flags)?,
            (true, true) => epoll::modify(&self.fd, fd, data, flags)?,
            (true, false) => epoll::delete(&self.fd, fd)?,
            (false, false) => (),
        }
        Ok(!flags.is_empty())
    }

    /// Removes a descriptor from the set, if it still refers to the file that was added.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.fd, fd);
    }

    /// Waits for events; without a timeout if `None`.
    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        self.events.clear();
        self.next = 0;
        metrics.enters += 1;
        let timeout = timeout.map(|t| if t > LONG { t - t / 512 } else { t });
        let spec = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: i64::from(t.subsec_nanos()) });
        if self.coarse {
            return self.wait_coarse(timeout);
        }
        match epoll::wait(&self.fd, rustix::buffer::spare_capacity(&mut self.events), spec.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            Err(rustix::io::Errno::NOSYS) => {
                self.coarse = true;
                self.wait_coarse(timeout);
            }
            Err(error) => panic!("epoll_wait failed: {error}"),
        }
    }

    #[cold]
    fn wait_coarse(&mut self, timeout: Option<Duration>) {
        let room = self.events.spare_capacity_mut();
        let millis = timeout.map_or(-1, |t| t.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32);
        // SAFETY: the events have the kernel's layout, as asserted above, and there is room for the number passed.
        let count =
            unsafe { libc::epoll_wait(self.fd.as_raw_fd(), room.as_mut_ptr().cast(), room.len() as i32, millis) };
        if count >= 0 {
            // SAFETY: the kernel has filled `count` events.
            unsafe { self.events.set_len(count as usize) };
        } else if std::io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            panic!("epoll_wait failed: {}", std::io::Error::last_os_error());
        }
    }

    /// Whether the descriptor of the last event is ready for input, and for output.
    #[cold]
    pub fn ready_for(&self) -> [bool; 2] {
        let flags = self.events.get(self.next - 1).map_or(ENDED, |event| event.flags);
        [INPUT, epoll::EventFlags::OUT].map(|direction| flags.intersects(direction | ENDED))
    }

    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        if let Some(key) = self.writable.take() {
            return Some(Event::Writable(key));
        }
        loop {
            let event = *self.events.get(self.next)?;
            self.next += 1;
            let (kind, key) = OpKind::untag(event.data.u64());
            let flags = event.flags;
            match kind {
                Some(OpKind::WakeFd) => return Some(Event::Wake),
                Some(OpKind::Conn) => {
                    let output = flags.intersects(epoll::EventFlags::OUT | ENDED);
                    if flags.intersects(INPUT | ENDED) {
                        if output {
                            self.writable = Some(key);
                        }
                        return Some(Event::Readable(key));
                    }
                    if output {
                        return Some(Event::Writable(key));
                    }
                }
                _ if OpKind::untag_watch(event.data.u64()).is_some() => return Some(Event::Watched(key)),
                _ => (),
            }
        }
    }
}
