//! `JoinSet`.

use crate::{on_both_backends, shared::*};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{JoinSet, spawn, yield_now};
use brunt_testkit::Random;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::time::Duration;

on_both_backends!(
    tasks_are_joined_in_the_order_in_which_they_end,
    every_task_is_joined_once,
    a_dropped_join_next_loses_nothing,
    a_dropped_set_aborts_its_tasks,
    joining_has_constant_cost,
    a_set_may_be_joined_by_a_task,
    a_set_is_asked_without_waiting_and_shut_down,
    asking_takes_no_wake_up_from_a_waiter,
    a_task_of_a_set_is_aborted_by_its_handle,
);

async fn a_set_is_asked_without_waiting_and_shut_down() {
    let mut set = JoinSet::new();
    assert!(set.try_join_next().is_none());
    set.spawn(sleep(Duration::from_secs(3600)));
    set.spawn(async {});
    assert!(set.try_join_next().is_none());
    yield_now().await;
    assert!(set.try_join_next().unwrap().is_ok());
    assert!(set.try_join_next().is_none() && set.len() == 1);
    set.shutdown().await;
    assert!(set.is_empty());
}

async fn tasks_are_joined_in_the_order_in_which_they_end() {
    let (mut set, ended) = (JoinSet::new(), Rc::new(RefCell::new(Vec::new())));
    let mut random = Random::new(5);
    for n in 0..500u64 {
        let (ended, pause, length) = (ended.clone(), random.below(3), random.below(3000));
        set.spawn(async move {
            match pause {
                0 => (),
                1 => yield_now().await,
                _ => sleep(Duration::from_micros(length)).await,
            }
            ended.borrow_mut().push(n);
            n
        });
    }
    assert_eq!(set.len(), 500);
    let mut joined = Vec::new();
    while let Some(task) = set.join_next().await {
        joined.push(task.unwrap());
        if random.below(5) == 0 {
            sleep(Duration::from_micros(random.below(500))).await;
        }
    }
    assert_eq!(joined, *ended.borrow());
    assert!(set.is_empty() && set.join_next().await.is_none());
}

async fn every_task_is_joined_once() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let mut set = JoinSet::new();
    let mut counts = [0; 3];
    for round in 0..20 {
        for n in 0..30u32 {
            set.spawn(async move {
                let bomb = (n % 6 == 1).then(|| Bomb);
                yield_now().await;
                match n % 3 {
                    0 => (),
                    1 if bomb.is_none() => panic!("on purpose"),
                    1 => drop(bomb),
                    _ => std::future::pending().await,
                }
                n
            });
        }
        // Some are aborted before their first poll, some while waiting.
        if round % 2 == 0 {
            for _ in 0..5 {
                yield_now().await;
            }
        }
        set.abort_all();
        assert_eq!(set.len(), 30);
        while let Some(ended) = set.join_next().await {
            match ended {
                Ok(n) => counts[n as usize % 3] += 1,
                Err(error) if error.is_panic() => counts[1] += 1,
                Err(error) => counts[2] += usize::from(error.is_aborted()),
            }
        }
        assert_eq!(set.len(), 0);
    }
    // Ten rounds of 30 aborted at once, and of 10 while waiting.
    assert_eq!(counts, [100, 100, 300 + 100]);
}

async fn a_dropped_join_next_loses_nothing() {
    let mut set = JoinSet::new();
    for n in 0..300u64 {
        set.spawn(async move {
            sleep(Duration::from_micros(n * 20)).await;
            n
        });
    }
    let mut sum = 0;
    while !set.is_empty() {
        if let Ok(Some(ended)) = timeout(Duration::from_micros(30), set.join_next()).await {
            sum += ended.unwrap();
        }
    }
    assert_eq!(sum, (0..300).sum());
}

async fn a_dropped_set_aborts_its_tasks() {
    struct Alive(Rc<Cell<u32>>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    let alive = Rc::new(Cell::new(0));
    let mut set = JoinSet::new();
    for _ in 0..100 {
        alive.set(alive.get() + 1);
        let guard = Alive(alive.clone());
        set.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
    }
    yield_now().await;
    assert_eq!(alive.get(), 100);
    drop(set);
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
    assert_eq!(alive.get(), 0);
}

/// Polling all handles at each join would take ten thousand million polls.
async fn joining_has_constant_cost() {
    let mut set = JoinSet::new();
    for n in 0..100_000u64 {
        set.spawn(async move {
            yield_now().await;
            n
        });
    }
    let before = brunt_runtime::metrics().polls;
    let mut sum = 0;
    while let Some(ended) = set.join_next().await {
        sum += ended.unwrap();
    }
    assert_eq!(sum, (0..100_000).sum());
    // Two of each task, and at most one of this one for each join.
    let polls = brunt_runtime::metrics().polls - before;
    assert!(polls <= 300_000, "{polls}");
}

async fn a_set_may_be_joined_by_a_task() {
    let mut outer = JoinSet::default();
    for n in 0..20u64 {
        outer.spawn(async move {
            let mut inner = JoinSet::new();
            for m in 0..n {
                inner.spawn(sleep(Duration::from_micros(m)));
            }
            let mut ended = 0;
            while inner.join_next().await.is_some() {
                ended += 1;
            }
            ended
        });
    }
    // Another task may wait for the set too.
    let waiting = spawn(async move {
        let mut sum = 0;
        while let Some(ended) = outer.join_next().await {
            sum += ended.unwrap();
        }
        sum
    });
    assert_eq!(waiting.await.unwrap(), (0..20).sum::<u64>());
}

#[test]
fn tasks_of_a_set_that_outlives_its_runtime_are_aborted() {
    for backend in backends() {
        let runtime = build(backend);
        let mut set = runtime.block_on(async {
            let mut set = JoinSet::new();
            set.spawn(std::future::pending::<()>());
            yield_now().await;
            set
        });
        drop(runtime);
        let other = build(backend);
        assert!(other.block_on(guarded(set.join_next())).unwrap().unwrap_err().is_aborted());
    }
}

async fn asking_takes_no_wake_up_from_a_waiter() {
    let mut set = JoinSet::new();
    set.spawn(sleep(Duration::from_millis(1)));
    let waits_and_asks = poll_fn(|cx| {
        let joined = set.poll_join_next(cx);
        assert!(joined.is_ready() || set.try_join_next().is_none());
        joined
    });
    assert!(timeout(LIMIT, waits_and_asks).await.unwrap().unwrap().is_ok());
}

async fn a_task_of_a_set_is_aborted_by_its_handle() {
    let mut set = JoinSet::new();
    let (first, second) = (set.spawn(pending::<()>()), set.spawn(async {}));
    first.abort();
    let mut ends = Vec::new();
    while let Some(end) = set.join_next().await {
        ends.push(end.is_ok());
    }
    ends.sort_unstable();
    assert_eq!(ends, [false, true]);
    assert!(first.is_finished() && second.is_finished());
    // Of a task that has ended, or whose handle is waited for.
    second.abort();
    let task = spawn(pending::<()>());
    let end = task.abort_handle();
    spawn(async move { end.abort() });
    assert!(task.await.unwrap_err().is_aborted());
}
