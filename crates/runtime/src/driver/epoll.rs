//! The epoll backend: level-triggered, interest kept between turns, for machines where io_uring is forbidden or too old.

use crate::{driver::Opened, driver::user_data::OpKind, metrics::Metrics, slab::Key};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

const INPUT: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);
const ENDED: epoll::EventFlags = epoll::EventFlags::HUP.union(epoll::EventFlags::ERR);
/// Events of one turn. What they deliver waits in buffers until the tasks run: with a thousand of them the buffers of a turn
/// outgrow the cache, and with long messages they run out. Whoever is left out is first in the kernel's list next time.
const EVENTS: usize = 64;
/// The kernel may end a wait late by a thousandth of it (select_estimate_accuracy in its fs/select.c): a longer one than this
/// ends early instead, and the worker waits for the rest.
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
    /// The kernel is older than epoll_pwait2 (Linux 5.11): timeouts are whole milliseconds, rounded up.
    coarse: bool,
    /// Receive buffers that are free.
    pub free_buffers: Vec<u16>,
    /// Large ones that are free, once they are in use.
    pub free_large: Vec<u16>,
    has_large: bool,
}

/// What epoll reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The descriptor can be read, or is at its end.
    Readable(Key),
    /// The descriptor can be written, or is at its end.
    Writable(Key),
    /// A listener has connections to accept.
    Acceptable(Key),
    /// Another thread rang.
    Wake,
    /// A descriptor of the user's can be read or written, or is at its end.
    Watched(Key),
}

/// What a descriptor is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interest {
    pub input: bool,
    pub output: bool,
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
            free_large: Vec::new(),
            has_large: false,
        })
    }

    /// True when waiting would return at once. A system call.
    pub fn has_work(&self) -> bool {
        let mut set = [PollFd::new(&self.fd, PollFlags::IN)];
        matches!(poll(&mut set, Some(&Timespec::default())), Ok(1..))
    }

    pub fn open_large(&mut self) -> Opened {
        if std::mem::replace(&mut self.has_large, true) { Opened::Before } else { Opened::Now }
    }

    /// Brings the watch on a descriptor from `registered` to `interest`; returns whether it is in the set afterwards.
    /// A descriptor without interest leaves the set, because end-of-file cannot be masked there.
    pub fn watch(
        &self,
        kind: OpKind,
        key: Key,
        fd: BorrowedFd<'_>,
        registered: bool,
        interest: Interest,
    ) -> io::Result<bool> {
        let mut flags = epoll::EventFlags::empty();
        flags.set(INPUT, interest.input);
        flags.set(epoll::EventFlags::OUT, interest.output);
        let data = epoll::EventData::new_u64(kind.tag(key));
        match (registered, !flags.is_empty()) {
            (false, true) => epoll::add(&self.fd, fd, data, flags)?,
            (true, true) => epoll::modify(&self.fd, fd, data, flags)?,
            (true, false) => epoll::delete(&self.fd, fd)?,
            (false, false) => (),
        }
        Ok(!flags.is_empty())
    }

    /// Watches a descriptor until the next event; after that it stays in the set and reports nothing.
    pub fn watch_once(
        &self,
        kind: OpKind,
        key: Key,
        fd: BorrowedFd<'_>,
        registered: bool,
        interest: Interest,
    ) -> io::Result<()> {
        let mut flags = epoll::EventFlags::ONESHOT;
        flags.set(INPUT, interest.input);
        flags.set(epoll::EventFlags::OUT, interest.output);
        let data = epoll::EventData::new_u64(kind.tag(key));
        let result = match registered {
            false => epoll::add(&self.fd, fd, data, flags),
            true => epoll::modify(&self.fd, fd, data, flags),
        };
        result.map_err(io::Error::from)
    }

    /// Takes a descriptor out of the set, if it still is what was put there.
    pub fn forget(&self, fd: Option<BorrowedFd<'_>>) {
        if let Some(fd) = fd {
            let _ = epoll::delete(&self.fd, fd);
        }
    }

    /// Waits for events: not at all for `Some(0)`, for ever for `None`.
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
        // SAFETY: the events have the layout of the kernel's, asserted above, and there is room for as many as announced.
        let count =
            unsafe { libc::epoll_wait(self.fd.as_raw_fd(), room.as_mut_ptr().cast(), room.len() as i32, millis) };
        if count >= 0 {
            // SAFETY: the kernel has filled that many.
            unsafe { self.events.set_len(count as usize) };
        } else if std::io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            panic!("epoll_wait failed: {}", std::io::Error::last_os_error());
        }
    }

    /// What the descriptor of the event just taken is ready for.
    #[cold]
    pub fn ready_for(&self) -> Interest {
        let flags = self.events.get(self.next - 1).map_or(ENDED, |event| event.flags);
        Interest { input: flags.intersects(INPUT | ENDED), output: flags.intersects(epoll::EventFlags::OUT | ENDED) }
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
                Some(OpKind::Accept) => return Some(Event::Acceptable(key)),
                Some(OpKind::WakeFd) => return Some(Event::Wake),
                Some(OpKind::Conn) => {
                    let (input, output) =
                        (flags.intersects(INPUT | ENDED), flags.intersects(epoll::EventFlags::OUT | ENDED));
                    match (input, output) {
                        (true, true) => {
                            self.writable = Some(key);
                            return Some(Event::Readable(key));
                        }
                        (true, false) => return Some(Event::Readable(key)),
                        (false, true) => return Some(Event::Writable(key)),
                        (false, false) => continue,
                    }
                }
                _ if OpKind::untag_watch(event.data.u64()).is_some() => return Some(Event::Watched(key)),
                _ => continue,
            }
        }
    }
}
