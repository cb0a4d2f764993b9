//! Ten thousand timers; timers dropped, raced, and polled by another runtime.

use crate::{on_both_backends, shared::*};
use brunt_runtime::spawn;
use brunt_runtime::time::{sleep, timeout};
use brunt_testkit::Random;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

on_both_backends!(
    ten_thousand_timers_each_on_time,
    dropped_timers_wake_no_task,
    a_timer_beyond_the_clock_s_range_is_long,
    timeouts_around_reads_that_never_come,
);

async fn ten_thousand_timers_each_on_time() {
    let early = Rc::new(Cell::new(0));
    let mut random = Random::new(5);
    let tasks: Vec<_> = (0..10_000)
        .map(|_| {
            let wait = Duration::from_micros(random.below(100_000));
            let early = early.clone();
            spawn(async move {
                let start = Instant::now();
                sleep(wait).await;
                early.set(early.get() + u32::from(start.elapsed() < wait));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(early.get(), 0, "timers fired early");
}

async fn dropped_timers_wake_no_task() {
    // The best of several: a test on another thread may wake tasks of an ended worker whose number this one reuses.
    let mut turns = u64::MAX;
    for _ in 0..5 {
        for _ in 0..20 {
            let mut sleeps: Vec<_> = (0..1000).map(|n| Box::pin(sleep(Duration::from_millis(5 + n % 10)))).collect();
            poll_fn(|cx| {
                sleeps.iter_mut().for_each(|sleep| assert!(sleep.as_mut().poll(cx).is_pending()));
                Poll::Ready(())
            })
            .await;
        }
        let before = brunt_runtime::metrics();
        sleep(Duration::from_millis(60)).await;
        turns = turns.min(brunt_runtime::metrics().turns - before.turns);
    }
    assert!(turns < 50, "{turns} turns for one timer");
}

async fn a_timer_beyond_the_clock_s_range_is_long() {
    let forever = spawn(sleep(Duration::MAX));
    assert!(timeout(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
    assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
    assert!(!forever.is_finished());
    forever.abort();
    assert!(forever.await.unwrap_err().is_aborted());
}

async fn timeouts_around_reads_that_never_come() {
    let (mut client, mut server) = pair().await;
    for _ in 0..2000 {
        assert!(timeout(Duration::ZERO, server.recv()).await.is_err());
    }
    client.write_all(b"here I am").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"here I am");
}

#[test]
fn a_timer_begun_on_one_runtime_is_right_on_another() {
    for backend in backends() {
        let (first, second) = (build(backend), build(backend));
        let wait = Duration::from_millis(30);
        let start = Instant::now();
        let mut moved = pin!(sleep(wait));
        // A timer of the second runtime has the same slot as the moved one in the first.
        let mut other = pin!(sleep(Duration::from_millis(1)));
        let mut begin = |runtime: &brunt_runtime::Runtime, which: bool| {
            runtime.block_on(poll_fn(|cx| {
                let polled = if which { moved.as_mut().poll(cx) } else { other.as_mut().poll(cx) };
                assert!(polled.is_pending());
                Poll::Ready(())
            }))
        };
        begin(&first, true);
        begin(&second, false);
        second.block_on(guarded(async {
            other.await;
            moved.await;
        }));
        assert!(start.elapsed() >= wait, "{backend}: it fired after {:?}", start.elapsed());
    }
}
