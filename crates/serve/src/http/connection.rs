//! The I/O of one connection, the same for every model: receive, step the conversation, write, perform its action.
//!
//! [`Hot::poll`] handles the frequent case: whole requests, and responses that take one write. It holds no buffer while it
//! waits. Everything else is a boxed future, so that connections that never need it do not carry its size.

use super::action::{Action, LINGER};
use super::conversation::{Conversation, Endpoint};
use super::deadlines::Phase;
use super::response_writer::GARBAGE;
use super::worker::{ConnectionGuard, Worker};
use brunt_tls::Transport;
use brunt_wire::http1::server::Waiting;
use std::task::{Context, Poll};
use std::{future::poll_fn, io, rc::Rc, time::Duration};

/// A model's stream: a [`Transport`], and what only a server needs of it.
pub(crate) trait ServerTransport: Transport<RecvBuf: 'static> + Endpoint + 'static {
    /// Whether [`Self::poll_close_notify`] comes before a regular close.
    const NEEDS_CLOSE_NOTIFY: bool = false;

    /// As `poll_write`, but without TLS.
    fn poll_write_raw(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write(cx, bytes)
    }
    fn poll_close_notify(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    /// Ready when the kernel has everything.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Closes the direction to the client.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Makes the coming close a reset.
    fn reset_when_closed(&self);
    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static;
}

pub(crate) async fn serve<S: ServerTransport>(stream: S, listener: u16, worker: Rc<Worker>) {
    let mut hot =
        Hot { stream, conversation: Conversation::new(listener), guard: ConnectionGuard::new(worker), begun: false };
    let result = loop {
        let goes_on = match poll_fn(|cx| hot.poll(cx)).await {
            Rare::Done if !S::NEEDS_CLOSE_NOTIFY => Ok(false),
            event => Box::pin(hot.rare(event)).await,
        };
        match goes_on {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let worker = hot.guard.worker.clone();
    hot.conversation.end(&worker);
    if let Err(error) = result
        && !matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
    {
        worker.counters.failed.add(1);
    }
}

struct Hot<S: ServerTransport> {
    stream: S,
    conversation: Conversation,
    guard: ConnectionGuard,
    begun: bool,
}

/// A case that [`Hot::poll`] leaves to [`Hot::rare`].
enum Rare<S: ServerTransport> {
    /// Input of which `used` bytes are consumed, and output to write before `next`.
    Step {
        lease: S::RecvBuf,
        used: usize,
        next: Action,
        unsent: Vec<u8>,
    },
    /// Everything is written; close the connection.
    Done,
    Expired,
    Failed(io::Error),
}

impl<S: ServerTransport> Hot<S> {
    /// Answers requests as long as that takes only receiving and writing.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Rare<S>> {
        let ConnectionGuard { worker, entry } = &self.guard;
        if !self.begun {
            entry.set_waker(cx.waker());
            self.begun = true;
        }
        loop {
            let lease = match self.stream.poll_recv(cx) {
                Poll::Ready(Ok(lease)) => lease,
                Poll::Ready(Err(error)) => return Poll::Ready(Rare::Failed(error)),
                Poll::Pending if worker.deadlines.has_expired(entry) => return Poll::Ready(Rare::Expired),
                Poll::Pending => return Poll::Pending,
            };
            let mut out = worker.out.borrow_mut();
            out.clear();
            if lease.is_empty() {
                let next = self.conversation.eof(worker, &mut out);
                let step = Rare::Step { lease, used: 0, next, unsent: out.to_vec() };
                return Poll::Ready(if out.is_empty() { Rare::Done } else { step });
            }
            let (mut input, requests) = (&lease[..], self.conversation.requests());
            let next = self.conversation.step(&mut input, worker, &self.stream, &mut out);
            worker.counters.received.add(lease.len() as u64);
            if matches!(next, Action::Read | Action::Close) {
                let phase = phase(self.conversation.waiting());
                if self.conversation.requests() != requests {
                    worker.deadlines.begin(entry, phase);
                } else {
                    worker.deadlines.continue_in(entry, phase);
                }
                if out.is_empty() && next == Action::Read {
                    continue;
                }
                let sent = match self.stream.poll_write(cx, &out) {
                    Poll::Ready(Ok(sent)) => sent,
                    Poll::Ready(Err(error)) => return Poll::Ready(Rare::Failed(error)),
                    Poll::Pending => 0,
                };
                worker.counters.sent.add(sent as u64);
                match next {
                    Action::Read if sent == out.len() => continue,
                    Action::Close if sent == out.len() => return Poll::Ready(Rare::Done),
                    _ => {}
                }
                let (used, unsent) = (lease.len(), out[sent..].to_vec());
                return Poll::Ready(Rare::Step { lease, used, next, unsent });
            }
            let (used, unsent) = (lease.len() - input.len(), out.to_vec());
            return Poll::Ready(Rare::Step { lease, used, next, unsent });
        }
    }

    /// Handles a rare case. Returns whether the connection continues.
    async fn rare(&mut self, event: Rare<S>) -> io::Result<bool> {
        let worker = self.guard.worker.clone();
        let mut out = Vec::new();
        match event {
            Rare::Failed(error) => Err(error),
            Rare::Step { lease, mut used, mut next, unsent } => {
                out = unsent;
                loop {
                    self.write_all(&out, S::poll_write).await?;
                    out.clear();
                    match next {
                        Action::Read => {
                            self.wait_for(phase(self.conversation.waiting()));
                            return Ok(true);
                        }
                        Action::Write => {}
                        Action::Pause(pause) => {
                            self.wait_for(Phase::Delay);
                            S::sleep(pause).await;
                        }
                        last => return self.last(last).await,
                    }
                    let mut input = &lease[used..];
                    next = self.conversation.step(&mut input, &worker, &self.stream, &mut out);
                    used = lease.len() - input.len();
                }
            }
            Rare::Done => self.last(Action::Close).await,
            Rare::Expired => {
                // The stop of the server expires connections too; those are not timeouts.
                if !worker.is_stopping() {
                    worker.counters.late.add(1);
                }
                if worker.deadlines.phase(&self.guard.entry) == Phase::Idle {
                    return self.last(Action::Close).await;
                }
                let next = self.conversation.expire(&worker, &mut out);
                self.write_all(&out, S::poll_write).await?;
                self.last(next).await
            }
        }
    }

    fn wait_for(&self, phase: Phase) {
        self.guard.worker.deadlines.begin(&self.guard.entry, phase);
    }

    /// Writes everything. Fails if the client takes nothing for too long.
    async fn write_all(
        &mut self,
        mut bytes: &[u8],
        write: impl Fn(&mut S, &mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            self.wait_for(Phase::Sending);
            let sent = self.in_time(|stream, cx| write(stream, cx, bytes)).await?;
            self.guard.worker.counters.sent.add(sent as u64);
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Polls until ready, or until the deadline of the current phase.
    async fn in_time<T>(
        &mut self,
        mut poll: impl FnMut(&mut S, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        poll_fn(|cx| match poll(&mut self.stream, cx) {
            Poll::Pending if self.guard.has_expired() => {
                self.guard.worker.counters.late.add(1);
                // The client does not take what is still queued.
                self.stream.reset_when_closed();
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            polled => polled,
        })
        .await
    }

    async fn last(&mut self, how: Action) -> io::Result<bool> {
        match how {
            Action::Reset => {
                // Earlier responses must still arrive.
                self.wait_for(Phase::Sending);
                self.in_time(|stream, cx| stream.poll_flush(cx)).await?;
                self.stream.reset_when_closed();
            }
            Action::Stall => {
                self.wait_for(Phase::Idle);
                let _whatever_ended_it = self.discard(usize::MAX).await;
            }
            Action::Linger(most) => self.linger(most).await?,
            Action::Garbage => {
                self.write_all(GARBAGE, S::poll_write_raw).await?;
                self.linger(LINGER).await?;
            }
            Action::Close if S::NEEDS_CLOSE_NOTIFY => {
                self.wait_for(Phase::Sending);
                self.in_time(|stream, cx| stream.poll_close_notify(cx)).await?;
            }
            Action::Close | Action::Cut | Action::Read | Action::Write | Action::Pause(_) => {}
        }
        Ok(false)
    }

    async fn linger(&mut self, most: usize) -> io::Result<()> {
        self.wait_for(Phase::Sending);
        self.in_time(|stream, cx| stream.poll_shutdown(cx)).await?;
        self.wait_for(Phase::Lingering);
        self.discard(most).await
    }

    /// Discards input until the client closes, the deadline passes, or `most` bytes have arrived.
    async fn discard(&mut self, most: usize) -> io::Result<()> {
        let mut discarded = 0;
        let Self { stream, guard, .. } = self;
        poll_fn(move |cx| {
            loop {
                match stream.poll_recv(cx) {
                    Poll::Ready(Ok(lease)) if !lease.is_empty() && discarded < most => discarded += lease.len(),
                    Poll::Ready(result) => return Poll::Ready(result.map(drop)),
                    Poll::Pending if guard.has_expired() => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

fn phase(waiting: Waiting) -> Phase {
    match waiting {
        Waiting::Idle | Waiting::Closed => Phase::Idle,
        Waiting::Head => Phase::Head,
        Waiting::Body => Phase::Body,
    }
}
