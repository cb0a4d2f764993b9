//! Redirects that are followed: where one leads is the next request of its connection.

use super::super::{HttpProtocol, Outgoing, Reply};
use super::HttpConversation;
use crate::engine::trace::Trace;
use crate::engine::{worker::Core, wrong_reply};
use crate::http::redirect::{Following, Rule, leads_to};
use crate::measure::interval::Phase;
use crate::measure::recorder::Failure;

/// Redirects in a row.
pub(super) struct Chain {
    next: Following,
    /// Else `next` is due.
    is_sent: bool,
    /// How many were followed.
    length: u64,
    /// In which the redirect was counted; a request that follows it in another one is not.
    pub counted_in: Phase,
    /// Of the first request, whose name the later ones share.
    position: usize,
}

/// The request of a chain that was sent last.
#[inline]
pub(super) fn sent(chain: Option<&Chain>) -> Option<&[u8]> {
    chain.filter(|chain| chain.is_sent).map(|chain| &chain.next.bytes[..])
}

impl<W: Trace> HttpConversation<'_, W> {
    /// Sets the next request to that of the chain; false if it has none that is due.
    #[cold]
    pub fn next_of_chain(&mut self, core: &mut Core<HttpProtocol>) -> bool {
        let Some(chain) = self.chain.as_mut().filter(|chain| !chain.is_sent) else {
            self.chain = None;
            return false;
        };
        chain.is_sent = true;
        if core.scheduler.recorder.phase() == chain.counted_in {
            core.scheduler.recorder.counters().replies.follow();
        }
        let last = self.sent + 1 >= core.protocol.reuse;
        if last {
            chain.next.close();
        }
        let range = 0..chain.next.bytes.len();
        self.outgoing = Outgoing { batch: chain.next.batch, range, last, position: chain.position };
        true
    }

    /// Drops a chain whose request was lost with its connection.
    pub fn reset_chain(&mut self) {
        if sent(self.chain.as_deref()).is_some() {
            self.chain = None;
        }
    }

    /// Checks a reply that may be one of at most `most` redirects in a row; returns too whether it is followed.
    #[cold]
    #[inline(never)]
    pub fn check_redirect(
        &mut self,
        core: &Core<HttpProtocol>,
        most: u64,
        reply: &Reply<'_>,
    ) -> (Result<(), Failure>, bool) {
        let Some(location) = leads_to(reply.status, reply.fields.get("location")) else {
            self.chain = None;
            return (core.protocol.expect.check(reply.status, reply.length, reply.body), false);
        };
        let length = self.chain.as_ref().map_or(0, |chain| chain.length);
        let request = sent(self.chain.as_deref())
            .unwrap_or_else(|| core.protocol.bytes(self.host, &self.buffer, self.outgoing.range.clone()));
        let rule = Rule { most, is_tls: core.protocol.hosts[self.host as usize].tls.is_some() };
        let position = self.outgoing.position;
        match rule.follow(length, request, reply.status, location) {
            Ok(next) => {
                self.chain = Some(Box::new(Chain {
                    next,
                    is_sent: false,
                    length: length + 1,
                    counted_in: Phase::Connect,
                    position,
                }));
                (Ok(()), true)
            }
            Err(refusal) => {
                self.chain = None;
                wrong_reply::note_redirect(&self.worker.shared, reply.status, &refusal);
                (Err(Failure::Status), false)
            }
        }
    }
}
