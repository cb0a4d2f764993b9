//! Streams: sending, ending and resetting, as TCP and Unix sockets of Linux do.
//!
//! - Data that arrived before a reset can still be read; then the error is reported, once, to whoever asks first: a receive
//!   or a send. Afterwards receives are at their end and sends fail with EPIPE.
//! - A reset that follows the peer's orderly end is EPIPE for senders and nothing for receivers.
//! - TCP: data for a socket that has shut both directions is answered with a reset, and so are bytes sent to a closed socket.
//!   Closing with unread data, or with SO_LINGER 0, resets the connection and discards what is unsent.
//! - Unix: closing with unread data is ECONNRESET for the peer; sending to a closed socket is EPIPE.

use super::clock::nanos;
use super::machine::{Event, State};
use super::pipe::End;
use super::random::sum;
use super::ring_state::{Request, What, part};
use super::settings::Direction;
use super::socket::{self, Socket};
use crate::{driver::user_data::OpKind, slab::Key};
use std::{io, slice};

impl Socket {
    fn write_error(&mut self) -> Option<i32> {
        if self.errno != 0 && !self.is_unix {
            return Some(std::mem::take(&mut self.errno));
        }
        (self.reset || self.write_shut || self.state != socket::State::Connected).then_some(libc::EPIPE)
    }

    fn is_readable(&self) -> bool {
        let waiting = !self.waiting.is_empty() || !self.datagrams.is_empty() || self.inbound.unread > 0;
        waiting || self.inbound.end == End::Arrived || self.errno != 0 || self.reset || self.read_shut
    }
}

impl State {
    /// The direction towards a socket, and the one back.
    pub(crate) fn directions(&mut self, receiver: Key) -> (Direction, Direction) {
        let none = Direction { latency: std::time::Duration::ZERO, ..Direction::default() };
        match self.sockets.get(receiver) {
            Some(socket) if !socket.is_unix => {
                let link = self.links[socket.link].1;
                if socket.is_client { (link.to_client, link.to_server) } else { (link.to_server, link.to_client) }
            }
            _ => (none, none),
        }
    }

    /// Time for one packet towards a socket.
    pub fn delay_to(&mut self, receiver: Key) -> u64 {
        let (there, _) = self.directions(receiver);
        nanos(there.latency) + self.jitter(nanos(there.jitter))
    }

    pub fn delay_from(&mut self, receiver: Key) -> u64 {
        let (_, back) = self.directions(receiver);
        nanos(back.latency)
    }

    /// Executes one request as far as possible; returns whether it has ended and must be removed.
    pub fn act(&mut self, socket: Key, nth: usize, at: u64) -> bool {
        let Some(of) = self.sockets.get(socket) else { return true };
        let Request { ring, kind, key, ref what, .. } = of.requests[nth];
        let result = match *what {
            What::Connect => return false,
            What::Poll => {
                let output = kind == OpKind::WatchOutput;
                let ready = if output { self.is_writable(socket, at) } else { of.is_readable() };
                ready.then_some(1)
            }
            _ if self.random.happens(self.settings.faults.interrupted) => Some(self.interrupted(socket, nth)),
            What::Receive => self.receive(socket, (ring, key), at),
            What::Send { .. } => self.send(socket, nth, at),
        };
        if let Some(result) = result {
            self.post(ring, kind, key, result, 0, at);
        }
        result.is_some()
    }

    fn interrupted(&mut self, socket: Key, nth: usize) -> i32 {
        let done = match self.sockets.get(socket).map(|of| &of.requests[nth].what) {
            Some(What::Send { done, .. }) => *done,
            _ => 0,
        };
        part(done, libc::EINTR)
    }

    fn is_writable(&mut self, socket: Key, at: u64) -> bool {
        let Some(of) = self.sockets.get(socket) else { return true };
        let (peer, waits) = (of.peer, of.state == socket::State::Connecting);
        if waits || of.errno != 0 || of.reset || of.write_shut {
            return !waits;
        }
        let Some(peer) = self.sockets.get(peer) else { return true };
        peer.inbound.space(at) > 0 || {
            self.schedule_space(socket);
            false
        }
    }

    fn send(&mut self, socket: Key, nth: usize, at: u64) -> Option<i32> {
        let of = self.sockets.get(socket)?;
        let What::Send { from, len, done, sum: before } = of.requests[nth].what else { return None };
        let number = of.number;
        // SAFETY: the runtime keeps the bytes until the last completion.
        let bytes = unsafe { slice::from_raw_parts(from.as_ptr().add(done), len - done) };
        if sum(bytes) != before {
            self.report(format!("the bytes of a send on socket {number} have changed under the kernel"));
        }
        let (count, short) = match self.put(socket, (bytes, before), at) {
            Ok(Some(put)) => put,
            Ok(None) => {
                self.schedule_space(socket);
                return None;
            }
            Err(errno) => return Some(part(done, errno)),
        };
        if short || done + count == len {
            return Some((done + count) as i32);
        }
        self.schedule_space(socket);
        let what = What::Send { from, len, done: done + count, sum: sum(&bytes[count..]) };
        self.sockets.get(socket)?.requests[nth].what = what;
        None
    }

    /// A send outside the ring, which does not wait.
    pub fn send_now(&mut self, socket: Key, bytes: &[u8], at: u64) -> io::Result<usize> {
        let errno = if self.random.happens(self.settings.faults.interrupted) {
            libc::EINTR
        } else {
            match self.put(socket, (bytes, sum(bytes)), at) {
                Ok(Some((count, _))) => return Ok(count),
                Ok(None) => libc::EAGAIN,
                Err(errno) => errno,
            }
        };
        Err(io::Error::from_raw_os_error(errno))
    }

    /// Puts bytes, of which the sum is known, on their way: how many, and whether they are fewer than there was room for by a
    /// fault; `None` without room.
    fn put(&mut self, socket: Key, (bytes, sum): (&[u8], u64), at: u64) -> Result<Option<(usize, bool)>, i32> {
        let of = self.sockets.get(socket).ok_or(libc::EBADF)?;
        if let Some(errno) = of.write_error() {
            return Err(errno);
        }
        let (peer, number, is_unix) = (of.peer, of.number, of.is_unix);
        if self.random.happens(self.settings.faults.no_buffers) {
            return Err(libc::ENOBUFS);
        }
        let Some(to) = self.sockets.get(peer) else {
            if is_unix {
                return Err(libc::EPIPE);
            }
            // Closed: TCP finds out when the bytes arrive there.
            let back = self.delay_from(socket) + self.delay_to(socket);
            self.schedule(at + back, Event::Reset { to: socket });
            return Ok(Some((bytes.len(), false)));
        };
        if is_unix && to.read_shut {
            return Err(libc::EPIPE);
        }
        let mut count = to.inbound.space(at).min(bytes.len());
        if count == 0 {
            return Ok(None);
        }
        let short = self.random.happens(self.settings.faults.short_write);
        if short {
            count = 1 + self.random.below(count as u64) as usize;
        }
        to.inbound.push(&bytes[..count]);
        self.trace.note(at, "send", number, count as i64);
        self.trace.note_sum(sum);
        self.pump(peer, at);
        Ok(Some((count, short)))
    }

    /// Lets the socket's send go on at the next acknowledgement.
    fn schedule_space(&mut self, socket: Key) {
        let Some(peer) = self.sockets.get(socket).map(|of| of.peer) else { return };
        if let Some(to) = self.sockets.get(peer)
            && !to.inbound.space_scheduled
            && let Some(when) = to.inbound.next_ack()
        {
            to.inbound.space_scheduled = true;
            self.schedule(when, Event::Space { from: socket });
        }
    }

    pub(super) fn pump_later(&mut self, to: Key) {
        if let Some(socket) = self.sockets.get(to)
            && !socket.inbound.pump_scheduled
            && let Some(when) = socket.inbound.next_credit()
        {
            socket.inbound.pump_scheduled = true;
            self.schedule(when, Event::Pump { to });
        }
    }

    /// Puts what the window allows on its way to a socket, and the end after the last byte.
    pub fn pump(&mut self, to: Key, at: u64) {
        let ((there, back), jittered) = (self.directions(to), self.delay_to(to));
        let Some(socket) = self.sockets.get(to) else { return };
        let (pipe, from) = (&mut socket.inbound, socket.peer);
        let len = pipe.take_sendable(at);
        let mut arrival = (at + jittered).max(pipe.last_arrival);
        if len > 0 {
            if let Some(rate) = there.bytes_per_second {
                pipe.link_free = pipe.link_free.max(at) + (len as u64).saturating_mul(1_000_000_000) / rate.max(1);
                arrival = arrival.max(pipe.link_free + jittered);
            }
            pipe.last_arrival = arrival;
            pipe.acknowledge(arrival + nanos(back.latency), len);
        }
        let ends = pipe.unsent == 0 && pipe.end == End::Queued;
        if ends {
            pipe.end = End::Sent;
            pipe.last_arrival = arrival;
        }
        let blocked = pipe.unsent > 0;
        if len > 0 {
            self.schedule(arrival, Event::Arrive { from, to, len: len as u32 });
        }
        if ends {
            self.schedule(arrival, Event::Fin { to });
        }
        if blocked {
            self.pump_later(to);
        }
        // The acknowledgement of these bytes is the first that a waiting send can hear of.
        if len > 0 && self.sockets.get(from).is_some_and(|socket| socket.requests.iter().any(waits_for_output)) {
            self.schedule_space(from);
        }
    }

    pub fn arrive(&mut self, from: Key, to: Key, len: usize, at: u64) {
        let Some(socket) = self.sockets.get(to) else {
            let back = self.delay_to(from);
            return self.schedule(at + back, Event::Reset { to: from });
        };
        if socket.reset {
            return;
        }
        let number = socket.number;
        self.trace.note(at, "arrive", number, len as i64);
        if socket.read_shut && socket.write_shut && !socket.is_unix {
            let back = self.delay_to(from);
            self.reset(to, at);
            return self.schedule(at + back, Event::Reset { to: from });
        }
        socket.inbound.arrive(len);
        if self.random.happens(self.settings.faults.reset) {
            self.reset(to, at);
            return self.reset(from, at);
        }
        self.notify(to, true, at);
    }

    pub fn fin(&mut self, to: Key, at: u64) {
        let Some(socket) = self.sockets.get(to).filter(|socket| !socket.reset) else { return };
        socket.inbound.end = End::Arrived;
        let number = socket.number;
        self.trace.note(at, "end", number, 0);
        self.notify(to, true, at);
    }

    /// A reset arrives.
    pub fn reset(&mut self, to: Key, at: u64) {
        let connected = |socket: &&mut Socket| !socket.reset && socket.state == socket::State::Connected;
        let Some(socket) = self.sockets.get(to).filter(connected) else { return };
        socket.errno = if socket.inbound.end == End::Arrived { libc::EPIPE } else { libc::ECONNRESET };
        socket.reset = true;
        socket.inbound.cut();
        let number = socket.number;
        self.trace.note(at, "reset", number, 0);
        self.notify_now(to, [true, true], at);
    }

    /// The sender ends its direction towards `to`, after what is unsent.
    fn end(&mut self, to: Key, at: u64) {
        if let Some(peer) = self.sockets.get(to)
            && peer.inbound.end == End::Open
        {
            peer.inbound.end = End::Queued;
            self.pump(to, at);
        }
    }

    /// `shutdown(2)`; returns an errno.
    pub fn shut(&mut self, socket: Key, [read, write]: [bool; 2], at: u64) -> i32 {
        let Some(of) = self.sockets.get(socket) else { return libc::EBADF };
        if of.state != socket::State::Connected || of.reset {
            return libc::ENOTCONN;
        }
        of.read_shut |= read;
        of.write_shut |= write;
        let (peer, number) = (of.peer, of.number);
        self.trace.note(at, "shutdown", number, i64::from(read) + 2 * i64::from(write));
        if write {
            self.end(peer, at);
        }
        self.notify_now(socket, [read, write], at);
        0
    }

    /// The last descriptor of a stream is closed.
    pub fn close_stream(&mut self, socket: Key, linger_zero: bool, at: u64) {
        let Some(of) = self.sockets.remove(socket) else { return };
        let unread = of.inbound.unread > 0;
        if of.is_unix {
            if let Some(peer) = self.sockets.get(of.peer) {
                peer.write_shut = true;
                if unread {
                    peer.errno = libc::ECONNRESET;
                }
                self.notify_now(of.peer, [true, true], at);
            }
            return self.end(of.peer, at);
        }
        if of.reset || of.state != socket::State::Connected {
            return;
        }
        let delay = self.delay_to(of.peer);
        if unread || linger_zero {
            let Some(peer) = self.sockets.get(of.peer) else { return };
            let discarded = peer.inbound.unsent;
            peer.inbound.discard_unsent();
            let when = (at + delay).max(peer.inbound.last_arrival);
            self.trace.note(at, "abort", of.number, discarded as i64);
            return self.schedule(when, Event::Reset { to: of.peer });
        }
        self.end(of.peer, at);
        // What the window holds back meets a closed socket at the next probe.
        if of.inbound.unsent > 0 {
            self.schedule(at + 2 * delay, Event::Reset { to: of.peer });
        }
    }
}

fn waits_for_output(request: &Request) -> bool {
    matches!(request.kind, OpKind::Send | OpKind::WatchOutput)
}
