//! Simulated connections: the plan of each peer, and the progress of both directions.
//!
//! The descriptors are real, so closing and shutting down are real; no byte passes through it.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::{cell::RefCell, collections::VecDeque, fmt, ptr::NonNull, vec};

/// A step of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerAct {
    /// Sends that many bytes.
    Send(u16),
    /// Waits until it has read that many more bytes.
    Await(u16),
    /// Sends no more.
    Fin,
    /// Resets the connection; with `purge`, bytes not yet received are lost.
    Reset { purge: bool },
    /// Stops reading.
    StopReading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    /// Not connected or accepted yet.
    #[default]
    NotOpen,
    Open,
    /// The runtime has closed its descriptor.
    Closed,
}

#[derive(Debug, Default)]
pub(crate) struct Sock {
    pub stage: Stage,
    pub fd: RawFd,
    pub inode: u64,
    /// Keeps the far end open, so that a shutdown finds a connection.
    pub far: Option<OwnedFd>,
    pub acts: VecDeque<PeerAct>,
    /// Bytes the peer has sent, and how many of them were received into buffers.
    pub sent: usize,
    pub received: usize,
    /// All bytes sent to the peer.
    pub taken: Vec<u8>,
    /// How many of them it has not read, the most it leaves unread, and how many it has waited for.
    pub unread: usize,
    pub window: usize,
    pub awaited: usize,
    pub stopped_reading: bool,
    /// The peer sends no more.
    pub fin: bool,
    /// A pending error; whether there ever was one; whether sending is impossible.
    pub errno: i32,
    pub failed: bool,
    pub broken: bool,
    /// A receive returned the error.
    pub reader_told: bool,
    /// Bytes taken when the near end was shut down.
    pub shut_at: Option<usize>,
    /// Refuses connects.
    pub refuses: bool,
    /// Never answers connects.
    pub silent: bool,
    /// Delivers bytes one at a time.
    pub single_bytes: bool,
}

/// The byte a peer sends at a position.
pub(crate) fn byte(sock: usize, position: usize) -> u8 {
    ((position ^ (position >> 8)) as u8).wrapping_mul(31).wrapping_add((sock as u8).wrapping_mul(77))
}

impl Sock {
    pub fn open(&mut self, near: RawFd, far: Option<OwnedFd>) {
        (self.fd, self.inode, self.far) = (near, inode(near).expect("it was just opened"), far);
        self.stage = Stage::Open;
    }

    /// Updates whether the descriptor was closed or shut down.
    pub fn update(&mut self) {
        if self.stage == Stage::Open && inode(self.fd) != Some(self.inode) {
            (self.stage, self.far) = (Stage::Closed, None);
        }
        if self.shut_at.is_none() && self.far.as_ref().is_some_and(|far| is_ready(far.as_raw_fd(), libc::POLLRDHUP)) {
            self.shut_at = Some(self.taken.len());
        }
    }

    pub fn waiting(&self) -> usize {
        self.sent - self.received
    }

    pub fn is_readable(&self) -> bool {
        self.waiting() > 0 || self.errno != 0 || self.fin
    }

    pub fn is_writable(&self) -> bool {
        self.window_left() > 0 || self.errno != 0 || self.broken
    }

    pub fn window_left(&self) -> usize {
        self.window - self.unread
    }

    /// Takes the pending error, 0 if none. Afterwards reading is at its end and writing impossible.
    pub fn take_errno(&mut self) -> i32 {
        if self.errno != 0 {
            (self.fin, self.broken) = (true, true);
        }
        std::mem::take(&mut self.errno)
    }

    /// Sends bytes to the peer.
    pub fn take(&mut self, bytes: &[u8]) {
        self.taken.extend_from_slice(bytes);
        self.unread += bytes.len();
    }

    fn may_go_on(&self) -> bool {
        match self.acts.front() {
            Some(PeerAct::Await(bytes)) => self.taken.len() - self.unread >= self.awaited + usize::from(*bytes),
            act => act.is_some(),
        }
    }

    fn may_read(&self) -> bool {
        self.unread > 0 && !self.stopped_reading
    }

    pub fn peer_can_act(&self) -> bool {
        self.stage == Stage::Open && (self.may_read() || self.may_go_on())
    }

    /// The peer reads or performs its next step.
    pub fn peer_acts(&mut self, script: &mut Script) {
        if self.may_read() && !(self.may_go_on() && script.pick(2) == 1) {
            let all = self.unread;
            self.unread -= if script.pick(3) == 2 { 1 + script.pick(all.min(200)) } else { all };
            return;
        }
        match self.acts.pop_front() {
            Some(PeerAct::Send(bytes)) if !self.fin && !self.failed => self.sent += usize::from(bytes),
            Some(PeerAct::Await(bytes)) => self.awaited += usize::from(bytes),
            Some(PeerAct::Fin) => self.fin = true,
            Some(PeerAct::StopReading) => self.stopped_reading = true,
            Some(PeerAct::Reset { purge }) if !self.failed => {
                (self.failed, self.errno) = (true, libc::ECONNRESET);
                if purge {
                    self.sent = self.received;
                }
            }
            Some(PeerAct::Send(_) | PeerAct::Reset { .. }) | None => (),
        }
    }
}

/// Fills a buffer while the kernel has it, to detect writes.
pub(crate) const POISON: u8 = 0xd5;

/// The state of a simulated kernel: connections, memory lent to it, and violations found.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub script: Script,
    pub socks: Vec<Sock>,
    /// The address of the listener, if there is one.
    pub listener: Option<SocketAddr>,
    /// Connections that are to come, in this order, and those that have come and were not accepted yet, with their far ends.
    pub backlog: VecDeque<usize>,
    pub arrived: VecDeque<(usize, OwnedFd)>,
    /// Receive buffers in the kernel's ring, next first.
    pub lent: VecDeque<(u16, NonNull<u8>)>,
    /// A completion of the wake descriptor was posted and not yet taken.
    pub wake_posted: bool,
    pub violations: RefCell<Vec<String>>,
}

impl Net {
    pub fn report(&self, violation: String) {
        self.violations.borrow_mut().push(violation);
    }

    pub fn may_arrive(&self) -> bool {
        self.listener.is_some() && !self.backlog.is_empty()
    }

    /// A peer connects to the listener, if that is not closed.
    pub fn arrive(&mut self) {
        let (Some(address), Some(sock)) = (&self.listener, self.backlog.pop_front()) else { return };
        match UnixStream::connect_addr(address) {
            Ok(far) => self.arrived.push_back((sock, far.into())),
            Err(_) => self.listener = None,
        }
    }
}

/// The choices of a simulated kernel, made in advance so that a failing case can be replayed and shrunk.
///
/// Zero is always the mildest choice, also after the last byte: the shortest failing script shows the event that matters.
#[derive(Clone, Default)]
pub(crate) struct Script(vec::IntoIter<u8>);

impl Script {
    pub fn new(choices: Vec<u8>) -> Self {
        Self(choices.into_iter())
    }

    fn choice(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    /// A number below `among`; 0 without consuming a choice if there is no alternative.
    pub fn pick(&mut self, among: usize) -> usize {
        if among < 2 { 0 } else { usize::from(self.choice()) % among }
    }

    /// True once in `one_in` values.
    pub fn rarely(&mut self, one_in: u8) -> bool {
        self.choice() % one_in == one_in - 1
    }
}

/// On one line, without trailing zeros, which have no effect.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.as_slice().iter().rposition(|choice| *choice != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.0.as_slice()[..len])
    }
}

/// The inode of a descriptor; `None` if it is not open.
pub(crate) fn inode(fd: RawFd) -> Option<u64> {
    // SAFETY: an all-zero `stat` is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call; a closed descriptor is an error.
    (unsafe { libc::fstat(fd, &raw mut stat) } == 0).then_some(stat.st_ino)
}

/// A listener with a name that the kernel chooses.
pub(crate) fn listener() -> UnixListener {
    UnixListener::bind_addr(&SocketAddr::from_pathname("").unwrap()).unwrap()
}

/// A connected pair: one end for the runtime, the other keeps the connection alive.
pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
    let (near, far) = UnixStream::pair().unwrap();
    (near.into(), far.into())
}

/// Whether a descriptor is ready for `events` or at its end.
pub(crate) fn is_ready(fd: RawFd, events: i16) -> bool {
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one structure, which outlives the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
}
