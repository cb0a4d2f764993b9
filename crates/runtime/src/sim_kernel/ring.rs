//! The rings of a world: requests in, completions out.
//!
//! Invariants:
//! - A request acts when the kernel would run it: as it is submitted, or in the worker's next call after an event made it
//!   ready. Until then data piles up in the socket.
//! - Each request posts one last completion, also when it is cancelled.

use super::completion::Completion;
use super::machine::State;
use super::ring_state::{Entry, Request, What, part};
use super::{clock::Clock, clock::nanos};
use crate::{driver::user_data::OpKind, slab::Key};
use io_uring::cqueue;
use std::os::fd::{AsRawFd, RawFd};
use std::{mem::MaybeUninit, ptr::NonNull, slice};

impl State {
    /// # Safety
    /// See `Uring::provide`.
    pub unsafe fn provide(&mut self, ring: usize, start: NonNull<u8>, buffer: u16) {
        let whole = self.settings.check_whole_buffers;
        // SAFETY: as demanded of the caller.
        let violation = unsafe { self.rings[ring].lent.provide(start, buffer, whole) };
        violation.into_iter().for_each(|violation| self.report(violation));
    }

    /// Takes the requests of a ring and executes what can be executed at once.
    pub fn submit(&mut self, ring: usize, clock: &Clock) {
        while let Some(entry) = self.rings[ring].queue.pop_front() {
            clock.spend(clock.call.get());
            self.rings[ring].submitted += 1;
            let at = clock.elapsed();
            match entry {
                Entry::Request(kind, key, fd, what) => self.start(ring, kind, key, fd, what, at),
                Entry::Connect(key, fd, to) => {
                    let socket = self.by_descriptor(fd).unwrap_or_else(|| {
                        let socket = self.open(Default::default());
                        self.describe(fd, socket, at);
                        socket
                    });
                    *self.rings[ring].slot(OpKind::Connect, key) = socket;
                    self.add_request(socket, ring, OpKind::Connect, key, What::Connect);
                    self.connect(socket, to, at);
                }
                Entry::Cancel(kind, key) => self.cancel(ring, kind, key, at),
            }
        }
    }

    fn add_request(&mut self, socket: Key, ring: usize, kind: OpKind, key: Key, what: What) -> usize {
        let Some(of) = self.sockets.get(socket) else { return 0 };
        let twice = of.requests.iter().any(|request| (request.ring, request.kind, request.key) == (ring, kind, key));
        of.requests.push(Request { ring, kind, key, what, ready: false });
        let nth = of.requests.len() - 1;
        if twice {
            self.report(format!("a second {kind:?} of {key:?} while the first one is open"));
        }
        nth
    }

    fn start(&mut self, ring: usize, kind: OpKind, key: Key, fd: RawFd, what: What, at: u64) {
        let Some(socket) = self.by_descriptor(fd) else {
            self.report(format!("{kind:?} names descriptor {fd}, which is no socket of this world"));
            return self.post(ring, kind, key, -libc::EOPNOTSUPP, 0, at);
        };
        if let What::Send { from, len, .. } = &what {
            self.rings[ring].lent.sends.push((key, from.as_ptr() as usize, *len));
        }
        *self.rings[ring].slot(kind, key) = socket;
        let nth = self.add_request(socket, ring, kind, key, what);
        if self.act(socket, nth, at) {
            self.remove_request(socket, nth);
        }
    }

    fn remove_request(&mut self, socket: Key, nth: usize) {
        if let Some(socket) = self.sockets.get(socket) {
            socket.requests.remove(nth);
        }
    }

    fn cancel(&mut self, ring: usize, kind: OpKind, key: Key, at: u64) {
        let real = self.rings[ring].real.iter().position(|poll| poll.kind == kind && poll.key == key);
        if let Some(nth) = real {
            self.rings[ring].real.remove(nth);
            return self.post(ring, kind, key, -libc::ECANCELED, 0, at);
        }
        let socket = *self.rings[ring].slot(kind, key);
        let is_it = |request: &Request| (request.ring, request.kind, request.key) == (ring, kind, key);
        let requests = self.sockets.get(socket).map(|socket| &socket.requests);
        let Some(nth) = requests.and_then(|requests| requests.iter().position(is_it)) else {
            return self.post(ring, OpKind::Cancel, key, -libc::ENOENT, 0, at);
        };
        let done = match self.sockets.get(socket).expect("found above").requests[nth].what {
            What::Send { done, .. } => done,
            _ => 0,
        };
        self.remove_request(socket, nth);
        self.post(ring, kind, key, part(done, libc::ECANCELED), 0, at);
    }

    pub fn post(&mut self, ring: usize, kind: OpKind, key: Key, result: i32, flags: u32, at: u64) {
        let state = &mut self.rings[ring];
        state.completions.push_back(Completion { data: kind.tag(key), result, flags });
        state.wake(at);
    }

    /// Requests of that socket may act now: those that wait for input, or for output.
    pub fn notify(&mut self, socket: Key, input: bool, at: u64) {
        if self.random.happens(self.settings.faults.delayed_completion) {
            let later = at + self.random.below(100_000);
            return self.schedule(later, super::machine::Event::Delayed { socket });
        }
        self.notify_now(socket, [input, !input], at);
    }

    pub fn notify_now(&mut self, socket: Key, [input, output]: [bool; 2], at: u64) {
        let Some(of) = self.sockets.get(socket) else { return };
        for request in &mut of.requests {
            let wants_output = matches!(request.kind, OpKind::Send | OpKind::WatchOutput);
            if (if wants_output { output } else { input }) && request.kind != OpKind::Connect && !request.ready {
                request.ready = true;
                let ring = &mut self.rings[request.ring];
                ring.ready.push_back(socket);
                ring.wake(at);
            }
        }
    }

    /// The call of a worker: its requests that can act do.
    pub fn deliver(&mut self, ring: usize, at: u64) {
        for _ in 0..self.rings[ring].ready.len() {
            if self.settings.faults.any_order {
                let other = self.random.below(self.rings[ring].ready.len() as u64) as usize;
                self.rings[ring].ready.swap(0, other);
            }
            let Some(socket) = self.rings[ring].ready.pop_front() else { return };
            let mut nth = 0;
            while let Some(of) = self.sockets.get(socket)
                && let Some(request) = of.requests.get_mut(nth)
            {
                let acts = request.ring == ring && std::mem::take(&mut request.ready);
                if acts && self.act(socket, nth, at) {
                    self.remove_request(socket, nth);
                } else {
                    nth += 1;
                }
            }
        }
    }

    /// What a turn of a worker costs this time.
    pub fn turn_cost(&mut self) -> u64 {
        let costs = self.settings.costs;
        let (turn, spread) = (nanos(costs.turn).max(1), costs.spread);
        let most = (turn as f64 * spread) as u64;
        turn + self.jitter(most)
    }

    pub fn take<'a>(
        &mut self,
        ring: usize,
        clock: &Clock,
        into: &'a mut [MaybeUninit<cqueue::Entry>],
    ) -> &'a [cqueue::Entry] {
        let count = into.len().min(self.rings[ring].completions.len());
        for slot in &mut into[..count] {
            let completion = self.rings[ring].completions.pop_front().expect("count is at most the length");
            self.taken(ring, &completion, clock.elapsed());
            slot.write(completion.into_entry());
        }
        clock.spend(nanos(self.settings.costs.completion) * count as u64);
        // SAFETY: the first `count` entries have just been written.
        unsafe { slice::from_raw_parts(into.as_ptr().cast(), count) }
    }

    /// Accounts a completion taken by the runtime: the last one returns the memory lent with the request.
    fn taken(&mut self, ring: usize, completion: &Completion, at: u64) {
        let kind = (completion.data >> 56) as u32;
        self.trace.note(at, "completion", kind, completion.result.into());
        let lent = &mut self.rings[ring].lent;
        if let Some(buffer) = cqueue::buffer_select(completion.flags)
            && !lent.give_back(buffer)
        {
            self.report(format!("buffer {buffer} is returned and was not provided"));
        } else if kind == OpKind::Send as u32 {
            lent.end_send(OpKind::untag(completion.data).1);
        }
    }

    /// Asks the real kernel about files that are not of this world; returns whether one is ready.
    pub fn poll_real(&mut self, ring: usize, at: u64) -> bool {
        let mut ended = Vec::new();
        self.rings[ring].real.retain(|poll| {
            let mut ask = libc::pollfd { fd: poll.file.as_raw_fd(), events: poll.events, revents: 0 };
            // SAFETY: one structure, which outlives the call.
            let ready = unsafe { libc::poll(&raw mut ask, 1, 0) } == 1;
            if ready {
                ended.push((poll.kind, poll.key));
            }
            !ready
        });
        let any = !ended.is_empty();
        ended.into_iter().for_each(|(kind, key)| self.post(ring, kind, key, 1, 0, at));
        any
    }
}
