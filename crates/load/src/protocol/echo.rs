//! Echo-pong: request, reply, request, reply on a connection for as long as it lives, and then on a new one in its place.
//!
//! [`Conversation::poll`] is the hot path of the generator: no allocation, no lock, one clock reading for
//! all replies that came together. A connection owns no buffer: what it sends is lent from its thread's pattern, what it receives is
//! compared in the runtime's own buffer. Writing and reading go on at the same time, or a message larger than the socket
//! buffers would leave target and generator waiting for each other.

use crate::{
    engine::{
        connect,
        protocol::Protocol,
        scheduler::Action,
        transport::Socket,
        worker::{Core, Worker},
        write::write_on,
    },
    measure::recorder::Failure,
};
use brunt_runtime::net::{RecvBuf, TcpStream};
use brunt_tls::Transport;
use brunt_wire::echo::{Check, Checker, MessageId, Pattern};
use std::{
    future::poll_fn,
    io,
    num::NonZeroUsize,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// What a load thread knows of its messages.
pub struct Echo {
    pattern: Pattern,
    /// Bytes of a message.
    size: usize,
    verify: bool,
}

impl Echo {
    /// Messages of `size` bytes, at least 1; replies are compared or, without `verify`, counted.
    pub fn new(size: usize, verify: bool, seed: u64) -> Self {
        let pattern = Pattern::new(NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN), seed);
        Self { size: pattern.size(), pattern, verify }
    }
}

impl Protocol for Echo {
    type Link = Socket;

    async fn prepare(_: &Worker<Self>, _: u32, stream: TcpStream) -> io::Result<Socket> {
        Ok(Socket(stream))
    }

    fn keep_talking(
        worker: Rc<Worker<Self>>,
        index: u32,
        stream: Option<Socket>,
    ) -> impl Future<Output = ()> + 'static {
        run(worker, index, stream)
    }
}

async fn run(worker: Rc<Worker<Echo>>, index: u32, mut stream: Option<Socket>) {
    poll_fn(|cx| {
        worker.core.borrow_mut().scheduler.set_waker(index, cx.waker());
        Poll::Ready(())
    })
    .await;
    let mut failures = 0;
    let mut sequence = 0;
    loop {
        let mut stream = match stream.take() {
            Some(stream) => stream,
            // Boxed: rarely needed, and a million tasks would each keep room for it.
            None => match Box::pin(connect::again(&worker, index, &mut failures)).await {
                Some(stream) => stream,
                None => return,
            },
        };
        let mut conversation = Conversation::new(&worker, index, sequence);
        conversation.open();
        let failure = poll_fn(|cx| conversation.poll(&mut stream, cx)).await;
        worker.closed(index, failure);
        sequence = conversation.message.sequence;
        if conversation.answered {
            failures = 0;
        }
    }
}

/// The requests and replies of one open connection.
struct Conversation<'w> {
    worker: &'w Worker<Echo>,
    index: u32,
    /// The message under way, or the next one.
    message: MessageId,
    checker: Checker,
    written: usize,
    busy: bool,
    /// It has answered at least once.
    answered: bool,
}

impl<'w> Conversation<'w> {
    fn new(worker: &'w Worker<Echo>, index: u32, sequence: u32) -> Self {
        let connection = worker.share.global(index as usize) as u32;
        Self {
            worker,
            index,
            message: MessageId { connection, sequence },
            checker: Checker::default(),
            written: 0,
            busy: false,
            answered: false,
        }
    }

    /// Takes the first request, if there is one.
    fn open(&mut self) {
        let now = self.worker.clock.now();
        let next = self.worker.core.borrow_mut().scheduler.request(self.index, now);
        if next == Action::Send {
            self.begin();
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.message.sequence = self.message.sequence.wrapping_add(1);
        self.checker = Checker::default();
        self.written = 0;
        self.busy = true;
    }

    /// Talks until the connection has to be closed; says why.
    fn poll(&mut self, stream: &mut Socket, cx: &mut Context<'_>) -> Poll<Failure> {
        let core = &mut *self.worker.core.borrow_mut();
        core.activity += 1;
        loop {
            if !self.busy && !self.take_up(core) {
                return watch(stream, cx);
            }
            if self.written < core.protocol.size && !self.write(core, stream, cx) {
                return Poll::Ready(Failure::Reset);
            }
            loop {
                let Poll::Ready(received) = stream.poll_recv(cx) else {
                    // Nothing there; the sweep wakes those it has given up.
                    return match core.scheduler.is_timed_out(self.index) {
                        true => Poll::Ready(Failure::Timeout),
                        false => Poll::Pending,
                    };
                };
                let Ok(lease) = received else {
                    return Poll::Ready(Failure::Reset);
                };
                // Replies that came together came at one time; the clock is read once for all of them. Their bytes belong to
                // the interval in which they came, as their completions do.
                let now = core.turn_now(self.worker.clock);
                core.scheduler.recorder.advance(now);
                match self.take(core, &lease) {
                    Taken::Part => (),
                    Taken::Whole => {
                        self.answered = true;
                        match core.scheduler.complete(self.index, now) {
                            Action::Send => {
                                self.begin();
                                if !self.send_back(core, stream, cx, lease) {
                                    break;
                                }
                            }
                            Action::Wait => break self.busy = false,
                            Action::Close => return Poll::Ready(Failure::Timeout),
                        }
                    }
                    Taken::End => return Poll::Ready(Failure::Reset),
                    Taken::Wrong => return Poll::Ready(Failure::Protocol),
                }
            }
        }
    }

    /// Takes up the request this idle connection may have been given.
    #[inline(never)]
    fn take_up(&mut self, core: &mut Core<Echo>) -> bool {
        let scheduler = &mut core.scheduler;
        if !scheduler.has_assigned(self.index)
            || scheduler.send_assigned(self.index, self.worker.clock.now()) != Action::Send
        {
            return false;
        }
        self.begin();
        true
    }

    /// Writes as much of the message as the kernel and its queue take now; false if the connection is lost.
    #[inline(never)]
    fn write(&mut self, core: &mut Core<Echo>, stream: &mut Socket, cx: &mut Context<'_>) -> bool {
        let bytes = core.protocol.pattern.stamped(self.message);
        write_on(&bytes, &mut self.written, stream, &mut core.scheduler.recorder, cx)
    }

    /// Sends the next request out of the reply to the last one, if that came in one piece and was compared: but for the
    /// stamp its bytes are those of the request. Saves a copy; what cannot be sent so has to be written.
    #[inline]
    fn send_back(
        &mut self,
        core: &mut Core<Echo>,
        stream: &mut Socket,
        cx: &mut Context<'_>,
        mut reply: RecvBuf,
    ) -> bool {
        if !core.protocol.verify || reply.len() != core.protocol.size {
            return false;
        }
        self.message.restamp(&mut reply);
        let sent = matches!(stream.0.poll_send(cx, &mut Some(reply)), Poll::Ready(Ok(())));
        if sent {
            self.written = core.protocol.size;
            core.scheduler.recorder.moved_out(self.written);
        }
        sent
    }

    /// Takes a piece of the reply.
    #[inline]
    fn take(&mut self, core: &mut Core<Echo>, bytes: &[u8]) -> Taken {
        if bytes.is_empty() {
            return Taken::End;
        }
        core.scheduler.recorder.moved_in(bytes.len());
        let ping = &core.protocol;
        let reply = match ping.verify {
            true => self.checker.feed(&ping.pattern, self.message, bytes),
            false => self.checker.count(&ping.pattern, bytes),
        };
        match reply {
            Check::Incomplete => Taken::Part,
            Check::Complete if self.written == ping.size => Taken::Whole,
            // A reply before the end of the request is a guess, even if it is a right one.
            Check::Complete | Check::WrongByte { .. } | Check::Excess { .. } => Taken::Wrong,
        }
    }
}

/// What a received piece was.
enum Taken {
    /// More of the reply is to come.
    Part,
    /// The reply is whole and right.
    Whole,
    /// The peer has closed.
    End,
    /// Not what was sent.
    Wrong,
}

/// Waits on an idle connection for what should not come: its end, or bytes that nobody asked for.
#[inline(never)]
fn watch(stream: &mut Socket, cx: &mut Context<'_>) -> Poll<Failure> {
    match ready!(stream.poll_recv(cx)) {
        Ok(lease) if !lease.is_empty() => Poll::Ready(Failure::Protocol),
        Ok(_) | Err(_) => Poll::Ready(Failure::Reset),
    }
}
