//! A bounded channel: many senders and one receiver, on any threads.
//!
//! A value for which there is no room waits *in* the channel, behind those that came before, and moves up when the
//! receiver takes one. So nobody overtakes, a wake-up says that it is done and not that one may try, and a sender that
//! gives up takes its own value away and nothing that others wait for.

use super::{
    line::{Line, Ticket},
    lock::{Arc, Mutex, MutexGuard},
    wake,
};
use std::{
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

/// A channel with room for `capacity` values that nobody has received yet; more wait with their senders. The room is
/// taken as it is used.
///
/// ```
/// use brunt_runtime::{Runtime, sync::channel};
///
/// let (sender, mut receiver) = channel(2);
/// let thread = std::thread::spawn(move || {
///     Runtime::new().unwrap().block_on(async move {
///         for n in 0..10 {
///             sender.send(n).await.unwrap();
///         }
///     });
/// });
/// let sum = Runtime::new()?.block_on(async {
///     let mut sum = 0;
///     while let Some(n) = receiver.recv().await {
///         sum += n;
///     }
///     sum
/// });
/// assert_eq!(sum, 45);
/// # thread.join().unwrap();
/// # std::io::Result::Ok(())
/// ```
///
/// # Panics
/// If `capacity` is 0.
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a channel needs room for one value at least");
    let (sent, waiting) = (VecDeque::new(), Line::new());
    let state = State { capacity, sent, waiting, receiver: None, senders: 1, closed: false };
    let shared = Arc::new(Mutex::new(state));
    (Sender { shared: shared.clone() }, Receiver { shared })
}

struct State<T> {
    capacity: usize,
    /// Sent and not yet received.
    sent: VecDeque<T>,
    /// Not sent yet, each with the waker of its sender. Nobody waits while there is room, unless the channel is closed.
    waiting: Line<(T, Waker)>,
    receiver: Option<Waker>,
    senders: usize,
    closed: bool,
}

impl<T> State<T> {
    /// Takes a value in; the waker is the receiver's.
    fn put(&mut self, value: T) -> Result<Option<Waker>, TrySendError<T>> {
        if self.closed {
            return Err(TrySendError::Closed(value));
        }
        if self.sent.len() >= self.capacity {
            return Err(TrySendError::Full(value));
        }
        self.sent.push_back(value);
        Ok(self.receiver.take())
    }

    /// The oldest value. The first one that waits has moved up, and the waker is its sender's.
    fn take(&mut self) -> Option<(T, Option<Waker>)> {
        let value = self.sent.pop_front()?;
        let moved_up = if self.closed { None } else { self.waiting.pop() };
        let sender = moved_up.map(|(value, sender)| {
            self.sent.push_back(value);
            sender
        });
        Some((value, sender))
    }

    /// What is not there now will never be.
    fn is_over(&self) -> bool {
        self.closed || self.senders == 0
    }

    /// Takes no more values; the wakers are those of the senders that wait, who find their values still here.
    fn close(&mut self) -> Vec<Waker> {
        if mem::replace(&mut self.closed, true) {
            return Vec::new();
        }
        self.waiting.iter().map(|(_, sender)| sender.clone()).collect()
    }
}

type Shared<T> = Arc<Mutex<State<T>>>;

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts values into a channel. Clones put theirs into the same one; when all are gone the receiver finds the end.
pub struct Sender<T> {
    shared: Shared<T>,
}

impl<T> Sender<T> {
    /// Sends a value, after waiting for room if there is none. Senders are served in the order of their first polls.
    ///
    /// A future that is dropped has sent its value or drops it; [`Send::take_back`] tells which, and gives it back:
    ///
    /// ```
    /// # use brunt_runtime::{Runtime, sync::channel, time::timeout};
    /// # use std::time::Duration;
    /// # Runtime::new()?.block_on(async {
    /// let (sender, mut receiver) = channel(1);
    /// sender.send("first").await.unwrap();
    /// let mut send = sender.send("second");
    /// if timeout(Duration::from_millis(1), &mut send).await.is_err() {
    ///     assert_eq!(send.take_back(), Some("second"));
    /// }
    /// # drop(send);
    /// # assert_eq!(receiver.recv().await, Some("first"));
    /// # assert!(receiver.try_recv().is_err());
    /// # });
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// When the channel is closed; the error holds the value.
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send { sender: self, stage: Stage::New(value) }
    }

    /// Sends a value if there is room for it now.
    ///
    /// # Errors
    /// When there is none, or the channel is closed; the error holds the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let receiver = lock(&self.shared).put(value)?;
        wake(receiver);
        Ok(())
    }

    /// Whether nothing more can be sent: the receiver is gone or has closed the channel.
    pub fn is_closed(&self) -> bool {
        lock(&self.shared).closed
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        lock(&self.shared).senders += 1;
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.senders -= 1;
        let receiver = if state.senders == 0 { state.receiver.take() } else { None };
        drop(state);
        wake(receiver);
    }
}

/// The future of [`Sender::send`].
#[must_use = "futures do nothing unless awaited"]
pub struct Send<'a, T> {
    sender: &'a Sender<T>,
    stage: Stage<T>,
}

enum Stage<T> {
    New(T),
    Waiting(Ticket),
    Over,
}

// The value is never pinned: it moves through the channel.
impl<T> Unpin for Send<'_, T> {}

impl<T> Send<'_, T> {
    /// Gives the attempt up, and the value back unless it has been sent.
    pub fn take_back(&mut self) -> Option<T> {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::New(value) => Some(value),
            Stage::Waiting(ticket) => {
                let waiting = lock(&self.sender.shared).waiting.leave(ticket);
                waiting.map(|(value, _waker)| value)
            }
            Stage::Over => None,
        }
    }

    /// Waits on, if it must.
    fn wait(&mut self, ticket: Ticket, cx: &Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let mut state = lock(&self.sender.shared);
        if state.closed {
            let left = state.waiting.leave(ticket);
            drop(state);
            return Poll::Ready(left.map_or(Ok(()), |(value, _waker)| Err(SendError(value))));
        }
        let Some((_, waker)) = state.waiting.get(ticket) else {
            return Poll::Ready(Ok(()));
        };
        let before = (!waker.will_wake(cx.waker())).then(|| mem::replace(waker, cx.waker().clone()));
        self.stage = Stage::Waiting(ticket);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let value = match mem::replace(&mut this.stage, Stage::Over) {
            Stage::New(value) => value,
            Stage::Waiting(ticket) => return this.wait(ticket, cx),
            Stage::Over => panic!("a send was polled after it had ended"),
        };
        let mut state = lock(&this.sender.shared);
        match state.put(value) {
            Ok(receiver) => {
                drop(state);
                wake(receiver);
                Poll::Ready(Ok(()))
            }
            Err(TrySendError::Closed(value)) => Poll::Ready(Err(SendError(value))),
            Err(TrySendError::Full(value)) => {
                this.stage = Stage::Waiting(state.waiting.enter((value, cx.waker().clone())));
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Send<'_, T> {
    fn drop(&mut self) {
        drop(self.take_back());
    }
}

/// Takes values out of a channel. Dropping it closes the channel and drops what was sent and not received.
pub struct Receiver<T> {
    shared: Shared<T>,
}

impl<T> Receiver<T> {
    /// The next value; `None` when there is none and never will be, for all senders are gone or [`close`](Self::close)
    /// was called. A dropped future has taken nothing.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As `recv`, for hand-written futures and adapters.
    pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.shared);
        if let Some((value, sender)) = state.take() {
            drop(state);
            wake(sender);
            return Poll::Ready(Some(value));
        }
        if state.is_over() {
            return Poll::Ready(None);
        }
        let before = state.receiver.replace(cx.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// The next value if there is one now.
    ///
    /// # Errors
    /// When there is none; the error tells whether one may come.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let mut state = lock(&self.shared);
        let Some((value, sender)) = state.take() else {
            return Err(if state.is_over() { TryRecvError::Closed } else { TryRecvError::Empty });
        };
        drop(state);
        wake(sender);
        Ok(value)
    }

    /// Lets nobody send any more. What has been sent can still be received.
    pub fn close(&mut self) {
        let senders = lock(&self.shared).close();
        wake(senders);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        let senders = state.close();
        let (unreceived, waker) = (mem::take(&mut state.sent), state.receiver.take());
        drop(state);
        wake(senders);
        drop((unreceived, waker));
    }
}

/// The channel was closed; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why [`Sender::try_send`] has not sent; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There was no room.
    Full(T),
    /// The receiver is gone or has closed the channel.
    Closed(T),
}

/// Why [`Receiver::try_recv`] has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// None is there now.
    Empty,
    /// None is there and none will come.
    Closed,
}

const CLOSED: &str = "the channel is closed";

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Full(_)) { "the channel is full" } else { CLOSED })
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Empty { "the channel is empty" } else { CLOSED })
    }
}

// The value need not be printable for the error to be.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError")
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Full(_)) { "Full" } else { "Closed" })
    }
}

impl<T> std::error::Error for SendError<T> {}
impl<T> std::error::Error for TrySendError<T> {}
impl std::error::Error for TryRecvError {}
