//! Panics in wakers and in destructors of futures, outputs and payloads: each is contained.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{CancellationToken, JoinHandle, spawn, time::sleep};
use std::future::{Future, pending};
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

on_both_backends!(
    a_waker_that_panics_does_not_keep_others_from_waking,
    a_joiner_whose_waker_panics_does_not_end_the_worker,
    cancel_wakes_all_although_a_waker_panics,
    a_waker_that_panics_when_dropped_is_contained,
    a_future_and_its_output_may_both_panic_when_dropped,
    a_panic_whose_payload_panics_stays_in_its_task,
);

/// Panics when woken or when dropped.
struct Bomb {
    in_drop: bool,
    gone_off: Arc<AtomicU32>,
}

impl Bomb {
    fn waker(in_drop: bool) -> (Waker, Arc<AtomicU32>) {
        let gone_off = Arc::new(AtomicU32::new(0));
        (Arc::new(Self { in_drop, gone_off: gone_off.clone() }).into(), gone_off)
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        if !self.in_drop {
            self.gone_off.fetch_add(1, Ordering::SeqCst);
            panic!("a waker panics on purpose");
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.in_drop {
            self.gone_off.fetch_add(1, Ordering::SeqCst);
            panic!("a waker panics when dropped, on purpose");
        }
    }
}

/// Records that it was woken.
struct Flag(AtomicU32);
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn a_waker_that_panics_does_not_keep_others_from_waking() {
    let (bomb, gone_off) = Bomb::waker(false);
    let mut pairs = Vec::new();
    let flags: Vec<_> = (0..10).map(|_| Arc::new(Flag(AtomicU32::new(0)))).collect();
    for (n, flag) in flags.iter().enumerate() {
        let (client, mut server) = pair().await;
        let waker = if n % 3 == 0 { bomb.clone() } else { flag.clone().into() };
        assert!(pin!(server.recv()).poll(&mut Context::from_waker(&waker)).is_pending());
        pairs.push((client, server));
    }
    // In one poll, so they are woken in few turns.
    let cx = Context::from_waker(Waker::noop());
    for (client, _) in &mut pairs {
        assert!(matches!(client.poll_write(&cx, b"x"), Poll::Ready(Ok(1))));
    }
    for (n, flag) in flags.iter().enumerate().filter(|(n, _)| n % 3 != 0) {
        while flag.0.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(*pairs[n].1.recv().await.unwrap(), *b"x");
    }
    while gone_off.load(Ordering::SeqCst) < 4 {
        sleep(Duration::from_millis(1)).await;
    }
    for n in [0, 3, 6, 9] {
        assert_eq!(*pairs[n].1.recv().await.unwrap(), *b"x", "its data was received");
    }
}

async fn a_joiner_whose_waker_panics_does_not_end_the_worker() {
    let (bomb, gone_off) = Bomb::waker(false);
    let mut handle = spawn(async {
        brunt_runtime::yield_now().await;
        5
    });
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&bomb)).is_pending());
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
    assert_eq!(gone_off.load(Ordering::SeqCst), 1);
    assert_eq!(handle.await.unwrap(), 5);
}

async fn cancel_wakes_all_although_a_waker_panics() {
    let stop = CancellationToken::new();
    let (bomb, gone_off) = Bomb::waker(false);
    let mut first = pin!(stop.cancelled());
    assert!(first.as_mut().poll(&mut Context::from_waker(&bomb)).is_pending());
    let second = spawn({
        let stop = stop.clone();
        async move { stop.cancelled().await }
    });
    brunt_runtime::yield_now().await;
    stop.cancel();
    assert_eq!(gone_off.load(Ordering::SeqCst), 1);
    second.await.unwrap();
    first.await;
}

async fn a_waker_that_panics_when_dropped_is_contained() {
    let (mut client, mut server) = pair().await;
    let (bomb, gone_off) = Bomb::waker(true);
    assert!(pin!(server.recv()).poll(&mut Context::from_waker(&bomb)).is_pending());
    drop(bomb);
    // Another waiter replaces it, which drops the last reference.
    let reader = spawn(async move { server.recv().await.map(|received| received.to_vec()) });
    while gone_off.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    client.write_all(b"x").await.unwrap();
    assert_eq!(reader.await.unwrap().unwrap(), b"x");
}

/// Panics when dropped.
struct Mine;
impl Drop for Mine {
    fn drop(&mut self) {
        panic!("a destructor panics on purpose");
    }
}

/// Ready at once, and its destructor panics.
struct Mined {
    _mine: Option<Mine>,
}
impl Future for Mined {
    type Output = Mine;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Mine> {
        Poll::Ready(Mine)
    }
}

async fn a_future_and_its_output_may_both_panic_when_dropped() {
    let handle = spawn(Mined { _mine: Some(Mine) });
    assert!(handle.await.err().unwrap().is_panic());
    drop(spawn(Mined { _mine: Some(Mine) }));
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
    // A joined output is dropped by its receiver.
    std::mem::forget(spawn(Mined { _mine: None }).await.unwrap());
}

async fn a_panic_whose_payload_panics_stays_in_its_task() {
    drop(spawn(async { panic_any(Mine) }));
    let handle: JoinHandle<()> = spawn(async { panic_any(Mine) });
    let error = handle.await.unwrap_err();
    assert_eq!(error.to_string(), "the task panicked");
    std::mem::forget(error.into_panic());
    // Aborted before its first poll, and after.
    let fresh = spawn(async { pending::<Mine>().await });
    fresh.abort();
    assert!(fresh.await.err().unwrap().is_aborted());
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
}
