//! Execution of requests by the simulated kernel, with every outcome the real one may produce.

use super::net::{Net, POISON, byte, is_ready};
use crate::buffers::recv::BUFFER_SIZE;
use crate::sim_kernel::completion::{Completion, F_MORE, F_SOCK_NONEMPTY, buffer_flags};
use crate::{driver::user_data::OpKind, slab::Key};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::{collections::VecDeque, ptr::NonNull};

#[derive(Debug)]
pub(crate) enum What {
    Receive,
    /// Address and original value of the bytes, and how many were sent.
    Send {
        from: NonNull<u8>,
        copy: Vec<u8>,
        done: usize,
    },
    /// The address in the caller's memory, and its original value.
    Connect(*const u8, Vec<u8>),
    WakeFd(RawFd),
    /// Readiness of a real file.
    Poll(OwnedFd, i16),
    /// The completion of a cancel.
    Answer,
}

#[derive(Debug)]
pub(crate) struct Request {
    pub what: What,
    pub kind: OpKind,
    pub key: Key,
    pub sock: usize,
    pub cancelled: bool,
    /// Its last completion is in the outbox or posted.
    pub ended: bool,
    pub outbox: VecDeque<Completion>,
}

impl Request {
    pub fn new(what: What, kind: OpKind, key: Key, sock: usize) -> Self {
        Self { what, kind, key, sock, cancelled: false, ended: false, outbox: VecDeque::new() }
    }

    pub fn answer(key: Key, errno: i32) -> Self {
        let mut answer = Self::new(What::Answer, OpKind::Cancel, key, 0);
        answer.end(-errno, 0);
        answer
    }

    fn complete_more(&mut self, result: i32, flags: u32) {
        self.outbox.push_back(Completion { data: self.kind.tag(self.key), result, flags: flags | F_MORE });
    }

    fn end(&mut self, result: i32, flags: u32) {
        self.outbox.push_back(Completion { data: self.kind.tag(self.key), result, flags });
        self.ended = true;
    }

    pub fn can_act(&self, net: &Net) -> bool {
        if self.ended || self.cancelled {
            return !self.ended;
        }
        match &self.what {
            What::Receive => net.socks[self.sock].is_readable(),
            What::Send { .. } => net.socks[self.sock].is_writable(),
            What::Connect(..) => !net.socks[self.sock].silent,
            What::WakeFd(wake_fd) => !net.wake_posted && is_ready(*wake_fd, libc::POLLIN),
            What::Poll(file, events) => is_ready(file.as_raw_fd(), *events),
            What::Answer => false,
        }
    }

    pub fn act(&mut self, net: &mut Net) {
        match self.kind {
            OpKind::Receive => self.receive(net),
            OpKind::Send => self.send(net),
            OpKind::Connect => self.connect(net),
            OpKind::WatchInput | OpKind::WatchOutput if self.cancelled => self.end(-libc::ECANCELED, 0),
            OpKind::WatchInput | OpKind::WatchOutput => self.end(1, 0),
            _ => {
                net.wake_posted = true;
                if net.script.rarely(4) { self.end(1, 0) } else { self.complete_more(1, 0) }
            }
        }
    }

    /// Ends the request spuriously.
    pub fn disturb(&mut self, net: &mut Net) {
        match &self.what {
            What::Receive => self.end(-libc::EINTR, 0),
            What::Send { done, .. } => self.end(part(*done, libc::EINTR), 0),
            What::Connect(..) => {
                net.socks[self.sock].failed = true;
                self.end(-libc::ETIMEDOUT, 0);
            }
            What::WakeFd(_) => {
                net.wake_posted = true;
                self.end(1, 0);
            }
            // Spurious readiness.
            What::Poll(..) => self.end(1, 0),
            What::Answer => (),
        }
    }

    fn receive(&mut self, net: &mut Net) {
        let waiting = net.socks[self.sock].waiting();
        // A cancelled receive may still deliver data first.
        if self.cancelled && !(waiting > 0 && net.script.pick(3) == 1) {
            let attached = stray_buffer(net);
            return self.end(-libc::ECANCELED, attached);
        }
        if net.script.rarely(24) {
            return self.end(-libc::EINTR, 0);
        }
        // The kernel selects a buffer before it reads the socket.
        let Some(&(buffer, start)) = net.lent.front() else { return self.end(-libc::ENOBUFS, 0) };
        let sock = &mut net.socks[self.sock];
        if waiting == 0 {
            let errno = sock.take_errno();
            sock.reader_told |= errno != 0;
            let attached = stray_buffer(net);
            return self.end(-errno, attached);
        }
        let limit = if sock.single_bytes {
            1
        } else {
            [BUFFER_SIZE, 1, 100, 1 + net.script.pick(256) * 16][net.script.pick(4)]
        };
        net.lent.pop_front();
        let len = waiting.min(limit).min(BUFFER_SIZE);
        // SAFETY: the runtime has lent this buffer of that size to the kernel.
        let into = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), BUFFER_SIZE) };
        if into.iter().any(|byte| *byte != POISON) {
            net.report(format!("buffer {buffer} was written to while the kernel had it"));
        }
        let sock = &mut net.socks[self.sock];
        for slot in &mut into[..len] {
            *slot = byte(self.sock, sock.received);
            sock.received += 1;
        }
        let flags = buffer_flags(buffer) | if net.script.pick(2) == 1 { F_SOCK_NONEMPTY } else { 0 };
        if net.script.rarely(8) { self.end(len as i32, flags) } else { self.complete_more(len as i32, flags) }
    }

    fn send(&mut self, net: &mut Net) {
        let What::Send { from, copy, done } = &mut self.what else { return };
        // SAFETY: the runtime keeps the bytes until the last completion; this check tests it.
        let bytes = unsafe { std::slice::from_raw_parts(from.as_ptr(), copy.len()) };
        if bytes != *copy {
            net.report(format!("the bytes of send {:?} have changed under the kernel", self.key));
        }
        let sock = &mut net.socks[self.sock];
        let before = *done;
        if self.cancelled {
            return self.end(part(before, libc::ECANCELED), 0);
        }
        if sock.errno != 0 || sock.broken {
            let errno = match sock.take_errno() {
                0 => libc::EPIPE,
                errno => errno,
            };
            return self.end(part(before, errno), 0);
        }
        if net.script.rarely(16) {
            let errno = [libc::EINTR, libc::EAGAIN][net.script.pick(2)];
            return self.end(part(before, errno), 0);
        }
        let mut len = sock.window_left().min(copy.len() - before);
        if net.script.rarely(5) {
            len = 1 + net.script.pick(len);
        }
        sock.take(&copy[before..before + len]);
        *done += len;
        let (done, all) = (*done, copy.len());
        // Complete, or a short send.
        if done == all || net.script.rarely(4) {
            self.end(done as i32, 0);
        }
    }

    fn connect(&mut self, net: &mut Net) {
        let What::Connect(address, copy) = &self.what else { return };
        // SAFETY: the runtime keeps the address until the connect has ended; this check tests it.
        if unsafe { std::slice::from_raw_parts(*address, copy.len()) } != *copy {
            net.report("the address of a connect has changed under the kernel".to_owned());
        }
        let sock = &mut net.socks[self.sock];
        let result = match (self.cancelled, sock.refuses) {
            (true, _) => -libc::ECANCELED,
            (_, true) => -libc::ECONNREFUSED,
            _ => 0,
        };
        sock.failed |= result != 0;
        self.end(result, 0);
    }
}

/// The result of a request interrupted after `done` bytes.
fn part(done: usize, errno: i32) -> i32 {
    if done > 0 { done as i32 } else { -errno }
}

/// Sometimes attaches a buffer to a completion without data.
fn stray_buffer(net: &mut Net) -> u32 {
    if !net.script.rarely(4) {
        return 0;
    }
    net.lent.pop_front().map_or(0, |(buffer, _)| buffer_flags(buffer))
}
