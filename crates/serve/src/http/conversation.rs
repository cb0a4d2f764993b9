//! One connection's talk, without its socket: bytes in, bytes out, and what to wait for. Every server model drives this
//! same object, so they differ in I/O and in nothing else.
//!
//! ```text
//! input --> step --> out, and Action: Read more | Write, then step | Pause, then step | one of the ends
//! ```
//!
//! Answers are in the order of the requests, and the next request is not looked at before the answer to the last one is
//! complete. A request is answered when all of it has arrived: then each has exactly one answer, and a fault within its
//! body can still be told. Must never hold a buffer while it waits for a request.

use super::{
    action::{Action, LINGER, LINGER_REFUSED},
    message::Request,
    response_writer::{self, Progress, ResponseWriter},
    router::{Reply, Router},
    worker::Worker,
};
use brunt_wire::http1::{
    Body, Head, ParseError, Persistence, Response,
    server::{Connection, Event, Waiting},
};
use std::net::SocketAddr;

/// Bytes of answers after which those are written before more are made.
pub(crate) const MAX_BUFFERED: usize = 64 << 10;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addrs {
    pub peer: SocketAddr,
    pub local: SocketAddr,
}

/// Knows the addrs; asked only when somebody wants to know.
pub(crate) trait Endpoint {
    fn addrs(&self) -> Addrs;
}

/// See the module.
pub(crate) struct Conversation {
    reader: Connection,
    state: State,
}

/// All but the reader, from which heads borrow.
struct State {
    busy: Option<Box<Busy>>,
    addrs: Option<Box<Addrs>>,
    requests: u32,
    listener: u16,
    /// The connection ends with the request at hand.
    last: bool,
}

/// What most connections have nothing of.
enum Busy {
    Gathering(Gathering),
    ResponseWriter(ResponseWriter),
}

/// A request whose body is on its way.
struct Gathering {
    /// Its head, written anew.
    head: Vec<u8>,
    body: Vec<u8>,
    wanted: bool,
}

impl Conversation {
    pub fn new(listener: u16) -> Self {
        let state = State { busy: None, addrs: None, requests: 0, listener, last: false };
        Self { reader: Connection::default(), state }
    }

    /// Requests begun until now, modulo 2^32.
    #[inline]
    pub fn requests(&self) -> u32 {
        self.state.requests
    }

    /// What it waits for if it is to read.
    #[inline]
    pub fn waiting(&self) -> Waiting {
        self.reader.waiting()
    }

    /// Takes what it can of `input` and appends what there is to say to `out`.
    #[inline]
    pub fn step(&mut self, input: &mut &[u8], worker: &Worker, endpoint: &impl Endpoint, out: &mut Vec<u8>) -> Action {
        let Self { reader, state } = self;
        if state.busy.is_some()
            && let Some(next) = state.send_on(worker, out)
        {
            return next;
        }
        let router = worker.router();
        let listener = router.listener(state.listener);
        loop {
            let (before, begins) = (*input, reader.begins() && !worker.is_logging());
            if begins && let Some(status) = listener.answer_usual(input, worker, out) {
                state.requests = state.requests.wrapping_add(1);
                worker.counters.answered(state.listener, status);
                match input.is_empty() {
                    true => return Action::Read,
                    false if out.len() >= MAX_BUFFERED => return Action::Write,
                    false => continue,
                }
            }
            let Some(event) = reader.next(input, &worker.settings.limits) else { break };
            let next = match event {
                Event::Head(head) => {
                    state.requests = state.requests.wrapping_add(1);
                    if head.body == Body::Empty
                        && !worker.is_logging()
                        && let Some(constant) = listener.sole(&head)
                    {
                        constant.write(out, &head, worker);
                        if begins {
                            listener.answered(&head, &before[..before.len() - input.len()]);
                        }
                        worker.counters.answered(state.listener, constant.status);
                        if input.is_empty() && head.keeps_alive() && !worker.is_stopping() {
                            reader.skip_end();
                            if reader.waiting() == Waiting::Idle {
                                return Action::Read;
                            }
                        }
                        None
                    } else {
                        state.begin(&head, input.is_empty(), &router, worker, endpoint, out)
                    }
                }
                Event::End(after) => {
                    state.last |= after == Persistence::Close || worker.is_stopping();
                    match state.busy {
                        Some(_) => state.end(input.is_empty(), &router, worker, endpoint, out),
                        None if state.last => Some(close(input)),
                        None if out.len() >= MAX_BUFFERED && !input.is_empty() => Some(Action::Write),
                        None => None,
                    }
                }
                Event::Body(data) => state.gather(data, worker, out),
                Event::Trailers(_) => None,
                Event::Error(fault) => Some(state.refuse(fault, worker, out)),
            };
            if let Some(next) = next {
                return next;
            }
        }
        if state.last { Action::Close } else { Action::Read }
    }

    /// The client will send no more. Returns what is left to do, with what there is to say in `out`.
    pub fn eof(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Action {
        match self.reader.eof() {
            None => Action::Close,
            Some(fault) => {
                self.state.refuse(fault, worker, out);
                Action::Close
            }
        }
    }

    /// The client has taken too long over a head or a body: says so, if that is still possible.
    pub fn expire(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Action {
        self.reader.close();
        self.state.drop_gathered(worker);
        worker.late(out);
        worker.counters.answered(self.state.listener, 408);
        Action::Linger(LINGER)
    }

    /// The connection is gone; what was kept for it need not be counted any more.
    pub fn end(&mut self, worker: &Worker) {
        self.state.drop_gathered(worker);
    }
}

/// Bytes behind the last request mean that the client has not understood that it is the last.
fn close(rest: &[u8]) -> Action {
    if rest.is_empty() { Action::Close } else { Action::Linger(LINGER) }
}

impl State {
    /// Goes on with an answer. `None` when there is no more of it and the connection stays.
    #[cold]
    fn send_on(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Option<Action> {
        let Some(Busy::ResponseWriter(sending)) = self.busy.as_deref_mut() else { return None };
        match sending.go_on(&worker.stamp(), out) {
            Progress::Wait(next) => Some(next),
            Progress::Done(after) => {
                self.busy = None;
                self.last |= after == Persistence::Close;
                // The request has been read to its end: it had no body, or its end was what the answer began with.
                self.last.then_some(Action::Close)
            }
        }
    }

    /// A request begins that is not a constant's.
    #[inline(never)]
    fn begin(
        &mut self,
        head: &Head<'_>,
        alone: bool,
        router: &Router,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Action> {
        if head.body == Body::Empty {
            return self.answer(head, b"", router, worker, endpoint, out);
        }
        // RFC 9110, 10.1.1: not needed if the body is coming already.
        if head.expects_continue && alone {
            let _only_1_1_expects = Response::interim(out, head.meta(), 100, &[]);
        }
        let wanted = router.listener(self.listener).wants_body(head);
        self.busy = Some(Box::new(Busy::Gathering(Gathering { head: copy(head), body: Vec::new(), wanted })));
        None
    }

    fn gather(&mut self, data: &[u8], worker: &Worker, out: &mut Vec<u8>) -> Option<Action> {
        let Some(Busy::Gathering(gathering)) = self.busy.as_deref_mut() else { return None };
        if !gathering.wanted {
            return None;
        }
        if !worker.keep(data.len() as u64) {
            self.drop_gathered(worker);
            worker.full(out);
            worker.counters.answered(self.listener, 503);
            return Some(Action::Linger(LINGER));
        }
        gathering.body.extend_from_slice(data);
        None
    }

    /// The request at hand is complete.
    #[inline(never)]
    fn end(
        &mut self,
        alone: bool,
        router: &Router,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Action> {
        if let Some(Busy::Gathering(gathering)) = self.busy.take().map(|busy| *busy) {
            worker.release(gathering.body.len() as u64);
            // Read a second time instead of kept as a view: only requests with bodies pay for it.
            let (mut reader, mut bytes) = (Connection::default(), &gathering.head[..]);
            if let Some(Event::Head(head)) = reader.next(&mut bytes, &worker.settings.limits)
                && let Some(next) = self.answer(&head, &gathering.body, router, worker, endpoint, out)
            {
                return Some(next);
            }
        }
        if !self.last {
            return (out.len() >= MAX_BUFFERED && !alone).then_some(Action::Write);
        }
        Some(if alone { Action::Close } else { Action::Linger(LINGER) })
    }

    /// Answers a request that has arrived completely. `None` if the whole answer is in `out`.
    fn answer(
        &mut self,
        head: &Head<'_>,
        body: &[u8],
        router: &Router,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Action> {
        let route = match router.listener(self.listener).find(head) {
            Ok(route) => route,
            Err(missing) => {
                let answer = missing.answer();
                return self.give(answer, head, worker, endpoint, out);
            }
        };
        match &route.reply {
            Reply::Constant(constant) => {
                constant.write(out, head, worker);
                worker.counters.answered(self.listener, constant.status);
                self.log(head, constant.status, Some(constant.length), worker, endpoint);
                None
            }
            Reply::Handler { handler, time } => {
                let addrs = self.addrs(endpoint);
                let request = Request {
                    method: head.method_name,
                    path: head.path(),
                    query: head.query().unwrap_or_default(),
                    minor_version: u8::from(head.version == brunt_wire::http1::Version::Http11),
                    fields: head.fields,
                    body,
                    peer: addrs.peer,
                    local: addrs.local,
                };
                let answer = time.measure(|| handler.borrow_mut().answer(&request));
                self.give(answer, head, worker, endpoint, out)
            }
        }
    }

    fn give(
        &mut self,
        answer: super::message::Response,
        head: &Head<'_>,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Action> {
        let exchange = worker.exchange(head);
        if let Some(fault) = &answer.fault {
            worker.counters.made(*fault);
        }
        // What is no answer has no status.
        let status = response_writer::status(&answer);
        worker.counters.answered(self.listener, status);
        self.log(head, status, response_writer::length(&answer.body), worker, endpoint);
        if let Some(bytes) = response_writer::at_once(&answer) {
            let after = response_writer::whole(&answer, bytes, exchange, &worker.stamp(), out);
            self.last |= after == Persistence::Close;
            return None;
        }
        self.busy = Some(Box::new(Busy::ResponseWriter(ResponseWriter::new(answer, head.method, exchange))));
        self.send_on(worker, out)
    }

    #[cold]
    fn refuse(&mut self, fault: ParseError, worker: &Worker, out: &mut Vec<u8>) -> Action {
        self.drop_gathered(worker);
        self.busy = None;
        let _close = Response::error(out, &worker.stamp(), fault);
        worker.counters.refused(self.listener, fault.status());
        Action::Linger(if fault == ParseError::BodyTooLong { LINGER } else { LINGER_REFUSED })
    }

    fn drop_gathered(&mut self, worker: &Worker) {
        if let Some(Busy::Gathering(gathering)) = self.busy.as_deref() {
            worker.release(gathering.body.len() as u64);
            self.busy = None;
        }
    }

    fn addrs(&mut self, endpoint: &impl Endpoint) -> Addrs {
        **self.addrs.get_or_insert_with(|| Box::new(endpoint.addrs()))
    }

    fn log(&mut self, head: &Head<'_>, status: u16, length: Option<u64>, worker: &Worker, endpoint: &impl Endpoint) {
        if worker.is_logging() {
            worker.log(self.addrs(endpoint).peer, head, status, length);
        }
    }
}

/// The head, as short as it can be written and still mean the same.
fn copy(head: &Head<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(head.method_name.as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(head.target().as_bytes());
    bytes.extend_from_slice(if head.version == brunt_wire::http1::Version::Http11 {
        b" HTTP/1.1\r\n"
    } else {
        b" HTTP/1.0\r\n"
    });
    for field in head.fields {
        bytes.extend_from_slice(field.name.as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(field.value);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

#[cfg(test)]
mod tests;
