//! The simulated kernel: takes requests, executes them in an order chosen by the script, and posts completions. It tracks
//! everything lent to it and reports violations of the contract.

use super::net::{Net, POISON, Sock, Stage, inode};
use super::request::{Request, What};
use crate::buffers::recv::{BUFFER_SIZE, RING};
use crate::sim_kernel::completion::{Completion, F_MORE};
use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key};
use io_uring::cqueue;
use std::collections::{HashSet, VecDeque};
use std::os::fd::{BorrowedFd, RawFd};
use std::{mem::MaybeUninit, ptr::NonNull, task::Waker, thread, time::Duration};

/// A timeout of this length or more counts as infinite: no test waits for it.
const FOREVER: Duration = Duration::from_millis(500);

enum Entry {
    Request(Request),
    Cancel(OpKind, Key),
}

#[derive(Default)]
pub(crate) struct Kernel {
    pub net: Net,
    /// No event is possible, and `watcher` has been woken.
    pub idle: bool,
    pub watcher: Option<Waker>,
    /// Completes no request any more.
    pub dead: bool,
    queue: VecDeque<Entry>,
    requests: Vec<Request>,
    completions: VecDeque<Completion>,
    overflow: VecDeque<Completion>,
    /// Capacity of the completion queue.
    capacity: usize,
    /// Requests whose last completion has not been taken; `held` buffers and `sends` (key, address, length) likewise.
    pub open: Vec<(OpKind, Key)>,
    pub held: HashSet<u16>,
    pub sends: Vec<(Key, usize, usize)>,
    in_flight: u32,
    /// Calls so far: a worker that loops forever fails the test instead of hanging it.
    calls: u32,
}

impl Kernel {
    pub fn new(net: Net, capacity: usize) -> Self {
        Self { net, capacity, ..Self::default() }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// # Safety
    /// See `Uring::provide`.
    pub unsafe fn provide(&mut self, start: NonNull<u8>, buffer: u16) {
        if !self.held.insert(buffer) {
            self.net.report(format!("buffer {buffer} was provided twice"));
        }
        if self.net.lent.len() >= usize::from(RING) {
            self.net.report("more buffers were provided than the ring holds".to_owned());
        }
        self.check_apart(start.as_ptr() as usize, BUFFER_SIZE, "a provided buffer");
        // SAFETY: the caller lends a buffer of that size.
        unsafe { start.write_bytes(POISON, BUFFER_SIZE) };
        self.net.lent.push_back((buffer, start));
    }

    /// Memory of a send in flight must not be used for anything else.
    fn check_apart(&self, start: usize, len: usize, what: &str) {
        if let Some((key, ..)) = self.sends.iter().find(|(_, at, long)| start < at + long && *at < start + len) {
            self.net.report(format!("{what} is the memory of send {key:?}, which is in flight"));
        }
    }

    pub fn receive(&mut self, key: Key, fd: RawFd) {
        let sock = self.sock(fd);
        self.push(What::Receive, OpKind::Receive, key, sock);
    }

    /// # Safety
    /// See `Uring::send`.
    pub unsafe fn send(&mut self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32) {
        let len = len as usize;
        self.check_apart(from.as_ptr() as usize, len, "a part of what is sent");
        self.sends.push((key, from.as_ptr() as usize, len));
        // SAFETY: the caller lends `len` bytes from here.
        let copy = unsafe { std::slice::from_raw_parts(from.as_ptr(), len) }.to_vec();
        if copy.is_empty() {
            self.net.report(format!("send {key:?} of nothing"));
        }
        let sock = self.sock(fd);
        self.push(What::Send { from, copy, done: 0 }, OpKind::Send, key, sock);
    }

    /// The port number encodes the socket's index.
    ///
    /// # Safety
    /// See `Uring::connect`.
    pub unsafe fn connect(&mut self, key: Key, fd: RawFd, address: &socket2::SockAddr) {
        let sock = usize::from(address.as_socket().expect("an internet address").port()) - 1;
        self.net.socks[sock].open(fd, None);
        // SAFETY: the address has this length.
        let copy = unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.len() as usize) };
        self.push(What::Connect(address.as_ptr().cast(), copy.to_vec()), OpKind::Connect, key, sock);
    }

    /// Holds the file itself, as the real kernel does.
    pub fn poll(&mut self, kind: OpKind, key: Key, fd: RawFd) {
        // SAFETY: the caller's descriptor is open through the call.
        let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().unwrap();
        let events = if kind == OpKind::WatchInput { libc::POLLIN } else { libc::POLLOUT };
        self.push(What::Poll(file, events), kind, key, 0);
    }

    /// The system calls of a scripted ring are real ones.
    pub fn flush(&mut self) {
        self.submit();
    }

    pub fn arm_wake_fd(&mut self, fd: RawFd) {
        self.queue.push_back(Entry::Request(Request::new(What::WakeFd(fd), OpKind::WakeFd, Key::default(), 0)));
    }

    pub fn cancel(&mut self, kind: OpKind, key: Key) {
        self.queue.push_back(Entry::Cancel(kind, key));
    }

    fn push(&mut self, what: What, kind: OpKind, key: Key, sock: usize) {
        if self.open.contains(&(kind, key)) {
            self.net.report(format!("a second {kind:?} of {key:?} while the first one is open"));
        }
        self.open.push((kind, key));
        self.in_flight += 1;
        self.queue.push_back(Entry::Request(Request::new(what, kind, key, sock)));
    }

    /// The index of the socket behind a descriptor.
    fn sock(&mut self, fd: RawFd) -> usize {
        let inode = inode(fd);
        let open = |sock: &Sock| sock.stage == Stage::Open && sock.fd == fd && Some(sock.inode) == inode;
        let index = self.net.socks.iter().position(open);
        index.unwrap_or_else(|| panic!("a request for descriptor {fd}, which is not open"))
    }

    /// A closed descriptor must have no open request.
    fn check_descriptors(&mut self) {
        self.net.socks.iter_mut().for_each(Sock::update);
        let queued = self.queue.iter().filter_map(|entry| match entry {
            Entry::Request(request) => Some(request),
            Entry::Cancel(..) => None,
        });
        let of_socks = |request: &&Request| matches!(request.kind, OpKind::Receive | OpKind::Send | OpKind::Connect);
        for request in queued.chain(&self.requests).filter(of_socks) {
            if self.net.socks[request.sock].stage == Stage::Closed {
                self.net.report(format!("{:?} {:?} is open and its descriptor closed", request.kind, request.key));
            }
        }
    }

    /// Whether waiting would return at once.
    pub fn has_work(&self) -> bool {
        !self.completions.is_empty() || self.requests.iter().any(|request| request.can_act(&self.net))
    }

    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// One system call: takes requests, executes some, posts completions.
    pub fn wait(&mut self, timeout: Option<Duration>, _: &mut Metrics) {
        self.check_descriptors();
        if self.dead {
            return thread::sleep(timeout.unwrap_or_default().min(FOREVER));
        }
        let all = self.submit();
        while self.completions.len() < self.capacity
            && let Some(completion) = self.overflow.pop_front()
        {
            self.completions.push_back(completion);
        }
        // A kernel that could not take all requests does not wait.
        if timeout != Some(Duration::ZERO) && all {
            self.sleep(timeout);
        }
        for _ in 0..=self.net.script.pick(12) {
            self.step();
        }
        self.calls += 1;
        assert!(self.calls != 300_000, "the worker loops forever");
    }

    fn sleep(&mut self, timeout: Option<Duration>) {
        while self.completions.is_empty() {
            // A signal.
            if self.net.script.rarely(20) {
                return;
            }
            if self.step() {
                continue;
            }
            if let Some(left) = timeout.filter(|left| *left < FOREVER) {
                return thread::sleep(left);
            }
            let watcher = self.watcher.take().unwrap_or_else(|| panic!("the worker sleeps forever"));
            self.idle = true;
            // Wakes from another thread, so through the wake descriptor, which ends the sleep.
            thread::scope(|scope| drop(scope.spawn(|| watcher.wake())));
        }
    }

    /// Takes requests; returns whether it took all.
    fn submit(&mut self) -> bool {
        let mut count = self.queue.len();
        if self.net.script.rarely(8) {
            count = self.net.script.pick(count + 1);
        }
        for entry in self.queue.drain(..count).collect::<Vec<_>>() {
            match entry {
                Entry::Request(request) => self.requests.push(request),
                Entry::Cancel(kind, key) => self.cancel_now(kind, key),
            }
        }
        self.queue.is_empty()
    }

    fn cancel_now(&mut self, kind: OpKind, key: Key) {
        let Some(request) = self.requests.iter_mut().find(|r| r.kind == kind && r.key == key && !r.ended) else {
            return self.requests.push(Request::answer(key, libc::ENOENT));
        };
        request.cancelled = true;
        // The request is running and will end by itself.
        if self.net.script.rarely(6) {
            self.requests.push(Request::answer(key, libc::EALREADY));
        }
    }

    /// Executes one event; returns false if none is possible.
    fn step(&mut self) -> bool {
        enum Move {
            Post(usize),
            Act(usize),
            Peer(usize),
            Arrive,
        }
        let mut moves = Vec::new();
        for (index, request) in self.requests.iter().enumerate() {
            if !request.outbox.is_empty() {
                moves.push(Move::Post(index));
            }
            if request.can_act(&self.net) {
                moves.push(Move::Act(index));
            }
        }
        let peers = self.net.socks.iter().enumerate().filter(|(_, sock)| sock.peer_can_act());
        moves.extend(peers.map(|(index, _)| Move::Peer(index)));
        moves.extend(self.net.may_arrive().then_some(Move::Arrive));
        if moves.is_empty() {
            return false;
        }
        // Not while the test inspects the idle state.
        if !self.idle && self.net.script.rarely(40) && !self.requests.is_empty() {
            let index = self.net.script.pick(self.requests.len());
            if !self.requests[index].ended {
                self.requests[index].disturb(&mut self.net);
                return true;
            }
        }
        match moves.swap_remove(self.net.script.pick(moves.len())) {
            Move::Post(index) => self.post(index),
            Move::Act(index) => self.requests[index].act(&mut self.net),
            Move::Arrive => self.net.arrive(),
            Move::Peer(index) => {
                let Net { socks, script, .. } = &mut self.net;
                socks[index].peer_acts(script);
            }
        }
        true
    }

    fn post(&mut self, index: usize) {
        let full = self.completions.len() >= self.capacity;
        let request = &mut self.requests[index];
        let Some(mut completion) = request.outbox.pop_front() else { return };
        // A full queue may end a multishot request.
        if full && !request.ended && request.outbox.is_empty() && self.net.script.pick(2) == 1 {
            completion.flags &= !F_MORE;
            request.ended = true;
        }
        if request.ended && request.outbox.is_empty() {
            self.requests.remove(index);
        }
        if full || !self.overflow.is_empty() {
            self.overflow.push_back(completion);
        } else {
            self.completions.push_back(completion);
        }
    }

    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        let count = into.len().min(self.completions.len());
        for slot in &mut into[..count] {
            let completion = self.completions.pop_front().expect("count is at most the length");
            self.taken(&completion);
            slot.write(completion.into_entry());
        }
        // SAFETY: the first `count` entries have just been written.
        unsafe { std::slice::from_raw_parts(into.as_ptr().cast(), count) }
    }

    /// Accounts a completion taken by the runtime: the last one returns the memory lent with the request.
    fn taken(&mut self, completion: &Completion) {
        if let Some(buffer) = cqueue::buffer_select(completion.flags)
            && !self.held.remove(&buffer)
        {
            self.net.report(format!("buffer {buffer} is returned and was not provided"));
        }
        let watch = OpKind::untag_watch(completion.data);
        let of = |(kind, key): (Option<OpKind>, Key)| kind.map(|kind| (kind, key));
        let Some((kind, key)) = watch.or_else(|| of(OpKind::untag(completion.data))) else { return };
        if kind == OpKind::WakeFd {
            self.net.wake_posted = false;
        }
        if !cqueue::more(completion.flags) {
            self.open.retain(|open| *open != (kind, key));
            if kind == OpKind::Send {
                self.sends.retain(|(of, ..)| *of != key);
            }
        }
    }

    /// Whether a send of that socket waits only for its peer to read.
    pub fn waits_for_peer(&self, sock: usize) -> bool {
        let sends = |request: &&Request| request.kind == OpKind::Send && request.sock == sock;
        self.requests.iter().find(sends).is_some_and(|request| !request.ended && !request.can_act(&self.net))
    }

    /// Closes the ring; the runtime then frees what it has lent.
    pub fn close(&mut self) {
        if !self.dead && (!self.open.is_empty() || self.in_flight != 0) {
            self.net.report(format!("the ring was closed with {:?} open and {} in flight", self.open, self.in_flight));
        }
        self.net.socks.iter_mut().for_each(Sock::update);
    }
}
