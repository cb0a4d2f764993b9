//! The virtual clock: hours pass in milliseconds, exact to the nanosecond.

use crate::shared::{LIMIT, backends, is_available, pair};
use brunt_runtime::net::{UdpSocket, resolve};
use brunt_runtime::time::{Elapsed, advance, interval, interval_at, now, sleep, sleep_until, timeout, timeout_at};
use brunt_runtime::{BackendKind, Runtime, fs, spawn, spawn_blocking};
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const NANO: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs a test on a virtual clock; it must be quick in real time.
fn on(backend: BackendKind, body: impl Future) {
    if !is_available(backend) {
        return;
    }
    let runtime = Runtime::builder().backend(Some(backend)).virtual_clock(true).build().unwrap();
    let start = Instant::now();
    runtime.block_on(body);
    assert!(start.elapsed() < LIMIT, "it took {:?} of real time", start.elapsed());
}

macro_rules! on_both_backends {
    ($($name:ident $body:block)*) => {
        mod uring {
            $(#[test] fn $name() { super::on(super::BackendKind::Uring, super::$name()) })*
        }
        mod epoll {
            $(#[test] fn $name() { super::on(super::BackendKind::Epoll, super::$name()) })*
        }
        $(async fn $name() $body)*
    };
}

/// Records events with their times.
#[derive(Clone)]
struct Diary(Instant, Rc<RefCell<Vec<(Duration, &'static str)>>>);

impl Diary {
    fn begin() -> Self {
        Self(now(), Rc::default())
    }

    fn note(&self, what: &'static str) {
        self.1.borrow_mut().push((now() - self.0, what));
    }

    fn read(&self) -> Vec<(Duration, &'static str)> {
        self.1.take()
    }
}

/// Polls `future` now and every 10 ms for 100 ms, with a waker from `waker`; returns the number of polls. The future must stay
/// pending.
async fn count_polls(mut future: Pin<&mut impl Future>, mut waker: impl FnMut(&Waker) -> Waker) -> usize {
    let end = now() + 100 * MS;
    let mut tick = pin!(sleep(Duration::ZERO));
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker(cx.waker()))).is_pending());
        while tick.as_mut().poll(cx).is_ready() {
            if now() >= end {
                return Poll::Ready(());
            }
            tick.set(sleep(10 * MS));
        }
        Poll::Pending
    })
    .await;
    polls
}

/// Forwards the wake-up; a distinct waker by its address.
struct Relay(Waker);
impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

fn relay(waker: &Waker) -> Waker {
    Arc::new(Relay(waker.clone())).into()
}

on_both_backends! {
    // Of blocking work, lookups and files the end is awaited in real time, whatever time limit is around it.
    work_elsewhere_holds_the_clock {
        let begin = now();
        let work = spawn_blocking(|| std::thread::sleep(20 * MS));
        assert!(timeout(SECOND, work).await.is_ok());
        assert!(timeout(SECOND, resolve("localhost:80")).await.is_ok());
        assert!(timeout(SECOND, fs::read("/proc/self/maps")).await.is_ok());
        assert_eq!(now(), begin);
        // Dropped, it holds the clock until it has ended.
        drop(spawn_blocking(|| std::thread::sleep(MS)));
        sleep(SECOND).await;
        assert_eq!(now() - begin, SECOND);
    }

    times_are_named_and_changed {
        let start = now();
        let mut due = pin!(sleep_until(start + SECOND));
        assert!(timeout_at(start + MS, &mut due).await.is_err() && now() == start + MS);
        due.reset(start + 3 * MS);
        due.as_mut().await;
        assert_eq!(now(), start + 3 * MS);
        due.reset(start + HOUR);
        due.as_mut().await;
        assert_eq!(now(), start + HOUR);
        let mut ticks = interval_at(now() + MS, SECOND);
        for expected in [MS, MS + SECOND, MS + 2 * SECOND] {
            assert_eq!(ticks.tick().await, start + HOUR + expected);
        }
    }

    what_is_polled_with_another_waker_is_not_polled_without_need {
        // Now, perhaps once more at the same time, and at each of ten ticks.
        let (_client, mut server) = pair().await;
        let mut same: Option<Waker> = None;
        let polls = count_polls(pin!(server.recv()), |waker| same.get_or_insert_with(|| relay(waker)).clone()).await;
        assert!((11..=12).contains(&polls), "{polls}");
        let polls = count_polls(pin!(server.recv()), relay).await;
        assert!((11..=12).contains(&polls), "{polls}");
        let polls = count_polls(pin!(sleep(HOUR)), relay).await;
        assert!((11..=12).contains(&polls), "{polls}");
    }

    a_sleep_ends_at_its_deadline_to_the_nanosecond {
        let start = now();
        for length in [NANO, MS, SECOND, HOUR, 8760 * HOUR, Duration::ZERO] {
            let before = now();
            sleep(length).await;
            assert_eq!(now() - before, length);
            assert_eq!(brunt_runtime::turn_time(), now());
        }
        sleep_until(start).await;
        assert_eq!(now() - start, NANO + MS + SECOND + HOUR + 8760 * HOUR);
    }

    time_stands_still_while_tasks_are_ready {
        let start = now();
        let sleeper = spawn(sleep(NANO));
        let busy = spawn(async { for _ in 0..1000 { brunt_runtime::yield_now().await; } now() });
        assert_eq!(busy.await.unwrap(), start);
        sleeper.await.unwrap();
        assert_eq!(now(), start + NANO);
    }

    sleeps_end_in_order_of_deadline_then_of_arming {
        let diary = Diary::begin();
        let nap = |length, name| { let diary = diary.clone(); spawn(async move { sleep(length).await; diary.note(name); }) };
        let tasks = [nap(HOUR, "d"), nap(30 * NANO, "a"), nap(SECOND, "b"), nap(HOUR, "e"), nap(SECOND, "c"), nap(HOUR, "f")];
        for task in tasks { task.await.unwrap(); }
        let expected = [(30 * NANO, "a"), (SECOND, "b"), (SECOND, "c"), (HOUR, "d"), (HOUR, "e"), (HOUR, "f")];
        assert_eq!(diary.read(), expected);
    }

    ten_thousand_sleeps_of_a_day_all_on_time {
        let tasks: Vec<_> = (0..10_000u64).map(|n| {
            let length = Duration::from_nanos(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 86_400_000_000_000);
            spawn(async move { let start = now(); sleep(length).await; now() - start == length })
        }).collect();
        for task in tasks { assert!(task.await.unwrap()); }
    }

    an_interval_ticks_on_time_and_skips_what_was_missed {
        let start = now();
        let mut ticks = interval(2 * MS);
        assert_eq!(ticks.tick().await - start, 2 * MS);
        assert_eq!(ticks.tick().await - start, 4 * MS);
        assert_eq!(now() - start, 4 * MS);
        // Late for the ticks at 6, 8 and 10 ms, which merge into one.
        advance(7 * MS).await;
        assert_eq!(ticks.tick().await - start, 6 * MS);
        assert_eq!(now() - start, 11 * MS);
        assert_eq!(ticks.tick().await - start, 12 * MS);
        // Exactly on a tick, only earlier ones are missed.
        advance(4 * MS).await;
        assert_eq!(ticks.tick().await - start, 14 * MS);
        assert_eq!(ticks.tick().await - start, 18 * MS);
        // Three and a half days late, the phase is unchanged.
        advance(84 * HOUR + MS).await;
        ticks.tick().await;
        let due = ticks.tick().await - start;
        assert_eq!((due - 20 * MS, due.as_nanos() % 2_000_000), (84 * HOUR, 0));
    }

    the_longest_interval_is_accepted {
        let mut ticks = interval(Duration::MAX);
        let first = ticks.tick().await;
        assert!(ticks.tick().await > first);
    }

    a_timeout_ends_on_time_unless_the_future_is_first {
        let start = now();
        assert_eq!(timeout(HOUR, pending::<()>()).await, Err(Elapsed));
        assert_eq!(now() - start, HOUR);
        assert_eq!(timeout(HOUR, sleep(HOUR - NANO)).await, Ok(()));
        assert_eq!(timeout(HOUR, sleep(HOUR + NANO)).await, Err(Elapsed));
        // The future is polled before the timer.
        assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
        assert_eq!(timeout(Duration::MAX, sleep(HOUR)).await, Ok(()));
        assert_eq!(now() - start, 4 * HOUR - NANO);
    }

    a_timeout_drops_its_timer_and_its_future {
        let held = Rc::new(());
        let inner = held.clone();
        let timed = timeout(HOUR, async move { let _inner = inner; pending::<()>().await });
        assert!(timed.await.is_err());
        assert_eq!(Rc::strong_count(&held), 1);
        for _ in 0..10_000 { assert!(timeout(HOUR, brunt_runtime::yield_now()).await.is_ok()); }
        assert_eq!(brunt_runtime::metrics().timers, 0);
        // None of them is left to stop the clock.
        let before = (now(), brunt_runtime::metrics().turns);
        sleep(24 * HOUR).await;
        assert_eq!(now() - before.0, 24 * HOUR);
        assert!(brunt_runtime::metrics().turns - before.1 < 10);
    }

    advance_is_a_pause_of_the_whole_thread {
        let diary = Diary::begin();
        for (length, name) in [(3 * SECOND, "three"), (SECOND, "one"), (HOUR, "hour")] {
            let diary = diary.clone();
            spawn(async move { sleep(length).await; diary.note(name); });
        }
        // Sleeps are armed at their first poll.
        brunt_runtime::yield_now().await;
        advance(5 * SECOND).await;
        assert_eq!(diary.read(), [(5 * SECOND, "one"), (5 * SECOND, "three")]);
        advance(HOUR - 5 * SECOND - NANO).await;
        assert!(diary.read().is_empty());
        advance(NANO).await;
        assert_eq!(diary.read(), [(HOUR, "hour")]);
        advance(Duration::ZERO).await;
        assert_eq!(now() - diary.0, HOUR);
    }

    dropped_and_moved_sleeps_wake_the_right_task {
        let diary = Diary::begin();
        let mut sleeper = Box::pin(sleep(MS));
        assert!(timeout(Duration::ZERO, sleeper.as_mut()).await.is_err());
        drop(sleeper);
        let mut moved = Box::pin(sleep(HOUR));
        assert!(timeout(SECOND, moved.as_mut()).await.is_err());
        // Another task awaits it from here on.
        let noted = diary.clone();
        spawn(async move { moved.await; noted.note("moved"); }).await.unwrap();
        assert_eq!(diary.read(), [(HOUR, "moved")]);
    }

    a_silent_peer_times_out_after_an_hour_and_an_answer_is_received {
        let (mut client, mut server) = pair().await;
        let start = now();
        let mut byte = [0];
        for _ in 0..20 {
            assert!(timeout(HOUR, client.read(&mut byte)).await.is_err());
        }
        assert_eq!(now() - start, 20 * HOUR);
        // The clock does not overtake data in flight.
        let echo = spawn(async move {
            while let Ok(received) = server.recv().await && !received.is_empty() { server.send(received).await.unwrap(); }
        });
        for n in 0..200 {
            client.write_all(&[n]).await.unwrap();
            assert_eq!(timeout(NANO, client.read(&mut byte)).await.map(Result::unwrap), Ok(1));
            assert_eq!(byte, [n]);
        }
        assert_eq!(now() - start, 20 * HOUR);
        drop(client);
        echo.await.unwrap();
    }

    a_datagram_in_flight_is_not_overtaken {
        let bind = || UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (ours, theirs) = (bind(), bind());
        let (start, mut bytes) = (now(), [0; 8]);
        for n in 0..50 {
            assert!(timeout(HOUR, theirs.recv(&mut bytes)).await.is_err());
            ours.send_to(&[n], theirs.local_addr().unwrap()).await.unwrap();
            assert_eq!(timeout(NANO, theirs.recv(&mut bytes)).await.map(Result::unwrap), Ok(1));
            assert_eq!(bytes[0], n);
        }
        assert_eq!(now() - start, 50 * HOUR);
    }

    a_server_that_answers_after_a_minute_answers_in_order {
        let (mut client, mut server) = pair().await;
        let diary = Diary::begin();
        let noted = diary.clone();
        let serving = spawn(async move {
            for _ in 0..5 {
                let question = server.recv().await.unwrap();
                sleep(60 * SECOND).await;
                noted.note("answer");
                server.send(question).await.unwrap();
            }
        });
        for round in 1..=5u32 {
            client.write_all(b"?").await.unwrap();
            client.read_exact(&mut [0]).await.unwrap();
            assert_eq!(diary.read(), [(round * 60 * SECOND, "answer")]);
            assert_eq!(now() - diary.0, round * 60 * SECOND);
        }
        serving.await.unwrap();
    }

    drain_uses_the_same_clock {
        let start = now();
        spawn(sleep(SECOND));
        assert_eq!(brunt_runtime::drain(HOUR).await, 0);
        assert!((SECOND..SECOND + 10 * MS).contains(&(now() - start)), "{:?}", now() - start);
        let stuck = spawn(pending::<()>());
        let before = now();
        assert_eq!(brunt_runtime::drain(10 * SECOND).await, 1);
        assert_eq!(now() - before, 10 * SECOND);
        stuck.abort();
    }
}

#[test]
fn without_a_deadline_the_worker_waits_for_other_threads_as_usual() {
    for backend in backends() {
        let stop = brunt_runtime::CancellationToken::new();
        let raiser = stop.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(20 * MS);
            raiser.cancel();
        });
        on(backend, async {
            let start = now();
            stop.cancelled().await;
            assert_eq!(now(), start);
        });
        thread.join().unwrap();
    }
}

#[test]
fn a_real_clock_cannot_be_advanced() {
    let runtime = Runtime::new().unwrap();
    let refused = runtime.block_on(async {
        let (before, time, after) = (Instant::now(), now(), Instant::now());
        assert!(before <= time && time <= after);
        spawn(advance(SECOND)).await.unwrap_err()
    });
    assert!(refused.to_string().contains("virtual_clock"), "{refused}");
    // Outside any runtime the clock is the machine's.
    let before = Instant::now();
    assert!(before <= now());
}

#[test]
fn two_virtual_clocks_are_independent() {
    let build = || Runtime::builder().virtual_clock(true).build().unwrap();
    let (first, second) = (build(), build());
    let then = second.block_on(async { now() });
    let late = first.block_on(async {
        sleep(HOUR).await;
        now()
    });
    assert_eq!(second.block_on(async { now() }), then);
    assert!(late >= then + HOUR - SECOND);
    let turns = Cell::new(0);
    second.block_on(async {
        sleep_until(late).await;
        turns.set(brunt_runtime::metrics().turns);
        assert_eq!(now(), late);
    });
    assert!(turns.get() < 20, "{} turns", turns.get());
}
