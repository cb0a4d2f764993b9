//! Requests and replies on one open HTTP connection: the hot path of the load.
//!
//! No allocation, no lock and one clock reading for what came together, as long as requests are rendered and replies come
//! whole. What does not come whole is followed event by event; its body is counted, and kept only for those who asked.

use super::{
    HttpProtocol, Outgoing, ReplyFields,
    reply::{End, Partial, Reply, Taken},
};
use crate::{
    engine::{
        scheduler::Action,
        transport::failure,
        worker::{Core, Worker},
        write::write_on,
    },
    http::Flow,
    measure::recorder::Failure,
};
use brunt_tls::Transport;
use brunt_wire::http1::{
    Limits, Persistence,
    client::{Connection, Event, SentRequest, WholeResponse},
};
use std::task::{Context, Poll};

/// One place's requests and replies, on one connection after the other.
pub(super) struct Conversation<'w> {
    worker: &'w Worker<HttpProtocol>,
    index: u32,
    host: u32,
    /// Replies that are awaited.
    left: u32,
    /// No request can come before they are all there. In a pipeline of an open loop one always can.
    full: bool,
    /// Something has been answered since this was last set to false.
    pub answered: bool,
    outgoing: Outgoing,
    /// Bytes of `outgoing` that are written.
    written: usize,
    /// When the last request was begun.
    begun_ns: u64,
    /// Requests on this connection so far.
    sent: u64,
    replies: Connection,
    /// Requests that do not lie ready: those of a script, or of a pipeline whose requests have times of their own.
    own: Vec<u8>,
    partial: Option<Box<Partial>>,
}

impl<'w> Conversation<'w> {
    pub(super) fn new(worker: &'w Worker<HttpProtocol>, index: u32) -> Self {
        Self {
            worker,
            index,
            host: worker.host(index) as u32,
            left: 0,
            full: false,
            answered: false,
            outgoing: Outgoing::default(),
            written: 0,
            begun_ns: 0,
            sent: 0,
            replies: Connection::default(),
            own: Vec::new(),
            partial: None,
        }
    }

    /// The place is ready for requests: takes those that are due, and will be woken for others.
    pub(super) fn free(&mut self) {
        let now = self.worker.clock.now();
        let core = &mut *self.worker.core.borrow_mut();
        match core.protocol.depth {
            1 if core.scheduler.request(self.index, now) == Action::Send => self.begin(core, now),
            1 => (),
            depth => self.refill(core, now, depth),
        }
    }

    /// The connection is gone: the next one begins anew.
    pub(super) fn forget(&mut self) {
        (self.full, self.left, self.sent) = (false, 0, 0);
        (self.outgoing, self.written) = (Outgoing::default(), 0);
        self.replies = Connection::default();
        self.partial = None;
    }

    /// Whether there is a request to be sent; takes up what the place may have been given.
    pub(super) fn has_request(&mut self) -> bool {
        self.take_up(&mut self.worker.core.borrow_mut());
        self.full || self.left > 0
    }

    /// Takes up what the place was given since it was last asked.
    #[inline(never)]
    fn take_up(&mut self, core: &mut Core<HttpProtocol>) {
        if !core.scheduler.has_assigned(self.index) {
            return;
        }
        let now = self.worker.clock.now();
        while !self.full && core.scheduler.send_assigned(self.index, now) == Action::Send {
            match core.protocol.depth {
                1 => self.begin(core, now),
                _ => self.add(core, now),
            }
        }
    }

    /// There is room for so many requests more in a pipeline of an open loop: takes those that are due.
    #[inline(never)]
    fn refill(&mut self, core: &mut Core<HttpProtocol>, now: u64, room: u32) {
        for _ in 0..room {
            if self.sent >= core.protocol.reuse {
                return;
            }
            let mut next = core.scheduler.request(self.index, now);
            // It may have been granted more than the one it gets.
            while next == Action::Send {
                self.add(core, now);
                next = core.scheduler.send_assigned(self.index, now);
            }
        }
    }

    /// Gets the next batch ready to be written, where nothing is under way.
    #[inline]
    fn begin(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        (self.full, self.written) = (true, 0);
        self.ask(core, now);
    }

    /// Gets the next request ready to be written, behind those that are under way.
    fn add(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        if self.written == self.outgoing.range.len() {
            self.own.clear();
            self.written = 0;
        }
        self.ask(core, now);
        if self.sent >= core.protocol.reuse {
            core.scheduler.stop_sending(self.index, now);
        }
    }

    #[inline]
    fn ask(&mut self, core: &mut Core<HttpProtocol>, now: u64) {
        self.begun_ns = now;
        if let Err(why) = core.protocol.next(self.host, &mut self.outgoing, &mut self.own, self.sent) {
            // Nothing is sent and no reply awaited: the run is over.
            self.worker.shared.break_off(why);
            self.outgoing = Outgoing::default();
        }
        let batch = self.outgoing.batch;
        let requests = batch.requests();
        self.left += requests;
        self.sent += u64::from(requests);
        for number in 0..requests {
            let asked = SentRequest::new(if batch.is_head(number) { "HEAD" } else { "GET" });
            let counted = self.replies.sent(asked);
            debug_assert!(counted.is_ok(), "a batch holds no HEAD that is too deep");
        }
        if requests > 1 {
            core.scheduler.send_batch(self.index, requests);
        }
    }

    /// Talks until the connection is over or rests; says why.
    pub(super) fn poll(&mut self, stream: &mut impl Transport, cx: &mut Context<'_>) -> Poll<End> {
        let core = &mut *self.worker.core.borrow_mut();
        core.activity += 1;
        loop {
            if !self.full {
                // Looked at before a request is taken up: one that is sent into a closed connection is lost.
                if self.left == 0
                    && let Poll::Ready(end) = watch(stream, cx)
                {
                    return Poll::Ready(end);
                }
                self.take_up(core);
                if !self.full && self.left == 0 {
                    return Poll::Pending;
                }
            }
            if self.written < self.outgoing.range.len() && !self.write(core, stream, cx) {
                return Poll::Ready(End::Lost(Failure::Reset));
            }
            loop {
                let Poll::Ready(received) = stream.poll_recv(cx) else {
                    // Nothing there; the sweep wakes those it has given up.
                    return match core.scheduler.is_timed_out(self.index) {
                        true => Poll::Ready(End::Lost(Failure::Timeout)),
                        false => Poll::Pending,
                    };
                };
                let lease = match received {
                    Ok(lease) => lease,
                    Err(error) => return Poll::Ready(End::Lost(failure(&error))),
                };
                // Replies that came together came at one time. A target that answers before it was asked may have done so
                // earlier in this turn.
                let now = core.turn_now(self.worker.clock).max(self.begun_ns);
                core.scheduler.recorder.advance(now);
                match self.take(core, &lease, now) {
                    Taken::Part | Taken::Room => (),
                    Taken::Next => break,
                    Taken::Idle => break self.full = false,
                    Taken::End(end) => return Poll::Ready(end),
                }
            }
        }
    }

    /// Writes as much of the batch as the kernel and its queue take now; false if the connection is lost.
    #[inline(never)]
    fn write(&mut self, core: &mut Core<HttpProtocol>, stream: &mut impl Transport, cx: &mut Context<'_>) -> bool {
        let bytes = core.protocol.bytes(self.host, &self.own, self.outgoing.range.clone());
        write_on(bytes, &mut self.written, stream, &mut core.scheduler.recorder, cx)
    }

    /// Takes what was received.
    #[inline]
    fn take(&mut self, core: &mut Core<HttpProtocol>, bytes: &[u8], now: u64) -> Taken {
        if bytes.is_empty() {
            return self.end(core, now);
        }
        core.scheduler.recorder.moved_in(bytes.len());
        let mut input = bytes;
        let mut room = 0;
        loop {
            let taken = match self.replies.next_cached(&mut input, core.protocol.known(self.host), &Limits::CLIENT) {
                Some(WholeResponse { head, body }) => {
                    let length = body.len() as u64;
                    let (status, after, fields) = (head.status, head.persistence, ReplyFields::Whole(head.fields));
                    self.answer(core, now, &Reply { status, length, after, fields, body }, input.is_empty())
                }
                None => match self.piece(core, now, &mut input) {
                    Some(taken) => taken,
                    None if room > 0 => break,
                    None => return Taken::Part,
                },
            };
            match taken {
                Taken::Part => (),
                Taken::Room => room += 1,
                _ => return taken,
            }
        }
        // Only now: what is asked for from here on cannot have been answered by what has come.
        let sent = self.sent;
        self.refill(core, now, room);
        match self.left {
            0 => Taken::Idle,
            _ if self.sent > sent => Taken::Next,
            _ => Taken::Part,
        }
    }

    /// Takes the next piece of a reply that does not come whole; `None` if there is no more of it now.
    #[inline(never)]
    fn piece(&mut self, core: &mut Core<HttpProtocol>, now: u64, input: &mut &[u8]) -> Option<Taken> {
        let talk = &core.protocol;
        Some(match self.replies.next(input, &Limits::CLIENT)? {
            Event::Interim(_) | Event::Trailers(_) => Taken::Part,
            // Nobody asked for another protocol.
            Event::Head(head) if head.status == 101 => Taken::End(End::Lost(Failure::Protocol)),
            Event::Head(head) => {
                let partial = self.partial.get_or_insert_default();
                (partial.status, partial.length) = (head.status, 0);
                partial.body.clear();
                partial.fields.clear();
                if talk.shows {
                    let fields = head.fields.iter().map(|field| (field.name.to_owned(), field.value.to_owned()));
                    partial.fields.extend(fields);
                }
                Taken::Part
            }
            Event::Body(bytes) => {
                let partial = self.partial.get_or_insert_default();
                partial.length += bytes.len() as u64;
                if talk.keeps_bodies {
                    partial.body.extend_from_slice(bytes);
                }
                Taken::Part
            }
            Event::End(after) => self.finish(core, now, after, input.is_empty()),
            Event::Error(_) => Taken::End(End::Lost(Failure::Protocol)),
        })
    }

    /// The target has closed: that ends some replies, and spoils others.
    #[cold]
    fn end(&mut self, core: &mut Core<HttpProtocol>, now: u64) -> Taken {
        match self.replies.eof() {
            Some(Event::End(after)) => self.finish(core, now, after, true),
            _ => Taken::End(End::Lost(Failure::Reset)),
        }
    }

    /// A reply that came in pieces is whole.
    fn finish(&mut self, core: &mut Core<HttpProtocol>, now: u64, after: Persistence, is_all: bool) -> Taken {
        let partial = self.partial.take().unwrap_or_default();
        let Partial { status, length, ref body, ref fields } = *partial;
        let taken =
            self.answer(core, now, &Reply { status, length, after, fields: ReplyFields::Kept(fields), body }, is_all);
        // Its buffers serve the next one.
        self.partial = Some(partial);
        taken
    }

    /// The oldest request has its reply; `is_all` if no more was received.
    #[inline(always)]
    fn answer(&mut self, core: &mut Core<HttpProtocol>, now: u64, reply: &Reply<'_>, is_all: bool) -> Taken {
        let is_last = self.left == 1;
        if is_last && !is_all {
            // Too many bytes, as in any protocol.
            return Taken::End(End::Lost(Failure::Protocol));
        }
        let right = core.protocol.expect.check(reply.status, reply.length, reply.body);
        let (status, length) = (reply.status, reply.length);
        if !core.scheduler.record_reply(self.index, now, right, |counters| counters.replies.note(status, length)) {
            return Taken::End(End::Lost(Failure::Timeout));
        }
        self.answered = true;
        self.left -= 1;
        if core.protocol.shows && core.protocol.show(self.host, status, &reply.fields, reply.body) == Flow::Stop {
            self.worker.shared.close_at(now);
        }
        let closes = reply.after == Persistence::Close;
        if !is_last {
            core.scheduler.remove_oldest(self.index);
            return match closes {
                // What was sent behind a request that ends the connection has not been looked at, or nobody knows.
                true => Taken::End(End::Lost(Failure::Reset)),
                false if self.full || self.sent >= core.protocol.reuse => Taken::Part,
                false => Taken::Room,
            };
        }
        // A target may answer before it has the whole request, and the rest of it would spoil the next one.
        let keep = !closes && self.sent < core.protocol.reuse && self.written == self.outgoing.range.len();
        let delay = core.protocol.delay(self.host);
        if !keep || delay.is_some() {
            core.scheduler.suspend(self.index);
            self.full = false;
            return Taken::End(End::Answered { keep, closes: closes || self.outgoing.last, delay });
        }
        if !self.full {
            core.scheduler.remove_oldest(self.index);
            return Taken::Room;
        }
        match core.scheduler.next_request(self.index, now) {
            Action::Send => {
                self.begin(core, now);
                Taken::Next
            }
            Action::Wait | Action::Close => Taken::Idle,
        }
    }
}

/// Waits on an idle connection for its end, which is nobody's fault, or for bytes that nobody asked for.
#[inline(never)]
fn watch(stream: &mut impl Transport, cx: &mut Context<'_>) -> Poll<End> {
    stream.poll_recv(cx).map(|received| match received {
        Ok(lease) if !lease.is_empty() => End::Lost(Failure::Protocol),
        Ok(_) | Err(_) => End::Closed,
    })
}
