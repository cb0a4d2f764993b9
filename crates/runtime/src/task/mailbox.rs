//! Mail from other threads: tokens and spawns behind a lock, and a handshake that tells the poster whether the worker sleeps.
//!
//! The handshake is Dekker's: the poster sets `pending`, then reads `sleeping`; the worker sets `sleeping`, then reads
//! `pending`. With a sequentially consistent fence between the two steps of each, at least one sees the other, so no
//! wake-up is lost. The lock hands over the mail; the flags need no ordering of their own.

use crate::sync::lock::{AtomicBool, Mutex, MutexGuard, Ordering, fence};
use crate::task::Token;

pub(crate) struct Mailbox {
    mail: Mutex<Mail>,
    pending: AtomicBool,
    sleeping: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Mail {
    pub tokens: Vec<Token>,
    /// Closures that spawn tasks on the worker.
    pub spawns: Vec<SpawnFn>,
    /// The worker has shut down: nothing is spawned any more.
    closed: bool,
}

pub(crate) type SpawnFn = Box<dyn FnOnce() + Send>;

impl Mailbox {
    pub fn new() -> Self {
        Self { mail: Mutex::default(), pending: AtomicBool::new(false), sleeping: AtomicBool::new(false) }
    }

    /// Posts a token. Returns true if the worker sleeps: the caller must wake it.
    #[must_use]
    pub fn post(&self, token: Token) -> bool {
        self.lock().tokens.push(token);
        self.announce()
    }

    /// Posts a closure that spawns a task; true when the caller must wake the worker.
    ///
    /// # Errors
    /// If the worker has shut down; returns the closure.
    pub fn post_spawn(&self, spawn: SpawnFn) -> Result<bool, SpawnFn> {
        let mut mail = self.lock();
        if mail.closed {
            return Err(spawn);
        }
        mail.spawns.push(spawn);
        drop(mail);
        Ok(self.announce())
    }

    fn announce(&self) -> bool {
        self.pending.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.sleeping.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Takes all mail. Called by the worker only.
    pub fn take(&self) -> Mail {
        // Cleared first: mail posted in between is taken now. The lock orders this store before that of every later poster.
        self.pending.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.lock())
    }

    /// Refuses closures from now on; returns those not yet run.
    pub fn close(&self) -> Vec<SpawnFn> {
        let mut mail = self.lock();
        mail.closed = true;
        std::mem::take(&mut mail.spawns)
    }

    /// Announces a sleep. Returns false if there is mail: the worker must stay awake.
    #[must_use]
    pub fn fall_asleep(&self) -> bool {
        self.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.is_pending() {
            self.wake_up();
            return false;
        }
        true
    }

    pub fn wake_up(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod tests {
    //! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib mailbox --release`
    use super::*;
    use crate::sync::parker::{Parker, check};
    use loom::{sync::Arc, thread};

    /// A worker as other threads see it: its mailbox and its eventfd.
    struct Remote(Mailbox, Parker);

    impl Remote {
        fn new() -> Arc<Self> {
            Arc::new(Self(Mailbox::new(), Parker::new()))
        }

        fn post(&self, token: u64) {
            if self.0.post(Token(token)) {
                self.1.unpark();
            }
        }

        /// The worker: takes mail, and sleeps whenever it may, until it has `enough` tokens.
        fn receive(&self, enough: impl Fn(&[u64]) -> bool) -> Vec<u64> {
            let mut got = Vec::new();
            while !enough(&got) {
                if self.0.is_pending() {
                    got.extend(self.0.take().tokens.into_iter().map(|token| token.0));
                } else if self.0.fall_asleep() {
                    self.1.park();
                    self.0.wake_up();
                }
            }
            got
        }
    }

    /// Threads post one token each.
    fn posts_and_sleeps(posters: u64) {
        let remote = Remote::new();
        let post = |n: u64| {
            let remote = remote.clone();
            thread::spawn(move || remote.post(n))
        };
        let posters: Vec<_> = (0..posters).map(post).collect();
        let mut got = remote.receive(|got| got.len() == posters.len());
        posters.into_iter().for_each(|poster| poster.join().unwrap());
        got.sort_unstable();
        assert!(got.iter().copied().eq(0..got.len() as u64), "{got:?}");
    }

    /// Every interleaving of one poster and the worker.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| posts_and_sleeps(1));
    }

    #[test]
    fn posters_do_not_hide_each_other() {
        check(|| posts_and_sleeps(2));
    }

    /// A worker ends and another reuses its number, while two threads wake tasks by that number: one of the old worker,
    /// whose wake-up may be lost, and one of the new worker, whose wake-up must arrive. As in `registry::post`, the slot is
    /// looked up under its lock and used without it.
    #[test]
    fn a_reused_number_loses_no_wake_up() {
        const STALE: u64 = 1;
        const LIVE: u64 = 2;
        check(move || {
            let slot = Arc::new(Mutex::new(Some(Remote::new())));
            let wake = |token: u64| {
                let slot = slot.clone();
                thread::spawn(move || {
                    let remote: Option<Arc<Remote>> = slot.lock().unwrap().clone();
                    if let Some(remote) = remote {
                        remote.post(token);
                    }
                })
            };
            let stale = wake(STALE);
            // The old worker ends, the new one begins, and only then is there a token of it.
            *slot.lock().unwrap() = None;
            let remote = Remote::new();
            *slot.lock().unwrap() = Some(remote.clone());
            let live = wake(LIVE);
            let got = remote.receive(|got| got.contains(&LIVE));
            stale.join().unwrap();
            live.join().unwrap();
            assert!(got.iter().all(|token| [STALE, LIVE].contains(token)));
        });
    }
}
