//! The conversation as the loop of a connection drives it, and what a trace is told of its events.

use super::super::{End, HttpProtocol, Taken};
use super::{HttpConversation, redirected};
use crate::engine::conversation::{self, Conversation, Step};
use crate::engine::trace::Trace;
use crate::engine::worker::Core;
use crate::measure::recorder::Failure;
use brunt_tls::Transport;
use brunt_wire::http1::client::Event;
use std::task::Context;

impl<T: Transport, W: Trace> Conversation<HttpProtocol, T> for HttpConversation<'_, W> {
    type End = End;
    type Trace = W;
    /// A request sent on a connection that the target has closed would be lost.
    const CHECKS_IDLE_FIRST: bool = true;

    #[inline(always)]
    fn is_idle(&self) -> bool {
        !self.in_batch && self.outstanding == 0
    }

    #[inline(always)]
    fn has_capacity(&self) -> bool {
        !self.in_batch
    }

    #[inline(always)]
    fn take_assigned(&mut self, core: &mut Core<HttpProtocol>) {
        Self::take_assigned(self, core);
    }

    /// A target that answers early may have done so before the request was begun, in the same turn.
    #[inline(always)]
    fn not_before(&self) -> u64 {
        self.begun_ns
    }

    #[inline(always)]
    fn has_unwritten(&self, _: &Core<HttpProtocol>) -> bool {
        self.written < self.outgoing.range.len()
    }

    #[inline(never)]
    fn write(&mut self, core: &mut Core<HttpProtocol>, stream: &mut T, cx: &mut Context<'_>) -> bool {
        let bytes = redirected::sent(self.chain.as_deref())
            .unwrap_or_else(|| core.protocol.bytes(self.host, &self.buffer, self.outgoing.range.clone()));
        let recorder = &mut core.scheduler.recorder;
        conversation::write(bytes, &mut self.written, stream, recorder, &mut self.trace, cx)
    }

    #[inline(always)]
    fn receive(
        &mut self,
        core: &mut Core<HttpProtocol>,
        stream: &mut T,
        _: &mut Context<'_>,
        bytes: T::RecvBuf,
        now: u64,
    ) -> Step<End> {
        *core.scheduler.recorder.bytes().read.get_or_insert(0) += stream.read_since(bytes.len());
        let taken = self.take(core, &bytes, now);
        self.step(taken)
    }

    #[cold]
    fn lost(&self, core: &mut Core<HttpProtocol>, failure: Failure) -> End {
        // A part of a reply may be in a TLS record that is not complete.
        let is_clear = core.protocol.hosts[self.host as usize].tls.is_none();
        End::Lost(if failure == Failure::Reset && is_clear { self.unanswered(core) } else { failure })
    }

    /// The end of the stream completes some replies, and truncates others.
    #[cold]
    fn end_of_stream(&mut self, core: &mut Core<HttpProtocol>, now: u64) -> Step<End> {
        let taken = match self.replies.eof() {
            Some(Event::End(persistence)) => self.finish(core, now, persistence, &[]),
            _ => {
                self.trace.failed(&conversation::CLOSED_EARLY);
                Taken::End(End::Lost(if self.first_ns.is_some() { Failure::Truncated } else { self.unanswered(core) }))
            }
        };
        self.step(taken)
    }

    /// Blank lines behind a reply may be read leniently.
    #[cold]
    fn receive_idle(&mut self, core: &mut Core<HttpProtocol>, bytes: &[u8], now: u64) -> bool {
        self.skips_idle(core, now, bytes)
    }

    fn closed_idle() -> End {
        End::Closed
    }

    #[inline(always)]
    fn trace(&mut self) -> &mut W {
        &mut self.trace
    }
}

/// Passes the bytes of an event on; without one, those that the parser has kept.
pub(super) fn note(trace: &mut impl Trace, event: Option<&Event<'_>>, used: &[u8]) {
    match event {
        None => trace.part(used),
        Some(Event::Interim(_)) => trace.head(used, None),
        Some(Event::Head(head)) => trace.head(used, Some(head.status)),
        Some(Event::Body(bytes)) => trace.body(bytes),
        Some(Event::Trailers(_) | Event::End(_) | Event::Error(_)) => (),
    }
}
