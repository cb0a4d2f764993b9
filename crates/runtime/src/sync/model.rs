//! Loom model of [`CancellationToken`]: every interleaving of a few threads. A lost wake-up is a thread that sleeps
//! forever, which loom reports as a deadlock.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib sync::model --release`

use crate::CancellationToken;
use loom::{
    sync::{Condvar, Mutex},
    thread,
};
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

/// A thread that sleeps until its waker is called.
struct Parker {
    woken: Mutex<bool>,
    condvar: Condvar,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.condvar.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker { woken: Mutex::new(false), condvar: Condvar::new() });
    let waker = Waker::from(parker.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut woken = parker.woken.lock().unwrap();
        while !*woken {
            woken = parker.condvar.wait(woken).unwrap();
        }
        *woken = false;
    }
}

/// Tries all interleavings with at most `switches` preemptions.
fn check(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(model);
}

#[test]
fn a_waiter_is_woken_by_cancel() {
    loom::model(|| {
        let stop = CancellationToken::new();
        let canceller = stop.clone();
        let thread = thread::spawn(move || canceller.cancel());
        block_on(stop.cancelled());
        assert!(stop.is_cancelled());
        thread.join().unwrap();
    });
}

/// A child created during the cancel is either notified by it or created cancelled.
#[test]
fn a_child_made_during_the_raise_is_cancelled() {
    loom::model(|| {
        let stop = CancellationToken::new();
        let parent = stop.clone();
        let thread = thread::spawn(move || block_on(parent.child_token().cancelled()));
        stop.cancel();
        thread.join().unwrap();
    });
}

/// A waiter leaves and its token is dropped while the others are notified.
#[test]
fn leaving_during_cancel_loses_no_wake_up() {
    check(3, || {
        let stop = CancellationToken::new();
        let (leaves, stays) = (stop.child_token(), stop.child_token());
        let leaver = thread::spawn(move || {
            let waiting = pin!(leaves.cancelled()).poll(&mut Context::from_waker(Waker::noop()));
            drop(leaves);
            waiting.is_ready()
        });
        let waiter = thread::spawn(move || block_on(stays.cancelled()));
        stop.cancel();
        waiter.join().unwrap();
        leaver.join().unwrap();
    });
}
