//! Protocols of one request out, one checked reply in: [`Exchange`] is all that such a protocol implements.
//!
//! A connection lives as long as the target keeps it, or for a number of requests, and is then replaced. It owns no buffer: its request is borrowed from
//! the protocol, its reply is checked in the runtime's buffer.

use super::conversation::{self, Conversation, Step};
use super::trace::Trace;
use super::transport::Socket;
use super::worker::{Core, Protocol, Worker};
use super::{connect, scheduler::Action, wrong_reply};
use crate::measure::recorder::Failure;
use brunt_runtime::net::RecvBuf;
use std::{future::poll_fn, io, ops::Deref, rc::Rc, task::Context};

/// State of a reply after some of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Incomplete,
    /// The reply may report a failure, which leaves the connection open.
    Complete(Result<(), Failure>),
    /// Not a reply to the request: closes the connection.
    Wrong,
}

/// A protocol on one load thread: requests and the check of their replies. Every connection's poll may touch it.
pub trait Exchange: Sized + 'static {
    /// State of a connection: its current request and the check of its reply.
    type State: 'static;

    /// State of connection `number` of the run, before its first request. Kept when the connection is replaced.
    fn state(&self, number: u32) -> Self::State;

    fn next(&self, state: &mut Self::State);

    /// Length of the request in bytes, at least 1.
    fn request_len(&self, state: &Self::State) -> usize;

    fn request<'a>(&'a mut self, state: &'a Self::State) -> impl Deref<Target = [u8]> + 'a;

    /// Checks the next bytes of the reply, at least one.
    fn check(&self, state: &mut Self::State, bytes: &[u8]) -> Reply;

    /// Whether a part of the reply was received.
    fn has_begun(&self, state: &Self::State) -> bool;

    /// Whether the connection carries no request after the current one.
    #[inline(always)]
    fn is_last(&self, _state: &Self::State) -> bool {
        false
    }

    /// Turns `reply`, the buffer with the last bytes of the reply before, into the whole request; false if it cannot be.
    /// Saves a copy where requests equal replies.
    #[inline]
    fn reuse(&self, _state: &Self::State, _reply: &mut [u8]) -> bool {
        false
    }
}

impl<X: Exchange> Protocol for X {
    type Link = Socket;

    fn open(worker: &Worker<Self>, index: u32, trace: &mut impl Trace) -> impl Future<Output = io::Result<Socket>> {
        Socket::connect(worker, index, trace)
    }

    fn keep_open(worker: Rc<Worker<Self>>, index: u32, link: Option<Socket>) -> impl Future<Output = ()> + 'static {
        run(worker, index, link)
    }

    async fn once(worker: &Worker<Self>, index: u32, trace: impl Trace) -> io::Result<bool> {
        let mut session = Session::new(worker, index, trace);
        session.open();
        let mut socket = Socket::connect(worker, index, &mut session.trace).await?;
        Ok(conversation::finish(&mut session, worker, index, &mut socket).await)
    }
}

async fn run<X: Exchange>(worker: Rc<Worker<X>>, index: u32, mut next: Option<Socket>) {
    worker.set_waker(index).await;
    let mut failures = 0;
    let mut session = Session::new(&worker, index, ());
    loop {
        let mut stream = match next.take() {
            Some(stream) => stream,
            // Boxed: rarely needed, and a million tasks would each reserve space for it.
            None => match Box::pin(connect::again(&worker, index, &mut failures)).await {
                Some(stream) => stream,
                None => return,
            },
        };
        if !session.has_asked && !worker.has_place(index) {
            worker.retired();
            return worker.leave(index);
        }
        session.open();
        let end = poll_fn(|cx| conversation::poll(&mut session, &worker, index, &mut stream, cx)).await;
        if std::mem::take(&mut session.answered) {
            failures = 0;
        }
        drop(stream);
        match end {
            Some(failure) => {
                worker.closed(index, failure);
                session.reset();
            }
            None if worker.shared.is_closed() => {
                worker.retired();
                worker.core.borrow_mut().scheduler.suspend(index);
                return worker.give_up(index);
            }
            None if !worker.has_place(index) => {
                worker.retired();
                return worker.leave(index);
            }
            // As rarely as above, unless that is what is measured.
            None => next = Box::pin(session.replace()).await,
        }
    }
}

struct Session<'w, X: Exchange, T> {
    worker: &'w Worker<X>,
    index: u32,
    state: X::State,
    written: usize,
    busy: bool,
    answered: bool,
    /// Has asked for its next request, which it sends or waits for.
    has_asked: bool,
    trace: T,
}

impl<'w, X: Exchange, T: Trace> Session<'w, X, T> {
    fn new(worker: &'w Worker<X>, index: u32, trace: T) -> Self {
        let state = worker.core.borrow().protocol.state(worker.share.global(index as usize) as u32);
        Self { worker, index, state, written: 0, busy: false, answered: false, has_asked: false, trace }
    }

    /// Asks for a request on a new connection, unless that was done on the one before.
    fn open(&mut self) {
        self.written = 0;
        if std::mem::replace(&mut self.has_asked, true) {
            return;
        }
        let now = self.worker.clock.now();
        let core = &mut *self.worker.core.borrow_mut();
        if core.scheduler.request(self.index, now) == Action::Send {
            self.begin(core);
        }
    }

    /// Replaces a connection that has carried its last request. The time it takes belongs to the next request.
    async fn replace(&mut self) -> Option<Socket> {
        let worker = self.worker;
        worker.retired();
        let opened = connect::open(worker, self.index).await;
        if opened.is_err() {
            worker.core.borrow_mut().scheduler.lost(self.index, worker.clock.now(), Failure::Connect);
            self.reset();
        }
        opened.ok()
    }

    /// The request is lost with its connection.
    fn reset(&mut self) {
        (self.busy, self.has_asked) = (false, false);
    }

    #[inline(always)]
    fn begin(&mut self, core: &mut Core<X>) {
        core.protocol.next(&mut self.state);
        self.written = 0;
        self.busy = true;
        if T::KEEPS {
            self.trace.request(&core.protocol.request(&self.state));
        }
    }

    /// Sends the next request from the buffer of the last reply; false if it must be written instead.
    #[inline(always)]
    fn send_back(&mut self, core: &mut Core<X>, stream: &mut Socket, cx: &mut Context<'_>, mut reply: RecvBuf) -> bool {
        let len = reply.len();
        let sent = core.protocol.reuse(&self.state, &mut reply) && stream.poll_send_back(cx, reply);
        if sent {
            self.written = len;
            core.scheduler.recorder.bytes().sent += len as u64;
        }
        sent
    }
}

impl<X: Exchange, T: Trace> Conversation<X, Socket> for Session<'_, X, T> {
    /// `None`: the connection has carried its last request, or has no place.
    type End = Option<Failure>;
    type Trace = T;
    const CHECKS_IDLE_FIRST: bool = false;

    #[inline(always)]
    fn is_idle(&self) -> bool {
        !self.busy
    }

    #[inline(always)]
    fn has_capacity(&self) -> bool {
        !self.busy
    }

    #[inline(never)]
    fn take_assigned(&mut self, core: &mut Core<X>) {
        let scheduler = &mut core.scheduler;
        if scheduler.has_assigned(self.index)
            && scheduler.send_assigned(self.index, self.worker.clock.now()) == Action::Send
        {
            self.begin(core);
        }
    }

    #[inline(always)]
    fn has_unwritten(&self, core: &Core<X>) -> bool {
        self.written < core.protocol.request_len(&self.state)
    }

    #[inline(never)]
    fn write(&mut self, core: &mut Core<X>, stream: &mut Socket, cx: &mut Context<'_>) -> bool {
        let bytes = core.protocol.request(&self.state);
        let recorder = &mut core.scheduler.recorder;
        let is_open = conversation::write(&bytes, &mut self.written, stream, recorder, &mut self.trace, cx);
        if T::KEEPS && self.written == bytes.len() {
            self.trace.headless();
        }
        is_open
    }

    #[inline(always)]
    fn receive(
        &mut self,
        core: &mut Core<X>,
        stream: &mut Socket,
        cx: &mut Context<'_>,
        bytes: RecvBuf,
        now: u64,
    ) -> Step<Option<Failure>> {
        self.trace.body(&bytes);
        let reply = match core.protocol.check(&mut self.state, &bytes) {
            Reply::Incomplete => return Step::Receive,
            // A reply before the end of its request is wrong, even if it matches.
            Reply::Complete(reply) if self.written == core.protocol.request_len(&self.state) => reply,
            Reply::Complete(_) | Reply::Wrong => {
                wrong_reply::note_protocol(&self.worker.shared, "the bytes that were sent", &bytes);
                self.trace.failed(&"the reply is not what was sent");
                return Step::End(Some(Failure::Protocol));
            }
        };
        self.answered = true;
        self.trace.answered(reply.is_ok(), true, false);
        if !core.scheduler.record_reply(self.index, now, reply, None, |_| ()) {
            return Step::End(Some(Failure::Timeout));
        }
        let last = core.protocol.is_last(&self.state);
        match core.scheduler.next_request(self.index, now) {
            Action::Send => {
                self.begin(core);
                if last {
                    return Step::End(None);
                }
                match self.send_back(core, stream, cx, bytes) {
                    true => Step::Receive,
                    false => Step::Write,
                }
            }
            Action::Wait => {
                self.busy = false;
                if last { Step::End(None) } else { Step::Write }
            }
            Action::Close => {
                self.busy = false;
                Step::End(None)
            }
        }
    }

    #[cold]
    fn lost(&self, core: &mut Core<X>, failure: Failure) -> Option<Failure> {
        let is_between = self.answered && !core.protocol.has_begun(&self.state);
        Some(if failure == Failure::Reset && is_between { Failure::Closed } else { failure })
    }

    #[cold]
    fn end_of_stream(&mut self, core: &mut Core<X>, _: u64) -> Step<Option<Failure>> {
        let is_truncated = core.protocol.has_begun(&self.state);
        self.trace.failed(&conversation::CLOSED_EARLY);
        Step::End(if is_truncated { Some(Failure::Truncated) } else { self.lost(core, Failure::Reset) })
    }

    fn closed_idle() -> Option<Failure> {
        Some(Failure::Reset)
    }

    #[inline(always)]
    fn trace(&mut self) -> &mut T {
        &mut self.trace
    }
}
