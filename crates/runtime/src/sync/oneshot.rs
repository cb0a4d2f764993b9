//! One value, once, from one place to another, on any threads.

use super::{
    lock::{Arc, Mutex, MutexGuard},
    wake,
};
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

/// A way for one value.
///
/// ```
/// use brunt_runtime::{Runtime, sync::oneshot};
///
/// let (sender, receiver) = oneshot();
/// let thread = std::thread::spawn(move || sender.send("ready"));
/// assert_eq!(Runtime::new()?.block_on(receiver), Ok("ready"));
/// # assert_eq!(thread.join().unwrap(), Ok(()));
/// # std::io::Result::Ok(())
/// ```
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { value: None, sender: Side::Here(None), receiver: Side::Here(None) };
    let shared = Arc::new(Mutex::new(state));
    (Sender { shared: shared.clone() }, Receiver { shared })
}

struct State<T> {
    value: Option<T>,
    sender: Side,
    receiver: Side,
}

/// One of the two ends, with its waker if it waits for the other.
enum Side {
    Here(Option<Waker>),
    Gone,
}

impl Side {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    /// It waits; the waker of before must be dropped outside the lock.
    fn park(&mut self, cx: &Context<'_>) -> Self {
        std::mem::replace(self, Self::Here(Some(cx.waker().clone())))
    }

    /// Its waker, if it waits.
    fn rouse(&mut self) -> Option<Waker> {
        match self {
            Self::Here(waiting) => waiting.take(),
            Self::Gone => None,
        }
    }
}

fn lock<T>(shared: &Arc<Mutex<State<T>>>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the value. Dropping it instead tells the receiver that none will come.
pub struct Sender<T> {
    shared: Arc<Mutex<State<T>>>,
}

impl<T> Sender<T> {
    /// Sends the value, at once.
    ///
    /// # Errors
    /// When the receiver is gone; the value comes back. A receiver may still go without having looked.
    pub fn send(self, value: T) -> Result<(), T> {
        let mut state = lock(&self.shared);
        if state.receiver.is_gone() {
            return Err(value);
        }
        state.value = Some(value);
        // The receiver is woken when `self` is dropped.
        Ok(())
    }

    /// Waits until the receiver is gone, and so nobody wants the value any more.
    pub async fn closed(&mut self) {
        poll_fn(|cx| {
            let mut state = lock(&self.shared);
            if state.receiver.is_gone() {
                return Poll::Ready(());
            }
            let before = state.sender.park(cx);
            drop(state);
            drop(before);
            Poll::Pending
        })
        .await
    }

    /// Whether the receiver is gone.
    pub fn is_closed(&self) -> bool {
        lock(&self.shared).receiver.is_gone()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        let before = std::mem::replace(&mut state.sender, Side::Gone);
        let receiver = state.receiver.rouse();
        drop(state);
        wake(receiver);
        drop(before);
    }
}

/// The future of the value.
#[must_use = "futures do nothing unless awaited"]
pub struct Receiver<T> {
    shared: Arc<Mutex<State<T>>>,
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, Closed>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.shared);
        if let Some(value) = state.value.take() {
            return Poll::Ready(Ok(value));
        }
        if state.sender.is_gone() {
            return Poll::Ready(Err(Closed));
        }
        let before = state.receiver.park(cx);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        let before = std::mem::replace(&mut state.receiver, Side::Gone);
        let (value, sender) = (state.value.take(), state.sender.rouse());
        drop(state);
        wake(sender);
        drop((before, value));
    }
}

/// The sender was dropped without having sent, or the value has been taken already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sender is gone and has sent nothing")
    }
}

impl std::error::Error for Closed {}
