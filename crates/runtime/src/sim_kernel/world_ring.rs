//! A ring of a world as the driver sees it: the methods of `Uring`.

use super::clock::nanos;
use super::machine::Machine;
use super::random::sum;
use super::ring_state::{RealPoll, RingState, What};
use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key};
use io_uring::cqueue;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::{mem::MaybeUninit, ptr::NonNull, rc::Rc, slice, time::Duration};

pub(crate) struct WorldRing {
    pub machine: Rc<Machine>,
    pub index: usize,
}

impl WorldRing {
    pub fn new(machine: Rc<Machine>) -> Self {
        let at = machine.clock.elapsed();
        let mut state = machine.state.borrow_mut();
        state.rings.push(RingState::new(at));
        let index = state.rings.len() - 1;
        drop(state);
        Self { machine, index }
    }

    fn with<T>(&self, f: impl FnOnce(&mut RingState) -> T) -> T {
        f(&mut self.machine.state.borrow_mut().rings[self.index])
    }

    pub fn in_flight(&self) -> u32 {
        self.with(|ring| ring.in_flight)
    }

    pub fn ring_fd(&self) -> Option<OwnedFd> {
        None
    }

    /// # Safety
    /// See `Uring::provide`.
    pub unsafe fn provide(&mut self, start: NonNull<u8>, buffer: u16) {
        // SAFETY: as demanded of the caller.
        unsafe { self.machine.state.borrow_mut().provide(self.index, start, buffer) };
    }

    pub fn receive(&mut self, key: Key, fd: RawFd) {
        self.with(|ring| ring.push(OpKind::Receive, key, fd, What::Receive));
    }

    /// # Safety
    /// See `Uring::send`.
    pub unsafe fn send(&mut self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32) {
        let len = len as usize;
        // SAFETY: the caller lends `len` bytes from here.
        let sum = sum(unsafe { slice::from_raw_parts(from.as_ptr(), len) });
        self.with(|ring| ring.push(OpKind::Send, key, fd, What::Send { from, len, done: 0, sum }));
    }

    /// # Safety
    /// See `Uring::connect`.
    pub unsafe fn connect(&mut self, key: Key, fd: RawFd, address: &socket2::SockAddr) {
        self.with(|ring| ring.push_connect(key, fd, address.as_socket()));
    }

    /// Readiness of a socket of the world, or of a real file, which is asked whenever nothing else can run.
    pub fn poll(&mut self, kind: OpKind, key: Key, fd: RawFd) {
        let mut state = self.machine.state.borrow_mut();
        if state.by_descriptor(fd).is_some() {
            return state.rings[self.index].push(kind, key, fd, What::Poll);
        }
        // SAFETY: the caller's descriptor is open through the call.
        let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
        let ring = &mut state.rings[self.index];
        ring.in_flight += 1;
        let events = if kind == OpKind::WatchInput { libc::POLLIN | libc::POLLRDHUP } else { libc::POLLOUT };
        match file {
            Ok(file) => ring.real.push(RealPoll { file, events, kind, key }),
            Err(error) => {
                let at = self.machine.clock.elapsed();
                state.post(self.index, kind, key, -error.raw_os_error().unwrap_or(libc::EBADF), 0, at);
            }
        }
    }

    pub fn cancel(&mut self, kind: OpKind, key: Key) {
        self.with(|ring| ring.push_cancel(kind, key));
    }

    /// Other threads do not exist: the mailbox is looked at whenever a worker has run.
    pub fn arm_wake_fd(&mut self, _: RawFd) {}

    pub fn has_work(&self) -> bool {
        self.with(|ring| ring.has_work())
    }

    pub fn has_queued(&self) -> bool {
        self.with(|ring| ring.has_queued())
    }

    /// Takes what is queued.
    pub fn flush(&mut self) {
        self.submit();
    }

    /// Takes what is queued before the worker sleeps.
    pub fn submit(&self) {
        self.machine.state.borrow_mut().submit(self.index, &self.machine.clock);
    }

    /// The call of a turn. With a timeout only while the runtime shuts down: then no other worker runs meanwhile.
    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        let clock = &self.machine.clock;
        let mut state = self.machine.state.borrow_mut();
        let cost = state.turn_cost();
        clock.spend(cost);
        state.submit(self.index, clock);
        state.deliver(self.index, clock.elapsed());
        metrics.enters += 1;
        metrics.submitted += std::mem::take(&mut state.rings[self.index].submitted);
        let end = clock.elapsed() + timeout.map_or(u64::MAX / 4, nanos);
        while !state.rings[self.index].has_work() && timeout != Some(Duration::ZERO) {
            match state.next_event() {
                Some(at) if at <= end => {
                    clock.set(at.max(clock.elapsed()));
                    state.happen();
                    state.deliver(self.index, clock.elapsed());
                }
                _ => return clock.set(if timeout.is_some() { end } else { clock.elapsed() }),
            }
        }
    }

    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        self.machine.state.borrow_mut().take(self.index, &self.machine.clock, into)
    }

    pub fn ended(&mut self) {
        self.with(|ring| ring.in_flight -= 1);
    }
}

impl Drop for WorldRing {
    fn drop(&mut self) {
        let mut state = self.machine.state.borrow_mut();
        let ring = &mut state.rings[self.index];
        ring.closed = true;
        if ring.in_flight != 0 {
            let message = format!("a ring was closed with {} requests in flight", ring.in_flight);
            return state.report(message);
        }
        let missing = ring.lent.missing();
        if missing != 0 {
            state.report(format!("{missing} buffers were taken by a runtime that ended and never lent again"));
        }
    }
}
