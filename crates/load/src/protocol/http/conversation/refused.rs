//! Replies that are refused, and bytes behind a reply.

use super::super::{End, HttpProtocol, Taken};
use super::HttpConversation;
use crate::engine::trace::Trace;
use crate::engine::{worker::Core, wrong_reply};
use crate::measure::recorder::Failure;
use brunt_wire::http1::{Leniencies, ParseError, Persistence};

/// Why a reply that ends HTTP on its connection is refused.
const SWITCH: &str = "status 101, for which no request asked (RFC 9110 15.2.2)";

impl<W: Trace> HttpConversation<'_, W> {
    /// Notes why a reply is refused.
    #[cold]
    #[inline(never)]
    pub fn refuse(&mut self, core: &mut Core<HttpProtocol>, now: u64, error: ParseError) -> Taken {
        let refusal = self.replies.refusal(error, &core.protocol.limits);
        let why = format!("{refusal}{}", wrong_reply::flag(error));
        let told = wrong_reply::note_refused(&self.worker.shared, self.number(), &why, refusal.bytes());
        self.refused(core, now, error.rule(), &told)
    }

    /// Refuses to change the protocol.
    #[cold]
    pub fn refuse_switch(&mut self, core: &mut Core<HttpProtocol>, now: u64) -> Taken {
        let told = wrong_reply::note_refused(&self.worker.shared, self.number(), &SWITCH, &[]);
        self.refused(core, now, SWITCH, &told)
    }

    /// Counts a refused reply.
    fn refused(&mut self, core: &mut Core<HttpProtocol>, now: u64, rule: &str, told: &str) -> Taken {
        core.scheduler.recorder.advance(now);
        core.scheduler.recorder.counters().replies.refused(rule);
        self.trace.failed(&told);
        Taken::End(End::Lost(Failure::Protocol))
    }

    /// The number of the reply that is awaited, on this connection from 1.
    fn number(&self) -> u64 {
        (self.sent + 1).saturating_sub(self.outstanding.into())
    }

    /// Takes bytes behind the last reply: blank lines, if they are read leniently, whose rule is returned; else too many bytes.
    #[cold]
    #[inline(never)]
    pub fn excess(
        &mut self,
        core: &mut Core<HttpProtocol>,
        now: u64,
        persistence: Persistence,
        rest: &[u8],
    ) -> Result<Leniencies, Taken> {
        match self.replies.unrequested(rest, &core.protocol.limits) {
            Some(error) => {
                self.trace.answered(false, persistence == Persistence::Keep, false);
                Err(self.refuse(core, now, error))
            }
            None => Ok(self.replies.take_accepted()),
        }
    }

    /// Takes bytes that came on an idle connection; false if they are not blank lines that are read leniently.
    #[cold]
    pub fn skips_idle(&mut self, core: &mut Core<HttpProtocol>, now: u64, bytes: &[u8]) -> bool {
        if let Some(error) = self.replies.unrequested(bytes, &core.protocol.limits) {
            self.refuse(core, now, error);
            return false;
        }
        core.scheduler.recorder.counters().replies.lenient(self.replies.take_accepted());
        true
    }
}
