//! Loom tests of [`CancellationToken`]: every interleaving of a few threads.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib sync::model --release`

use super::parker::{Parker, check};
use crate::CancellationToken;
use loom::thread;
use std::task::{Context, Poll, Wake, Waker};
use std::{future::Future, pin::pin, sync::Arc};

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker::new());
    let waker = Waker::from(parker.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        parker.park();
    }
}

#[test]
fn a_waiter_is_woken_by_cancel() {
    loom::model(|| {
        let token = CancellationToken::new();
        let canceller = token.clone();
        let thread = thread::spawn(move || canceller.cancel());
        block_on(token.cancelled());
        assert!(token.is_cancelled());
        thread.join().unwrap();
    });
}

/// A child created during the cancel is either notified by it or created cancelled.
#[test]
fn a_child_created_during_cancel_is_cancelled() {
    loom::model(|| {
        let token = CancellationToken::new();
        let parent = token.clone();
        let thread = thread::spawn(move || block_on(parent.child_token().cancelled()));
        token.cancel();
        thread.join().unwrap();
    });
}

/// A waiter is dropped, and its token, while others are notified.
#[test]
fn leaving_during_cancel_loses_no_wake_up() {
    check(|| {
        let token = CancellationToken::new();
        let (leaves, stays) = (token.child_token(), token.child_token());
        let leaver = thread::spawn(move || {
            let waiting = pin!(leaves.cancelled()).poll(&mut Context::from_waker(Waker::noop()));
            drop(leaves);
            waiting.is_ready()
        });
        let waiter = thread::spawn(move || block_on(stays.cancelled()));
        token.cancel();
        waiter.join().unwrap();
        leaver.join().unwrap();
    });
}
