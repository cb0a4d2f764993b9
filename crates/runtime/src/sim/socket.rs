//! A simulated connection: what its peer is going to do, and what has become of the bytes of both directions.
//!
//! The descriptor is a real one, so that closing it and shutting it down are real; no byte ever goes through it.

use super::script::Script;
use std::{
    collections::VecDeque,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

/// What a peer does, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerAct {
    /// Sends that many bytes.
    Send(u16),
    /// Waits until it has read that many more.
    Await(u16),
    /// Sends no more.
    Fin,
    /// Resets the connection; what it sent and we have not taken may be lost.
    Reset { purge: bool },
    /// Reads no more.
    Deaf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not connected or not accepted yet.
    Unborn,
    Open,
    /// The runtime has closed its descriptor.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Sock {
    pub stage: Stage,
    pub fd: RawFd,
    pub inode: u64,
    /// Keeps the far end open, so that a shutdown finds a connection.
    far: Option<OwnedFd>,
    acts: VecDeque<PeerAct>,
    /// Bytes the peer has sent, and how many of these were received into buffers.
    pub sent: usize,
    pub received: usize,
    /// All bytes that were sent to the peer.
    pub taken: Vec<u8>,
    /// How many of these it has not read, how many it lets stand unread, how many it has waited for.
    unread: usize,
    window: usize,
    awaited: usize,
    deaf: bool,
    /// The peer sends no more.
    pub fin: bool,
    /// An error nobody has been told yet; whether there ever was one; whether sending is over.
    pub errno: i32,
    pub failed: bool,
    pub broken: bool,
    /// The error went to a receive.
    pub reader_told: bool,
    /// Bytes that had been taken when our end was shut down.
    pub shut_at: Option<usize>,
    /// A connect to it is refused.
    pub refuses: bool,
    /// Or never answered.
    pub silent: bool,
    /// Every byte comes alone.
    pub crumbs: bool,
}

/// What a peer sends at a position.
pub(crate) fn byte(sock: usize, position: usize) -> u8 {
    ((position ^ (position >> 8)) as u8).wrapping_mul(31).wrapping_add((sock as u8).wrapping_mul(77))
}

impl Sock {
    pub fn new(acts: Vec<PeerAct>, window: usize, refuses: bool) -> Self {
        Self {
            stage: Stage::Unborn,
            fd: -1,
            inode: 0,
            far: None,
            acts: acts.into(),
            sent: 0,
            received: 0,
            taken: Vec::new(),
            unread: 0,
            window,
            awaited: 0,
            deaf: false,
            fin: false,
            errno: 0,
            failed: false,
            broken: false,
            reader_told: false,
            shut_at: None,
            refuses,
            silent: false,
            crumbs: false,
        }
    }

    /// Gives it a descriptor.
    pub fn open(&mut self, near: RawFd, far: Option<OwnedFd>) {
        (self.fd, self.inode, self.far) = (near, inode(near).expect("it was just opened"), far);
        self.stage = Stage::Open;
    }

    /// Notes whether the descriptor is still the same, and whether it was shut down.
    pub fn look(&mut self) {
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
        self.room() > 0 || self.errno != 0 || self.broken
    }

    pub fn room(&self) -> usize {
        self.window - self.unread
    }

    /// The error, which is told once; 0 if there is none. Afterwards reading is at its end and writing impossible.
    pub fn take_errno(&mut self) -> i32 {
        if self.errno != 0 {
            (self.fin, self.broken) = (true, true);
        }
        std::mem::take(&mut self.errno)
    }

    /// Bytes on their way to the peer.
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
        self.unread > 0 && !self.deaf
    }

    pub fn peer_can_act(&self) -> bool {
        self.stage == Stage::Open && (self.may_read() || self.may_go_on())
    }

    /// The peer reads, or does what is next.
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
            Some(PeerAct::Deaf) => self.deaf = true,
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

/// Which file stands behind a descriptor; nothing if it is not open.
pub(crate) fn inode(fd: RawFd) -> Option<u64> {
    // SAFETY: all bytes of the structure may be zero.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives through the call, and a descriptor that is not open is an error.
    (unsafe { libc::fstat(fd, &raw mut stat) } == 0).then_some(stat.st_ino)
}

/// A connected pair: one end for the runtime, one that only keeps the connection alive.
pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    (near.into(), far.into())
}

/// Whether a descriptor is ready for that, or at its end.
pub(crate) fn is_ready(fd: RawFd, events: i16) -> bool {
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
}
