//! Requests and replies on one open HTTP connection: the hot path of the load.
//!
//! No allocation, no lock and one clock reading for replies that come together, as long as requests are rendered and
//! replies come whole. Other replies are parsed event by event; their bodies are counted, and kept only if needed.

mod after;
mod driven;
mod redirected;
mod refused;

use super::{End, HttpProtocol, Outgoing, Partial, Reply, ReplyFields, Taken};
use crate::engine::conversation::Step;
use crate::engine::trace::Trace;
use crate::engine::worker::{Core, Worker};
use crate::engine::wrong_reply;
use crate::measure::{interval::Counters, recorder::Failure};
use crate::{engine::scheduler::Action, http::Flow};
use brunt_wire::http1::client::{Connection, Event, SentRequest, WholeResponse};
use brunt_wire::http1::{Leniencies, Persistence};

/// The requests and replies of one connection and of those that replace it.
pub(super) struct HttpConversation<'w, W> {
    worker: &'w Worker<HttpProtocol>,
    index: u32,
    host: u32,
    /// Requests without a whole reply.
    outstanding: u32,
    /// A batch is in flight: no request is taken before its last reply. Never set in the pipeline of an open loop.
    in_batch: bool,
    /// Set by a reply, reset by the caller.
    pub answered: bool,
    outgoing: Outgoing,
    /// Bytes of `outgoing` that are written.
    written: usize,
    /// When the last request was prepared.
    begun_ns: u64,
    /// Requests on this connection so far.
    sent: u64,
    replies: Connection,
    /// Requests that are not rendered in place: those of a script, or of the pipeline of an open loop.
    buffer: Vec<u8>,
    partial: Option<Box<Partial>>,
    /// Of the redirects that are followed.
    chain: Option<Box<redirected::Chain>>,
    /// When the first byte came of a reply that is not whole yet.
    first_ns: Option<u64>,
    pub trace: W,
}

impl<'w, W: Trace> HttpConversation<'w, W> {
    pub fn new(worker: &'w Worker<HttpProtocol>, index: u32, trace: W) -> Self {
        Self {
            worker,
            index,
            host: worker.host(index) as u32,
            outstanding: 0,
            in_batch: false,
            answered: false,
            outgoing: Outgoing::default(),
            written: 0,
            begun_ns: 0,
            sent: 0,
            replies: Connection::default(),
            buffer: Vec::new(),
            partial: None,
            chain: None,
            first_ns: None,
            trace,
        }
    }

    /// Takes requests that are due, as many as there is capacity for; the task is woken for later ones.
    pub fn request(&mut self) {
        let now = self.worker.clock.now();
        let core = &mut *self.worker.core.borrow_mut();
        match core.protocol.depth {
            1 if core.scheduler.request(self.index, now) == Action::Send => self.begin(core, now),
            1 => (),
            depth => self.refill(core, now, depth),
        }
    }

    /// Prepares for a new connection.
    pub fn reset(&mut self) {
        (self.in_batch, self.outstanding, self.sent) = (false, 0, 0);
        (self.outgoing, self.written) = (Outgoing::default(), 0);
        self.replies = Connection::default();
        self.partial = None;
        self.first_ns = None;
        self.reset_chain();
    }

    /// Takes assigned requests; returns whether there is one to send.
    pub fn has_request(&mut self) -> bool {
        self.take_assigned(&mut self.worker.core.borrow_mut());
        self.in_batch || self.outstanding > 0
    }

    #[inline(never)]
    fn take_assigned(&mut self, core: &mut Core<HttpProtocol>) {
        if !core.scheduler.has_assigned(self.index) {
            return;
        }
        let now = self.worker.clock.now();
        while !self.in_batch && core.scheduler.send_assigned(self.index, now) == Action::Send {
            match core.protocol.depth {
                1 => self.begin(core, now),
                _ => self.add(core, now),
            }
        }
    }

    /// Takes due requests of an open-loop pipeline that has capacity for `capacity` more.
    #[inline(never)]
    fn refill(&mut self, core: &mut Core<HttpProtocol>, now: u64, capacity: u32) {
        for _ in 0..capacity {
            if self.sent >= core.protocol.reuse {
                return;
            }
            let mut action = core.scheduler.request(self.index, now);
            // More requests than this one may have been assigned before.
            while action == Action::Send {
                self.add(core, now);
                action = core.scheduler.send_assigned(self.index, now);
            }
        }
    }

    /// Prepares the next batch, with nothing in flight.
    #[inline]
    fn begin(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        (self.in_batch, self.written) = (true, 0);
        self.prepare(core, now);
    }

    /// Prepares the next request behind those in flight.
    fn add(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        if self.written == self.outgoing.range.len() {
            self.buffer.clear();
            self.written = 0;
        }
        self.prepare(core, now);
        if self.sent >= core.protocol.reuse {
            core.scheduler.stop_sending(self.index, now);
        }
    }

    #[inline]
    fn prepare(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        self.begun_ns = now;
        let is_chained = self.chain.is_some() && self.next_of_chain(core);
        if !is_chained
            && let Err(reason) = core.protocol.next(self.host, &mut self.outgoing, &mut self.buffer, self.sent)
        {
            // The run is over: nothing is sent and no reply awaited.
            self.worker.shared.break_off(reason);
            self.outgoing = Outgoing::default();
        }
        let requests = core.scheduler.batch_len(self.outgoing.batch.requests());
        if requests < self.outgoing.batch.requests() {
            core.protocol.shorten(self.host, &mut self.outgoing, &self.buffer, requests);
        }
        if W::KEEPS {
            self.trace.request(
                redirected::sent(self.chain.as_deref())
                    .unwrap_or_else(|| core.protocol.bytes(self.host, &self.buffer, self.outgoing.range.clone())),
            );
        }
        let batch = self.outgoing.batch;
        self.outstanding += requests;
        self.sent += u64::from(requests);
        for number in 0..requests {
            let counted = self.replies.sent(SentRequest::new(if batch.is_head(number) { "HEAD" } else { "GET" }));
            debug_assert!(counted.is_ok(), "a batch holds no HEAD that is too deep");
        }
        if core.protocol.is_named {
            let named = (0..requests).map(|number| core.protocol.name(self.host, &self.outgoing, number));
            named.for_each(|name| core.scheduler.name(self.index, name));
        } else if let Some(name) = batch.name() {
            (0..requests).for_each(|_| core.scheduler.name(self.index, name));
        }
        if requests > 1 {
            core.scheduler.send_batch(self.index, requests);
        }
    }

    /// Takes the next event of a reply that arrives in pieces; `None` without more input.
    #[inline(never)]
    fn event(&mut self, core: &mut Core<HttpProtocol>, now: u64, input: &mut &[u8]) -> Option<Taken> {
        let protocol = &core.protocol;
        if !input.is_empty() {
            self.first_ns.get_or_insert(now);
        }
        let before = *input;
        let event = self.replies.next(input, &protocol.limits);
        if W::KEEPS {
            driven::note(&mut self.trace, event.as_ref(), &before[..before.len() - input.len()]);
        }
        Some(match event? {
            Event::Interim(_) | Event::Trailers(_) => Taken::Part,
            // No request asks for another protocol.
            Event::Head(head) if head.status == 101 => self.refuse_switch(core, now),
            Event::Head(head) => {
                let partial = self.partial.get_or_insert_default();
                (partial.status, partial.length) = (head.status, 0);
                partial.body.clear();
                partial.fields.clear();
                if protocol.keeps_fields {
                    let fields = head.fields.iter().map(|field| (field.name.to_owned(), field.value.to_owned()));
                    partial.fields.extend(fields);
                }
                Taken::Part
            }
            Event::Body(bytes) => {
                let partial = self.partial.get_or_insert_default();
                partial.length += bytes.len() as u64;
                if protocol.keeps_bodies {
                    partial.body.extend_from_slice(bytes);
                }
                Taken::Part
            }
            Event::End(persistence) => self.finish(core, now, persistence, input),
            Event::Error(error) => self.refuse(core, now, error),
        })
    }

    /// Takes the end of a reply that arrived in pieces, or was read leniently; `rest` was received behind it.
    fn finish(&mut self, core: &mut Core<HttpProtocol>, now: u64, persistence: Persistence, rest: &[u8]) -> Taken {
        let accepted = self.replies.take_accepted();
        let partial = self.partial.take().unwrap_or_default();
        let Partial { status, length, ref body, ref fields } = *partial;
        let reply = Reply { status, length, persistence, fields: ReplyFields::Kept(fields), body, accepted };
        let first_ns = self.first_ns.take().filter(|first_ns| *first_ns < now);
        let taken = self.answer(core, now, first_ns, &reply, rest);
        self.partial = Some(partial);
        taken
    }

    /// Takes a complete reply to the oldest request, whose first byte came at `first_ns` if not now; `rest` was received behind
    /// it.
    #[inline(always)]
    fn answer(
        &mut self,
        core: &mut Core<HttpProtocol>,
        now: u64,
        first_ns: Option<u64>,
        reply: &Reply<'_>,
        rest: &[u8],
    ) -> Taken {
        let (is_last, mut accepted) = (self.outstanding == 1, reply.accepted);
        if is_last && !rest.is_empty() {
            match self.excess(core, now, reply.persistence, rest) {
                Ok(more) => accepted.add(more),
                Err(taken) => return taken,
            }
        }
        let (checked, is_followed) = match core.protocol.redirects {
            None => (core.protocol.expect.check(reply.status, reply.length, reply.body), false),
            Some(most) => self.check_redirect(core, most, reply),
        };
        if let Err(failure) = checked {
            let got = (reply.status, reply.length, reply.body);
            wrong_reply::note_unexpected(&self.worker.shared, &core.protocol.expect, failure, got);
        }
        let (status, length) = (reply.status, reply.length);
        let count = |counters: &mut Counters| {
            counters.reply(status, length, checked.is_ok());
            if !accepted.is_empty() {
                counters.replies.lenient(accepted);
            }
            if is_followed {
                counters.replies.redirect();
            }
        };
        if !core.scheduler.record_reply(self.index, now, checked, first_ns, count) {
            return Taken::End(End::Lost(Failure::Timeout));
        }
        if is_followed && let Some(chain) = &mut self.chain {
            chain.counted_in = core.scheduler.recorder.phase();
        }
        self.answered = true;
        self.outstanding -= 1;
        if core.protocol.wants_responses
            && core.protocol.pass_on(self.host, status, &reply.fields, reply.body) == Flow::Stop
        {
            self.worker.shared.close_at(now);
        }
        let closes = reply.persistence == Persistence::Close;
        if !accepted.is_empty() {
            self.trace.accepted(accepted);
        }
        self.trace.answered(checked.is_ok(), !closes, !is_last);
        match is_last {
            true => self.after_last(core, now, closes, accepted.closes()),
            false => self.after_one(core, closes),
        }
    }

    fn step(&mut self, taken: Taken) -> Step<End> {
        match taken {
            Taken::Part | Taken::Capacity => Step::Receive,
            Taken::Next => Step::Write,
            Taken::Idle => {
                self.in_batch = false;
                Step::Write
            }
            Taken::End(end) => Step::End(end),
        }
    }

    /// Takes received bytes: replies, the last of which may be incomplete.
    #[inline(always)]
    fn take(&mut self, core: &mut Core<HttpProtocol>, bytes: &[u8], now: u64) -> Taken {
        let mut input = bytes;
        let mut capacity = 0;
        loop {
            // A trace has the bytes of each part, which whole replies do not tell.
            let whole = match W::KEEPS {
                true => None,
                false => {
                    let (cache, limits) = core.protocol.reading(self.host);
                    self.replies.next_cached(&mut input, cache, limits)
                }
            };
            let taken = match whole {
                Some(WholeResponse { head, body }) => {
                    let length = body.len() as u64;
                    let (status, persistence, fields) =
                        (head.status, head.persistence, ReplyFields::Whole(head.fields));
                    let reply = Reply { status, length, persistence, fields, body, accepted: Leniencies::default() };
                    self.answer(core, now, None, &reply, input)
                }
                None => match self.event(core, now, &mut input) {
                    Some(taken) => taken,
                    None if capacity > 0 => break,
                    None => return Taken::Part,
                },
            };
            match taken {
                Taken::Part => (),
                Taken::Capacity => capacity += 1,
                _ => return taken,
            }
        }
        // Only now: what was received cannot answer requests taken from here on.
        let sent = self.sent;
        self.refill(core, now, capacity);
        match self.outstanding {
            0 => Taken::Idle,
            _ if self.sent > sent => Taken::Next,
            _ => Taken::Part,
        }
    }
}
