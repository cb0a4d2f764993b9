//! A channel against a model of it: one line of values of which the first few are sent, and the rest wait.

use brunt_runtime::sync::{
    channel,
    channel::{Send, SendError, TryRecvError, TrySendError},
};
use proptest::prelude::*;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Notes that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Flag {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Send,
    TrySend,
    PollAgain(usize),
    TakeBack(usize),
    Drop(usize),
    Receive,
    WaitToReceive,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => Just(Op::Send),
        1 => Just(Op::TrySend),
        2 => (0usize..8).prop_map(Op::PollAgain),
        1 => (0usize..8).prop_map(Op::TakeBack),
        1 => (0usize..8).prop_map(Op::Drop),
        4 => Just(Op::Receive),
        2 => Just(Op::WaitToReceive),
    ]
}

struct Model {
    room: usize,
    line: Vec<u32>,
    sent: usize,
    closed: bool,
}

impl Model {
    fn waits(&self, value: u32) -> bool {
        self.line[self.sent..].contains(&value)
    }

    /// As many move up as there is room for.
    fn move_up(&mut self) {
        if !self.closed {
            self.sent = self.room.min(self.line.len());
        }
    }

    fn leave(&mut self, value: u32) -> Option<u32> {
        let waits = self.waits(value);
        if waits {
            self.line.retain(|other| *other != value);
        }
        waits.then_some(value)
    }

    fn receive(&mut self) -> Result<u32, TryRecvError> {
        if self.sent == 0 {
            return Err(if self.closed { TryRecvError::Closed } else { TryRecvError::Empty });
        }
        self.sent -= 1;
        let value = self.line.remove(0);
        self.move_up();
        Ok(value)
    }
}

struct Attempt<'a> {
    value: u32,
    send: Send<'a, u32>,
    flag: Arc<Flag>,
    /// It has moved up or been refused since it was polled.
    due: bool,
}

fn poll(attempt: &mut Attempt<'_>) -> Poll<Result<(), SendError<u32>>> {
    let waker = Waker::from(attempt.flag.clone());
    Pin::new(&mut attempt.send).poll(&mut Context::from_waker(&waker))
}

proptest! {
    #[test]
    fn nobody_overtakes_and_nothing_is_lost(room in 1usize..4, ops in proptest::collection::vec(op(), 1..150), close_at in 0usize..300) {
        let (sender, mut receiver) = channel(room);
        let mut model = Model { room, line: Vec::new(), sent: 0, closed: false };
        let mut attempts = Vec::<Attempt<'_>>::new();
        let (ear, mut listening) = (Arc::new(Flag::default()), false);
        for (index, op) in ops.into_iter().enumerate() {
            let value = index as u32;
            let sent_before = model.sent;
            match if index == close_at { Op::Close } else { op } {
                Op::Send => {
                    let mut attempt = Attempt { value, send: sender.send(value), flag: Arc::default(), due: false };
                    let polled = poll(&mut attempt);
                    if model.closed {
                        prop_assert_eq!(polled, Poll::Ready(Err(SendError(value))));
                    } else {
                        model.line.push(value);
                        model.move_up();
                        prop_assert_eq!(polled.is_pending(), model.waits(value));
                        if polled.is_pending() {
                            attempts.push(attempt);
                        }
                    }
                }
                Op::TrySend => {
                    let expected = match () {
                        () if model.closed => Err(TrySendError::Closed(value)),
                        () if model.line.len() >= room => Err(TrySendError::Full(value)),
                        () => Ok(()),
                    };
                    prop_assert_eq!(sender.try_send(value), expected);
                    if expected.is_ok() {
                        model.line.push(value);
                        model.move_up();
                    }
                }
                Op::PollAgain(pick) if pick < attempts.len() => {
                    let value = attempts[pick].value;
                    let expected = match () {
                        () if !model.waits(value) => Poll::Ready(Ok(())),
                        () if model.closed => Poll::Ready(Err(SendError(model.leave(value).unwrap()))),
                        () => Poll::Pending,
                    };
                    prop_assert_eq!(poll(&mut attempts[pick]), expected);
                    if expected.is_ready() {
                        attempts.remove(pick);
                    }
                }
                Op::TakeBack(pick) if pick < attempts.len() => {
                    let mut attempt = attempts.remove(pick);
                    prop_assert_eq!(attempt.send.take_back(), model.leave(attempt.value));
                    prop_assert_eq!(attempt.send.take_back(), None);
                }
                Op::Drop(pick) if pick < attempts.len() => {
                    model.leave(attempts.remove(pick).value);
                }
                Op::Receive => prop_assert_eq!(receiver.try_recv(), model.receive()),
                Op::WaitToReceive => {
                    let expected = match model.receive() {
                        Ok(value) => Poll::Ready(Some(value)),
                        Err(TryRecvError::Closed) => Poll::Ready(None),
                        Err(TryRecvError::Empty) => Poll::Pending,
                    };
                    let waker = Waker::from(ear.clone());
                    prop_assert_eq!(receiver.poll_recv(&Context::from_waker(&waker)), expected);
                    listening |= expected.is_pending();
                }
                Op::Close => {
                    receiver.close();
                    model.closed = true;
                }
                _ => (),
            }
            // Whoever has moved up, or is refused, was woken; nobody else was.
            for attempt in &mut attempts {
                let due = model.closed || !model.waits(attempt.value);
                prop_assert_eq!(attempt.flag.take(), due && !attempt.due, "value {}", attempt.value);
                attempt.due = due;
            }
            if listening && model.sent > sent_before {
                prop_assert!(ear.take(), "the receiver sleeps beside a value");
                listening = false;
            }
            prop_assert_eq!(sender.is_closed(), model.closed);
        }
        drop(attempts);
        drop(sender);
        let mut left = Vec::new();
        while let Ok(value) = receiver.try_recv() {
            left.push(value);
        }
        prop_assert_eq!(&left[..], &model.line[..model.sent]);
        prop_assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    }
}
