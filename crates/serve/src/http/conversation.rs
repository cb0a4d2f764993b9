//! The HTTP state of one connection, without its socket. Every server model drives the same [`Conversation`].
//!
//! ```text
//! input --> step --> out, and an Action: Read more | Write, then step | Pause, then step | end the connection
//! ```
//!
//! Invariants:
//! - Responses have the order of the requests: the next request is parsed once the last response is complete.
//! - A request is answered when all of it has arrived. So it gets exactly one response, also if its body is malformed.
//! - An idle conversation holds no buffer.

use super::action::{Action, LINGER, LINGER_REFUSED};
use super::config::settings::MAX_BUFFERED;
use super::handler::{Request, Response};
use super::response_writer::{self, Progress, ResponseWriter};
use super::router::{Listener, Responder, no_route};
use super::worker::Worker;
use brunt_wire::http1::server::{Connection, Event, Waiting};
use brunt_wire::http1::{self, Body, Head, ParseError, Persistence, Version};
use std::{io, net::SocketAddr};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Addrs {
    pub peer: SocketAddr,
    pub local: SocketAddr,
}

impl Addrs {
    /// A closed socket has no addresses: 0.0.0.0:0 stands for them.
    pub fn new(peer: io::Result<SocketAddr>, local: io::Result<SocketAddr>) -> Self {
        let none = SocketAddr::from(([0, 0, 0, 0], 0));
        Self { peer: peer.unwrap_or(none), local: local.unwrap_or(none) }
    }
}

/// A source of a connection's addresses, which cost a system call.
pub(crate) trait Endpoint {
    fn addrs(&self) -> Addrs;
}

pub(crate) struct Conversation {
    reader: Connection,
    state: State,
}

/// The part of a conversation that is not borrowed by a parsed head.
struct State {
    /// Boxed: most connections never need it.
    busy: Option<Box<Busy>>,
    addrs: Option<Box<Addrs>>,
    requests: u32,
    listener: u16,
    /// The connection ends with the current request.
    last: bool,
}

enum Busy {
    Receiving(PartialRequest),
    Responding(ResponseWriter),
}

/// A request whose body is still arriving.
struct PartialRequest {
    /// A normalised copy of the head.
    head: Vec<u8>,
    body: Vec<u8>,
    wanted: bool,
}

struct Step<'a, E> {
    worker: &'a Worker,
    listener: &'a Listener,
    endpoint: &'a E,
    out: &'a mut Vec<u8>,
}

impl Conversation {
    pub fn new(listener: u16) -> Self {
        let state = State { busy: None, addrs: None, requests: 0, listener, last: false };
        Self { reader: Connection::default(), state }
    }

    /// Requests begun so far, modulo 2^32.
    #[inline]
    pub fn requests(&self) -> u32 {
        self.state.requests
    }

    #[inline]
    pub fn waiting(&self) -> Waiting {
        self.reader.waiting()
    }

    /// Consumes `input` and appends responses to `out`.
    #[inline]
    pub fn step(&mut self, input: &mut &[u8], worker: &Worker, endpoint: &impl Endpoint, out: &mut Vec<u8>) -> Action {
        let Self { reader, state } = self;
        let router = worker.router();
        let mut step = Step { worker, listener: router.listener(state.listener), endpoint, out };
        if state.busy.is_some()
            && let Some(action) = state.resume(&mut step)
        {
            return action;
        }
        while let Some(event) = reader.next(input, &worker.settings.limits) {
            let action = match event {
                Event::Head(head) => state.begin(&head, input.is_empty(), &mut step),
                Event::Body(data) => state.receive(data, &mut step),
                Event::Trailers(_) => None,
                Event::End(after) => state.end(after, input.is_empty(), &mut step),
                Event::Error(error) => Some(state.refuse(error, worker, step.out)),
            };
            if let Some(action) = action {
                return action;
            }
        }
        if state.last { Action::Close } else { Action::Read }
    }

    /// Handles the end of input. Appends a refusal to `out` if a request was incomplete.
    pub fn eof(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Action {
        if let Some(error) = self.reader.eof() {
            self.state.refuse(error, worker, out);
        }
        Action::Close
    }

    /// Appends a 408: the client has taken too long to send a head or a body.
    pub fn expire(&mut self, worker: &Worker, out: &mut Vec<u8>) -> Action {
        self.reader.close();
        self.state.drop_received(worker);
        worker.give_up(self.state.listener, 408, "408 Request Timeout\n", out);
        Action::Linger(LINGER)
    }

    /// Releases what is accounted to a connection that has ended.
    pub fn end(&mut self, worker: &Worker) {
        self.state.drop_received(worker);
    }
}

impl State {
    #[inline]
    fn begin<E: Endpoint>(&mut self, head: &Head<'_>, at_end: bool, step: &mut Step<'_, E>) -> Option<Action> {
        self.requests = self.requests.wrapping_add(1);
        match head.body {
            Body::Empty => self.answer(head, b"", step),
            _ => self.begin_body(head, at_end, step),
        }
    }

    #[inline(never)]
    fn begin_body<E: Endpoint>(&mut self, head: &Head<'_>, at_end: bool, step: &mut Step<'_, E>) -> Option<Action> {
        // RFC 9110, 10.1.1: not needed if the body is already arriving.
        if head.expects_continue && at_end {
            let _only_in_1_1 = http1::Response::interim(step.out, head.meta(), 100, &[]);
        }
        let wanted = step.listener.wants_body(head);
        let request = PartialRequest { head: copy_head(head), body: Vec::new(), wanted };
        self.busy = Some(Box::new(Busy::Receiving(request)));
        None
    }

    fn receive<E: Endpoint>(&mut self, data: &[u8], step: &mut Step<'_, E>) -> Option<Action> {
        let Some(Busy::Receiving(request)) = self.busy.as_deref_mut() else { return None };
        if !request.wanted {
            return None;
        }
        if !step.worker.reserve_body(data.len() as u64) {
            self.drop_received(step.worker);
            let text = "503 Service Unavailable: too many bytes of request bodies at a time\n";
            step.worker.give_up(self.listener, 503, text, step.out);
            return Some(Action::Linger(LINGER));
        }
        request.body.extend_from_slice(data);
        None
    }

    /// Ends the current request; answers it now if it had a body.
    #[inline]
    fn end<E: Endpoint>(&mut self, after: Persistence, at_end: bool, step: &mut Step<'_, E>) -> Option<Action> {
        self.last |= after == Persistence::Close || step.worker.is_stopping();
        if self.busy.is_some()
            && let Some(action) = self.answer_received(step)
        {
            return Some(action);
        }
        match self.last {
            true if at_end => Some(Action::Close),
            // The client has sent more, so it does not know that this was the last request.
            true => Some(Action::Linger(LINGER)),
            false => (step.out.len() >= MAX_BUFFERED && !at_end).then_some(Action::Write),
        }
    }

    #[inline(never)]
    fn answer_received<E: Endpoint>(&mut self, step: &mut Step<'_, E>) -> Option<Action> {
        let Busy::Receiving(request) = *self.busy.take()? else { return None };
        step.worker.release_body(request.body.len() as u64);
        // The head is parsed again instead of stored as a view: only requests with bodies pay for it.
        let (mut reader, mut bytes) = (Connection::default(), &request.head[..]);
        match reader.next(&mut bytes, &step.worker.settings.limits) {
            Some(Event::Head(head)) => self.answer(&head, &request.body, step),
            _ => None,
        }
    }

    /// Answers a complete request. Returns `None` if the whole response is in `out`.
    #[inline]
    fn answer<E: Endpoint>(&mut self, head: &Head<'_>, body: &[u8], step: &mut Step<'_, E>) -> Option<Action> {
        let worker = step.worker;
        match step.listener.find(head) {
            Ok(route) => match &route.responder {
                Responder::Static { response, status, length } => {
                    let _as_requested = response.write(step.out, worker.request_meta(head), &worker.date());
                    worker.counters.answered(self.listener, *status);
                    self.log(head, *status, Some(*length), step);
                    None
                }
                Responder::Handler { handler, time } => {
                    let request = request(head, body, self.addrs(step.endpoint));
                    let response = time.measure(|| handler.borrow_mut().respond(&request));
                    self.respond(response, head, step)
                }
            },
            Err(methods) => self.respond(no_route(methods), head, step),
        }
    }

    #[inline(never)]
    fn respond<E: Endpoint>(&mut self, response: Response, head: &Head<'_>, step: &mut Step<'_, E>) -> Option<Action> {
        let worker = step.worker;
        if let Some(fault) = &response.fault {
            worker.counters.injected(*fault);
        }
        // 0 if the client sees no status.
        let status = response_writer::status(&response);
        worker.counters.answered(self.listener, status);
        self.log(head, status, response_writer::length(&response.body), step);
        let meta = worker.request_meta(head);
        if let Some(bytes) = response_writer::single_write(&response) {
            let after = response_writer::write(&response, bytes, meta, &worker.date(), step.out);
            self.last |= after == Persistence::Close;
            return None;
        }
        self.busy = Some(Box::new(Busy::Responding(ResponseWriter::new(response, head.method, meta))));
        self.resume(step)
    }

    /// Continues a response. Returns `None` when it is complete and the connection stays open.
    #[cold]
    fn resume<E: Endpoint>(&mut self, step: &mut Step<'_, E>) -> Option<Action> {
        let Some(Busy::Responding(writer)) = self.busy.as_deref_mut() else { return None };
        match writer.advance(&step.worker.date(), step.out) {
            Progress::Wait(action) => Some(action),
            Progress::Done(after) => {
                self.busy = None;
                self.last |= after == Persistence::Close;
                // The request has been read completely: responses begin at its end.
                self.last.then_some(Action::Close)
            }
        }
    }

    #[cold]
    fn refuse(&mut self, error: ParseError, worker: &Worker, out: &mut Vec<u8>) -> Action {
        self.drop_received(worker);
        self.busy = None;
        let _close = http1::Response::error(out, &worker.date(), error);
        worker.counters.refusals.add(1);
        worker.counters.answered(self.listener, error.status());
        Action::Linger(if error == ParseError::BodyTooLong { LINGER } else { LINGER_REFUSED })
    }

    fn drop_received(&mut self, worker: &Worker) {
        if let Some(Busy::Receiving(request)) = self.busy.as_deref() {
            worker.release_body(request.body.len() as u64);
            self.busy = None;
        }
    }

    fn addrs(&mut self, endpoint: &impl Endpoint) -> Addrs {
        **self.addrs.get_or_insert_with(|| Box::new(endpoint.addrs()))
    }

    #[inline]
    fn log<E: Endpoint>(&mut self, head: &Head<'_>, status: u16, length: Option<u64>, step: &Step<'_, E>) {
        if step.worker.is_logging {
            step.worker.log(self.addrs(step.endpoint).peer, head, status, length);
        }
    }
}

#[inline]
pub(super) fn request<'a>(head: &Head<'a>, body: &'a [u8], Addrs { peer, local }: Addrs) -> Request<'a> {
    Request {
        method: head.method_name,
        path: head.path(),
        query: head.query().unwrap_or_default(),
        minor_version: u8::from(head.version == Version::Http11),
        fields: head.fields,
        body,
        peer,
        local,
    }
}

/// An equivalent head in its shortest form.
fn copy_head(head: &Head<'_>) -> Vec<u8> {
    let version = if head.version == Version::Http11 { "1.1" } else { "1.0" };
    let mut bytes = format!("{} {} HTTP/{version}\r\n", head.method_name, head.target()).into_bytes();
    for field in head.fields.iter() {
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
