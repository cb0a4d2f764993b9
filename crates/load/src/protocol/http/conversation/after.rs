//! What follows a reply: the next one, the next request, or the end of the connection.

use super::super::{End, HttpProtocol, Taken};
use super::HttpConversation;
use crate::engine::{scheduler::Action, trace::Trace, worker::Core};
use crate::measure::recorder::Failure;

impl<W: Trace> HttpConversation<'_, W> {
    /// What follows a reply with requests behind it.
    #[inline(always)]
    pub(super) fn after_one(&mut self, core: &mut Core<HttpProtocol>, closes: bool) -> Taken {
        core.scheduler.remove_oldest(self.index);
        if closes {
            // It is unknown whether the target has read the requests behind this one.
            self.trace.failed(&"the target closed the connection with requests unanswered");
            return Taken::End(End::Lost(self.unanswered(core)));
        }
        if self.in_batch || self.sent >= core.protocol.reuse { Taken::Part } else { Taken::Capacity }
    }

    /// What follows the reply to the last request in flight. `first`: the target does not know that the connection closes.
    #[inline(always)]
    pub(super) fn after_last(&mut self, core: &mut Core<HttpProtocol>, now: u64, closes: bool, first: bool) -> Taken {
        // A target may answer before it has the whole request, the rest of which would then precede the next one.
        let keep = !closes && self.sent < core.protocol.reuse && self.written == self.outgoing.range.len();
        let delay = core.protocol.delay(self.host);
        if !keep || delay.is_some() {
            core.scheduler.suspend(self.index);
            self.in_batch = false;
            return Taken::End(End::Answered { keep, closes: closes && !first || self.outgoing.last, delay });
        }
        if !self.in_batch {
            core.scheduler.remove_oldest(self.index);
            return Taken::Capacity;
        }
        match core.scheduler.next_request(self.index, now) {
            Action::Send => {
                self.begin(core, now);
                Taken::Next
            }
            Action::Wait => Taken::Idle,
            Action::Close => {
                self.in_batch = false;
                Taken::End(End::Answered { keep: true, closes: false, delay: None })
            }
        }
    }

    /// How the requests in flight failed if the target has ended the connection before the first byte of a reply to them.
    #[cold]
    pub(super) fn unanswered(&self, core: &mut Core<HttpProtocol>) -> Failure {
        match self.sent - u64::from(self.outstanding) {
            0 => Failure::Reset,
            _ if self.first_ns.is_some() => Failure::Reset,
            replies => {
                core.scheduler.recorder.counters().closed_after(replies);
                Failure::Closed
            }
        }
    }
}
