//! One connection's talk, without its socket: bytes in, bytes out, and what to wait for. Every server model drives this
//! same object, so they differ in I/O and in nothing else.
//!
//! ```text
//! input --> step --> out, and Next: Read more | Write, then step | Pause, then step | one of the ends
//! ```
//!
//! Answers are in the order of the requests, and the next request is not looked at before the answer to the last one is
//! complete. A request is answered when all of it has arrived: then each has exactly one answer, and a fault within its
//! body can still be told. Must never hold a buffer while it waits for a request.

use super::{
    answer::Request,
    give::{self, Progress, Sending},
    next::{LINGER, LINGER_REFUSED, Next},
    site::{Reply, Site},
    worker::Worker,
};
use brunt_wire::http1::{
    After, Body, Fault, Head, Response,
    server::{Connection, Event, Waiting},
};
use std::net::SocketAddr;

/// Bytes of answers after which those are written before more are made.
pub(crate) const ENOUGH: usize = 64 << 10;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub peer: SocketAddr,
    pub local: SocketAddr,
}

/// Knows the ends; asked only when somebody wants to know.
pub(crate) trait Endpoint {
    fn ends(&self) -> Ends;
}

/// See the module.
pub(crate) struct Conversation {
    reader: Connection,
    state: State,
}

/// All but the reader, from which heads borrow.
struct State {
    busy: Option<Box<Busy>>,
    ends: Option<Box<Ends>>,
    requests: u32,
    listener: u16,
    /// The connection ends with the request at hand.
    last: bool,
}

/// What most connections have nothing of.
enum Busy {
    Gathering(Gathering),
    Sending(Sending),
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
        let state = State { busy: None, ends: None, requests: 0, listener, last: false };
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
    pub fn step(&mut self, input: &mut &[u8], worker: &Worker, endpoint: &impl Endpoint, out: &mut Vec<u8>) -> Next {
        let Self { reader, state } = self;
        if state.busy.is_some()
            && let Some(next) = state.send_on(worker, out)
        {
            return next;
        }
        let site = worker.site();
        let listener = site.listener(state.listener);
        loop {
            let (before, begins) = (*input, reader.begins() && !worker.is_logging());
            if begins && let Some(status) = listener.answer_usual(input, worker, out) {
                state.requests = state.requests.wrapping_add(1);
                worker.counters.answered(state.listener, status);
                match input.is_empty() {
                    true => return Next::Read,
                    false if out.len() >= ENOUGH => return Next::Write,
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
                            reader.pass_end();
                            if reader.waiting() == Waiting::Idle {
                                return Next::Read;
                            }
                        }
                        None
                    } else {
                        state.begin(&head, input.is_empty(), &site, worker, endpoint, out)
                    }
                }
                Event::End(after) => {
                    state.last |= after == After::Close || worker.is_stopping();
                    match state.busy {
                        Some(_) => state.end(input.is_empty(), &site, worker, endpoint, out),
                        None if state.last => Some(close(input)),
                        None if out.len() >= ENOUGH && !input.is_empty() => Some(Next::Write),
                        None => None,
                    }
                }
                Event::Body(data) => state.gather(data, worker, out),
                Event::Trailers(_) => None,
                Event::Fault(fault) => Some(state.refuse(fault, worker, out)),
            };
            if let Some(next) = next {
                return next;
            }
        }
        if state.last { Next::Close } else { Next::Read }
    }

    /// The client will send no more. Returns what is left to do, with what there is to say in `out`.
    pub fn eof(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Next {
        match self.reader.eof() {
            None => Next::Close,
            Some(fault) => {
                self.state.refuse(fault, worker, out);
                Next::Close
            }
        }
    }

    /// The client has taken too long over a head or a body: says so, if that is still possible.
    pub fn expire(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Next {
        self.reader.close();
        self.state.drop_gathered(worker);
        worker.late(out);
        worker.counters.answered(self.state.listener, 408);
        Next::Linger(LINGER)
    }

    /// The connection is gone; what was kept for it need not be counted any more.
    pub fn end(&mut self, worker: &Worker) {
        self.state.drop_gathered(worker);
    }
}

/// Bytes behind the last request mean that the client has not understood that it is the last.
fn close(rest: &[u8]) -> Next {
    if rest.is_empty() { Next::Close } else { Next::Linger(LINGER) }
}

impl State {
    /// Goes on with an answer. `None` when there is no more of it and the connection stays.
    #[cold]
    fn send_on(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Option<Next> {
        let Some(Busy::Sending(sending)) = self.busy.as_deref_mut() else { return None };
        match sending.go_on(&worker.stamp(), out) {
            Progress::Wait(next) => Some(next),
            Progress::Done(after) => {
                self.busy = None;
                self.last |= after == After::Close;
                // The request has been read to its end: it had no body, or its end was what the answer began with.
                self.last.then_some(Next::Close)
            }
        }
    }

    /// A request begins that is not a constant's.
    #[inline(never)]
    fn begin(
        &mut self,
        head: &Head<'_>,
        alone: bool,
        site: &Site,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        if head.body == Body::Empty {
            return self.answer(head, b"", site, worker, endpoint, out);
        }
        // RFC 9110, 10.1.1: not needed if the body is coming already.
        if head.expects_continue && alone {
            let _only_1_1_expects = Response::interim(out, head.exchange(), 100, &[]);
        }
        let wanted = site.listener(self.listener).wants_body(head);
        self.busy = Some(Box::new(Busy::Gathering(Gathering { head: copy(head), body: Vec::new(), wanted })));
        None
    }

    fn gather(&mut self, data: &[u8], worker: &Worker, out: &mut Vec<u8>) -> Option<Next> {
        let Some(Busy::Gathering(gathering)) = self.busy.as_deref_mut() else { return None };
        if !gathering.wanted {
            return None;
        }
        if !worker.keep(data.len() as u64) {
            self.drop_gathered(worker);
            worker.full(out);
            worker.counters.answered(self.listener, 503);
            return Some(Next::Linger(LINGER));
        }
        gathering.body.extend_from_slice(data);
        None
    }

    /// The request at hand is complete.
    #[inline(never)]
    fn end(
        &mut self,
        alone: bool,
        site: &Site,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        if let Some(Busy::Gathering(gathering)) = self.busy.take().map(|busy| *busy) {
            worker.release(gathering.body.len() as u64);
            // Read a second time instead of kept as a view: only requests with bodies pay for it.
            let (mut reader, mut bytes) = (Connection::default(), &gathering.head[..]);
            if let Some(Event::Head(head)) = reader.next(&mut bytes, &worker.settings.limits)
                && let Some(next) = self.answer(&head, &gathering.body, site, worker, endpoint, out)
            {
                return Some(next);
            }
        }
        if !self.last {
            return (out.len() >= ENOUGH && !alone).then_some(Next::Write);
        }
        Some(if alone { Next::Close } else { Next::Linger(LINGER) })
    }

    /// Answers a request that has arrived completely. `None` if the whole answer is in `out`.
    fn answer(
        &mut self,
        head: &Head<'_>,
        body: &[u8],
        site: &Site,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        let route = match site.listener(self.listener).find(head) {
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
                let ends = self.ends(endpoint);
                let request = Request {
                    method: head.method_name,
                    path: head.path(),
                    query: head.query().unwrap_or_default(),
                    minor_version: u8::from(head.version == brunt_wire::http1::Version::Http11),
                    fields: head.fields,
                    body,
                    peer: ends.peer,
                    local: ends.local,
                };
                let answer = time.measure(|| handler.borrow_mut().answer(&request));
                self.give(answer, head, worker, endpoint, out)
            }
        }
    }

    fn give(
        &mut self,
        answer: super::answer::Answer,
        head: &Head<'_>,
        worker: &Worker,
        endpoint: &impl Endpoint,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        let exchange = worker.exchange(head);
        if let Some(fault) = &answer.fault {
            worker.counters.made(*fault);
        }
        // What is no answer has no status.
        let status = give::status(&answer);
        worker.counters.answered(self.listener, status);
        self.log(head, status, give::length(&answer.body), worker, endpoint);
        if let Some(bytes) = give::at_once(&answer) {
            let after = give::whole(&answer, bytes, exchange, &worker.stamp(), out);
            self.last |= after == After::Close;
            return None;
        }
        self.busy = Some(Box::new(Busy::Sending(Sending::new(answer, head.method, exchange))));
        self.send_on(worker, out)
    }

    #[cold]
    fn refuse(&mut self, fault: Fault, worker: &Worker, out: &mut Vec<u8>) -> Next {
        self.drop_gathered(worker);
        self.busy = None;
        let _close = Response::refuse(out, &worker.stamp(), fault);
        worker.counters.refused(self.listener, fault.status());
        Next::Linger(if fault == Fault::BodyTooLong { LINGER } else { LINGER_REFUSED })
    }

    fn drop_gathered(&mut self, worker: &Worker) {
        if let Some(Busy::Gathering(gathering)) = self.busy.as_deref() {
            worker.release(gathering.body.len() as u64);
            self.busy = None;
        }
    }

    fn ends(&mut self, endpoint: &impl Endpoint) -> Ends {
        **self.ends.get_or_insert_with(|| Box::new(endpoint.ends()))
    }

    fn log(&mut self, head: &Head<'_>, status: u16, length: Option<u64>, worker: &Worker, endpoint: &impl Endpoint) {
        if worker.is_logging() {
            worker.log(self.ends(endpoint).peer, head, status, length);
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
