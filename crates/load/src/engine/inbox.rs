//! Messages of load threads to whoever coordinates them.
//!
//! A coordinator is written once, as futures that wait for messages here. On a thread the wait blocks it, so [`blocking`] runs
//! those futures; in a simulated world, whose load threads are workers of the same thread, they are awaited.

use super::message::Message;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::{Context, Poll, Waker};
use std::{pin::pin, time::Duration};

pub fn channel() -> (Outbox, Inbox) {
    let (sender, messages) = mpsc::channel();
    #[cfg(feature = "sim")]
    {
        let bell = simulated::Bell::default();
        let outbox = Outbox { sender, bell: simulated::Ringer(bell.clone()) };
        (outbox, Inbox { messages, bell: super::clock::is_simulated().then_some(bell) })
    }
    #[cfg(not(feature = "sim"))]
    (Outbox { sender }, Inbox { messages })
}

/// Where a thread, or what reads from another process, sends its messages.
#[derive(Clone)]
pub struct Outbox {
    sender: Sender<(usize, Message)>,
    /// Dropped after the sender, so that the end of the last one is seen.
    #[cfg(feature = "sim")]
    bell: simulated::Ringer,
}

impl Outbox {
    /// Sends a message of a thread. The receiver is gone only if the run has failed elsewhere, or has ended.
    pub fn send(&self, thread: usize, message: Message) {
        let _ = self.sender.send((thread, message));
        #[cfg(feature = "sim")]
        self.bell.ring();
    }
}

pub struct Inbox {
    messages: Receiver<(usize, Message)>,
    /// In a simulated world.
    #[cfg(feature = "sim")]
    bell: Option<simulated::Bell>,
}

impl Inbox {
    /// The next message, with the number of its thread. Waits for it at most for `pause`.
    ///
    /// # Errors
    /// None came, or none will: all threads have ended.
    pub async fn next(&self, pause: Duration) -> Result<(usize, Message), RecvTimeoutError> {
        #[cfg(feature = "sim")]
        if let Some(bell) = &self.bell {
            return simulated::next(&self.messages, bell, pause).await;
        }
        self.messages.recv_timeout(pause)
    }
}

/// Runs a future that waits in [`Inbox::next`] alone, which blocks this thread.
///
/// # Panics
/// In a simulated world.
pub fn blocking<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a thread of a simulated world must not block"),
    }
}

#[cfg(feature = "sim")]
mod simulated {
    use super::Message;
    use brunt_runtime::time;
    use std::future::poll_fn;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::{task::Poll, task::Waker, time::Duration};

    /// Wakes the task that waits for messages.
    #[derive(Clone, Default)]
    pub struct Bell(Arc<Mutex<Option<Waker>>>);

    impl Bell {
        fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// Rings when dropped: the last sender may be gone.
    #[derive(Clone)]
    pub struct Ringer(pub Bell);

    impl Ringer {
        pub fn ring(&self) {
            let waiting = self.0.lock().take();
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    impl Drop for Ringer {
        fn drop(&mut self) {
            self.ring();
        }
    }

    pub async fn next(
        messages: &Receiver<(usize, Message)>,
        bell: &Bell,
        pause: Duration,
    ) -> Result<(usize, Message), RecvTimeoutError> {
        let arrival = poll_fn(|cx| {
            *bell.lock() = Some(cx.waker().clone());
            match messages.try_recv() {
                Ok(message) => Poll::Ready(Ok(message)),
                Err(TryRecvError::Empty) => Poll::Pending,
                Err(TryRecvError::Disconnected) => Poll::Ready(Err(RecvTimeoutError::Disconnected)),
            }
        });
        time::timeout(pause, arrival).await.unwrap_or(Err(RecvTimeoutError::Timeout))
    }
}
