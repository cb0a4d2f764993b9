//! How another thread wakes a task: it leaves the token here, and rings only if the worker sleeps.
//!
//! The handshake is Dekker's: the poster sets `pending` and then looks at `sleeping`, the worker sets `sleeping` and then
//! looks at `pending`; with sequentially consistent accesses at least one sees the other, so no wake-up is lost.

use crate::task::Token;

#[cfg(loom)]
use loom::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
};
#[cfg(not(loom))]
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
};

pub(crate) struct Mailbox {
    tokens: Mutex<Vec<Token>>,
    pending: AtomicBool,
    sleeping: AtomicBool,
}

impl Mailbox {
    pub fn new() -> Self {
        Self { tokens: Mutex::new(Vec::new()), pending: AtomicBool::new(false), sleeping: AtomicBool::new(false) }
    }

    /// Leaves a token; true when the caller must ring the worker's bell, for it sleeps.
    #[must_use]
    pub fn post(&self, token: Token) -> bool {
        self.tokens.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(token);
        self.pending.store(true, SeqCst);
        self.sleeping.load(SeqCst)
    }

    /// Something may lie here.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending.load(SeqCst)
    }

    /// Takes everything; called by the worker only.
    pub fn take(&self) -> Vec<Token> {
        // Cleared before the list is taken: a token posted in between is taken now and looked for once more in vain.
        self.pending.store(false, SeqCst);
        std::mem::take(&mut *self.tokens.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Announces sleep; false when the worker must stay awake because something was posted.
    #[must_use]
    pub fn fall_asleep(&self) -> bool {
        self.sleeping.store(true, SeqCst);
        if self.is_pending() {
            self.wake_up();
            return false;
        }
        true
    }

    /// Ends the sleep.
    pub fn wake_up(&self) {
        self.sleeping.store(false, SeqCst);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::{
        sync::{Arc, Condvar},
        thread,
    };

    /// The eventfd: a level that stays up until the worker has slept through it.
    struct Bell(Mutex<bool>, Condvar);

    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let shared = Arc::new((Mailbox::new(), Bell(Mutex::new(false), Condvar::new())));
            let posters: Vec<_> = (0..2)
                .map(|n| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        if shared.0.post(Token(n)) {
                            *shared.1.0.lock().unwrap() = true;
                            shared.1.1.notify_one();
                        }
                    })
                })
                .collect();
            let mut got = 0;
            while got < 2 {
                if shared.0.is_pending() {
                    got += shared.0.take().len();
                } else if shared.0.fall_asleep() {
                    let mut rung = shared.1.0.lock().unwrap();
                    while !*rung {
                        rung = shared.1.1.wait(rung).unwrap();
                    }
                    *rung = false;
                    drop(rung);
                    shared.0.wake_up();
                }
            }
            for poster in posters {
                poster.join().unwrap();
            }
        });
    }
}
