//! Mail from other threads: tokens and spawns behind a lock, and a handshake that tells the poster whether the worker sleeps.
//!
//! The handshake is Dekker's: the poster sets `pending`, then reads `sleeping`; the worker sets `sleeping`, then reads
//! `pending`. With a sequentially consistent fence between the two steps of each, at least one sees the other, so no
//! wake-up is lost. The lock hands over the mail; the flags need no ordering of their own.

use crate::task::Token;

#[cfg(loom)]
use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering, fence},
};
#[cfg(not(loom))]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering, fence},
};

pub(crate) struct Mailbox {
    mail: Mutex<Mail>,
    pending: AtomicBool,
    sleeping: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Mail {
    /// Tasks to wake.
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

    /// Whether mail may be waiting.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Takes all mail. Called by the worker only.
    pub fn take(&self) -> Mail {
        // Cleared first: what is posted in between is taken now, and costs one more look in vain. The lock orders this store
        // before that of every later poster.
        self.pending.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.lock())
    }

    /// Refuses closures from now on; returns those not yet run.
    pub fn close(&self) -> Vec<SpawnFn> {
        let mut mail = self.lock();
        mail.closed = true;
        std::mem::take(&mut mail.spawns)
    }

    /// Announces a sleep. Returns false if something was posted: the worker must stay awake.
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

    /// Ends the sleep.
    pub fn wake_up(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod tests {
    //! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib mailbox --release`
    use super::*;
    use loom::{
        model::Builder,
        sync::{Arc, Condvar},
        thread,
    };

    /// The eventfd: a level that stays up until the worker has slept through it.
    struct Bell(Mutex<bool>, Condvar);

    /// Threads post one token each, the worker sleeps whenever it may until it has them all: a lost wake-up is a worker
    /// that sleeps for ever, which loom reports as a deadlock.
    fn posts_and_sleeps(posters: u64) {
        let shared = Arc::new((Mailbox::new(), Bell(Mutex::new(false), Condvar::new())));
        let post = |n: u64| {
            let shared = shared.clone();
            thread::spawn(move || {
                if shared.0.post(Token(n)) {
                    *shared.1.0.lock().unwrap() = true;
                    shared.1.1.notify_one();
                }
            })
        };
        let posters: Vec<_> = (0..posters).map(post).collect();
        let mut got = Vec::new();
        while got.len() < posters.len() {
            if shared.0.is_pending() {
                got.extend(shared.0.take().tokens.into_iter().map(|token| token.0));
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
        posters.into_iter().for_each(|poster| poster.join().unwrap());
        got.sort_unstable();
        assert!(got.iter().copied().eq(0..got.len() as u64), "{got:?}");
    }

    /// Every interleaving of one poster and the worker.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| posts_and_sleeps(1));
    }

    /// Two posters, with no more forced switches in a run than find all known kinds of errors: without that bound the
    /// run would take hours.
    #[test]
    fn posters_do_not_hide_each_other() {
        let mut model = Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| posts_and_sleeps(2));
    }

    /// A worker ends and another reuses its number, while two threads wake a task by that number: one the old
    /// worker's, which may be lost, and one the new worker's, which must arrive. As in `registry::post`, the place is
    /// looked up under its lock and used without it.
    #[test]
    fn a_number_used_again_loses_no_wake_up() {
        const STALE: u64 = 1;
        const LIVE: u64 = 2;
        type Remote = Arc<(Mailbox, Bell)>;
        fn wake(place: &Mutex<Option<Remote>>, token: u64) {
            let remote = place.lock().unwrap().clone();
            if let Some(remote) = remote
                && remote.0.post(Token(token))
            {
                *remote.1.0.lock().unwrap() = true;
                remote.1.1.notify_one();
            }
        }
        let new = || Arc::new((Mailbox::new(), Bell(Mutex::new(false), Condvar::new())));
        let mut model = Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let place: Arc<Mutex<Option<Remote>>> = Arc::new(Mutex::new(Some(new())));
            let stale = thread::spawn({
                let place = place.clone();
                move || wake(&place, STALE)
            });
            // The old worker ends, the new one begins, and only then is there a token of it.
            *place.lock().unwrap() = None;
            let remote = new();
            *place.lock().unwrap() = Some(remote.clone());
            let live = thread::spawn({
                let place = place.clone();
                move || wake(&place, LIVE)
            });
            let mut got = Vec::new();
            while !got.contains(&LIVE) {
                if remote.0.is_pending() {
                    got.extend(remote.0.take().tokens.into_iter().map(|token| token.0));
                } else if remote.0.fall_asleep() {
                    let mut rung = remote.1.0.lock().unwrap();
                    while !*rung {
                        rung = remote.1.1.wait(rung).unwrap();
                    }
                    *rung = false;
                    drop(rung);
                    remote.0.wake_up();
                }
            }
            stale.join().unwrap();
            live.join().unwrap();
            assert!(got.iter().all(|token| [STALE, LIVE].contains(token)));
        });
    }
}
