//! Loom tries every interleaving of a few threads at a channel's ends and around a [`CancellationToken`]. A lost wake-up is a thread
//! that sleeps for ever, which it reports as a deadlock.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib sync::model --release`

use super::{channel, channel::TrySendError, oneshot};
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
    bell: Condvar,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker { woken: Mutex::new(false), bell: Condvar::new() });
    let waker = Waker::from(parker.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut woken = parker.woken.lock().unwrap();
        while !*woken {
            woken = parker.bell.wait(woken).unwrap();
        }
        *woken = false;
    }
}

/// Not every interleaving, but all with at most this many switches that no lock forces.
fn check(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(model);
}

async fn all<T>(receiver: &mut channel::Receiver<T>) -> Vec<T> {
    let mut got = Vec::new();
    while let Some(value) = receiver.recv().await {
        got.push(value);
    }
    got
}

#[test]
fn one_sender_that_waits_for_room_and_the_end() {
    loom::model(|| {
        let (sender, mut receiver) = channel(1);
        let thread = thread::spawn(move || {
            block_on(async {
                sender.send(1).await.unwrap();
                sender.send(2).await.unwrap();
            });
        });
        assert_eq!(block_on(all(&mut receiver)), [1, 2]);
        thread.join().unwrap();
    });
}

#[test]
fn two_senders_lose_nothing_and_keep_their_order() {
    check(2, || {
        let (sender, mut receiver) = channel(1);
        let send = |sender: channel::Sender<u32>, from: u32| {
            thread::spawn(move || {
                block_on(async {
                    sender.send(from).await.unwrap();
                    sender.send(from + 1).await.unwrap();
                });
            })
        };
        let threads = [send(sender.clone(), 10), send(sender, 20)];
        let got = block_on(all(&mut receiver));
        for from in [10, 20] {
            assert!(got.iter().filter(|value| **value / 10 * 10 == from).eq(&[from, from + 1]), "{got:?}");
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The first in line gives up while the receiver makes room: the second must not wait for ever, and what was given up is
/// either received or back.
#[test]
fn a_sender_that_gives_up_takes_no_wake_up_along() {
    check(3, || {
        let (sender, mut receiver) = channel(1);
        sender.try_send(0).unwrap();
        let other = sender.clone();
        let quitter = thread::spawn(move || {
            let mut send = sender.send(1);
            let polled = pin!(&mut send).poll(&mut Context::from_waker(Waker::noop()));
            polled.is_pending().then(|| send.take_back()).flatten()
        });
        let patient = thread::spawn(move || block_on(other.send(2)).unwrap());
        let mut got = block_on(all(&mut receiver));
        got.extend(quitter.join().unwrap());
        patient.join().unwrap();
        got.sort_unstable();
        assert_eq!(got, [0, 1, 2]);
    });
}

#[test]
fn a_receiver_that_goes_tells_those_who_wait() {
    for takes_one in [false, true] {
        loom::model(move || {
            let (sender, mut receiver) = channel(1);
            sender.try_send(0).unwrap();
            let thread = thread::spawn(move || {
                let sent = block_on(sender.send(1));
                // Whether that was in time or not, this one finds no room or no receiver.
                assert!(matches!(sender.try_send(2), Err(TrySendError::Closed(2) | TrySendError::Full(2))));
                sent
            });
            if takes_one {
                assert_eq!(receiver.try_recv(), Ok(0));
            }
            drop(receiver);
            let sent = thread.join().unwrap();
            assert!(sent == Err(channel::SendError(1)) || takes_one && sent == Ok(()));
        });
    }
}

#[test]
fn a_oneshot_delivers_or_gives_back() {
    loom::model(|| {
        let (sender, receiver) = oneshot();
        let thread = thread::spawn(move || sender.send(5));
        assert_eq!(block_on(receiver), Ok(5));
        assert_eq!(thread.join().unwrap(), Ok(()));
    });
    loom::model(|| {
        let (sender, receiver) = oneshot::<u8>();
        let thread = thread::spawn(move || drop(sender));
        assert_eq!(block_on(receiver), Err(oneshot::Closed));
        thread.join().unwrap();
    });
}

#[test]
fn a_oneshot_tells_its_sender_that_nobody_waits() {
    loom::model(|| {
        let (mut sender, receiver) = oneshot();
        let thread = thread::spawn(move || drop(receiver));
        block_on(sender.closed());
        assert_eq!(sender.send(5), Err(5));
        thread.join().unwrap();
    });
}

#[test]
fn whoever_waits_for_a_stop_hears_it() {
    loom::model(|| {
        let stop = CancellationToken::new();
        let raiser = stop.clone();
        let thread = thread::spawn(move || raiser.cancel());
        block_on(stop.cancelled());
        assert!(stop.is_cancelled());
        thread.join().unwrap();
    });
}

/// A child that is made while its parent is raised is either among those told or told at its birth.
#[test]
fn a_child_made_during_the_raise_is_raised() {
    loom::model(|| {
        let stop = CancellationToken::new();
        let parent = stop.clone();
        let thread = thread::spawn(move || block_on(parent.child_token().cancelled()));
        stop.cancel();
        thread.join().unwrap();
    });
}

/// Who gives up, and a child that goes, while others are told.
#[test]
fn leaving_during_the_raise_keeps_nobody_from_hearing_it() {
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
