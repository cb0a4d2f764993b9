//! The loop of one open connection: requests out, replies in. Shared by all protocols.
//!
//! Invariants kept here for all protocols:
//! - Each poll counts as activity; the dispatcher bills spinning without activity as waiting.
//! - The clock is read once for all replies that arrived together, in this order: [`Core::turn_now`], `Recorder::advance`,
//!   `Recorder::bytes`. So bytes and completions belong to the interval in which they arrived.
//! - A connection without data whose request has timed out ends; the sweep has woken it for that.
//! - An idle connection is watched for its end and for data that was not requested.
//! - Writing and reading alternate, or a message larger than the socket buffers would block both ends.

use super::trace::Trace;
use super::transport;
use super::worker::{Core, Worker};
use crate::measure::recorder::{Failure, Recorder};
use brunt_tls::Transport;
use std::future::poll_fn;
use std::task::{Context, Poll};

pub enum Step<E> {
    Receive,
    /// Write the next request, or take one.
    Write,
    End(E),
}

/// The protocol's part of the loop. No dynamic dispatch: this is the hot path of the generator.
pub trait Conversation<P, T: Transport> {
    /// Why [`poll`] ends.
    type End: From<Failure>;
    type Trace: Trace;
    /// Whether an idle connection, which the target may close at any time, is checked before it takes a request. Costs a
    /// receive for each request of an open loop.
    const CHECKS_IDLE_FIRST: bool;

    /// No request is unsent or unanswered.
    fn is_idle(&self) -> bool;

    fn has_capacity(&self) -> bool;

    fn take_assigned(&mut self, core: &mut Core<P>);

    /// Earliest time of a reply, in nanoseconds of the run's clock.
    fn not_before(&self) -> u64 {
        0
    }

    fn has_unwritten(&self, core: &Core<P>) -> bool;

    /// Writes as much as the kernel takes now; false if the connection is lost.
    fn write(&mut self, core: &mut Core<P>, stream: &mut T, cx: &mut Context<'_>) -> bool;

    /// Takes received bytes, at least one, which may be sent back as they are.
    fn receive(
        &mut self,
        core: &mut Core<P>,
        stream: &mut T,
        cx: &mut Context<'_>,
        bytes: T::RecvBuf,
        now: u64,
    ) -> Step<Self::End>;

    /// The connection is lost, by an error, with a reply outstanding.
    fn lost(&self, core: &mut Core<P>, failure: Failure) -> Self::End;

    /// The target has closed with a reply outstanding.
    fn end_of_stream(&mut self, core: &mut Core<P>, now: u64) -> Step<Self::End>;

    /// Takes bytes that came on an idle connection; false if they are wrong, and the connection is lost.
    fn receive_idle(&mut self, _: &mut Core<P>, _: &[u8], _now: u64) -> bool {
        false
    }

    /// The target has closed an idle connection.
    fn closed_idle() -> Self::End;

    fn trace(&mut self) -> &mut Self::Trace;
}

/// The end of the stream where a reply was awaited, for [`Trace::failed`].
pub const CLOSED_EARLY: &str = "the target closed the connection before its reply was complete";

/// Drives the conversation on connection `index` until the connection ends or pauses.
#[inline(always)]
pub fn poll<P, T: Transport, C: Conversation<P, T>>(
    conversation: &mut C,
    worker: &Worker<P>,
    index: u32,
    stream: &mut T,
    cx: &mut Context<'_>,
) -> Poll<C::End> {
    let core = &mut *worker.core.borrow_mut();
    core.activity += 1;
    loop {
        if conversation.has_capacity() {
            if C::CHECKS_IDLE_FIRST
                && conversation.is_idle()
                && let Poll::Ready(end) = watch(conversation, core, worker, stream, cx)
            {
                return Poll::Ready(end);
            }
            conversation.take_assigned(core);
            if conversation.is_idle() {
                return match C::CHECKS_IDLE_FIRST {
                    true => Poll::Pending,
                    false => watch(conversation, core, worker, stream, cx),
                };
            }
        }
        if conversation.has_unwritten(core) && !conversation.write(core, stream, cx) {
            return Poll::Ready(conversation.lost(core, Failure::Reset));
        }
        loop {
            let Poll::Ready(received) = stream.poll_recv(cx) else {
                return match core.scheduler.is_timed_out(index) {
                    true => Poll::Ready(Failure::Timeout.into()),
                    false => Poll::Pending,
                };
            };
            let bytes = match received {
                Ok(bytes) => bytes,
                Err(error) => {
                    conversation.trace().failed(&error);
                    return Poll::Ready(conversation.lost(core, transport::failure(&error)));
                }
            };
            let now = core.turn_now(worker.clock).max(conversation.not_before());
            core.scheduler.recorder.advance(now);
            let step = match bytes.len() {
                0 => conversation.end_of_stream(core, now),
                len => {
                    core.scheduler.recorder.bytes().received += len as u64;
                    conversation.trace().received();
                    conversation.receive(core, stream, cx, bytes, now)
                }
            };
            match step {
                Step::Receive => (),
                Step::Write => break,
                Step::End(end) => return Poll::Ready(end),
            }
        }
    }
}

#[inline(never)]
fn watch<P, T: Transport, C: Conversation<P, T>>(
    conversation: &mut C,
    core: &mut Core<P>,
    worker: &Worker<P>,
    stream: &mut T,
    cx: &mut Context<'_>,
) -> Poll<C::End> {
    loop {
        let Poll::Ready(received) = stream.poll_recv(cx) else { return Poll::Pending };
        return Poll::Ready(match received {
            Ok(bytes) if !bytes.is_empty() => {
                let now = core.turn_now(worker.clock);
                if conversation.receive_idle(core, &bytes, now) {
                    continue;
                }
                Failure::Protocol.into()
            }
            Ok(_) | Err(_) => C::closed_idle(),
        });
    }
}

/// Drives a conversation that takes no further requests until all are answered; false if the connection ends before.
pub async fn finish<P, T: Transport, C: Conversation<P, T>>(
    conversation: &mut C,
    worker: &Worker<P>,
    index: u32,
    stream: &mut T,
) -> bool {
    poll_fn(|cx| {
        let ended = poll(conversation, worker, index, stream, cx);
        if conversation.is_idle() { Poll::Ready(true) } else { ended.map(|_| false) }
    })
    .await
}

/// Writes as much of `bytes` from `written` on as the kernel takes now; false if the connection is lost.
#[inline]
pub fn write(
    bytes: &[u8],
    written: &mut usize,
    stream: &mut impl Transport,
    recorder: &mut Recorder,
    trace: &mut impl Trace,
    cx: &mut Context<'_>,
) -> bool {
    while *written < bytes.len() {
        match stream.poll_write(cx, &bytes[*written..]) {
            Poll::Ready(Ok(len)) => {
                *written += len;
                recorder.bytes().sent += len as u64;
            }
            Poll::Ready(Err(error)) => {
                trace.failed(&error);
                return false;
            }
            Poll::Pending => return true,
        }
    }
    trace.sent();
    true
}
