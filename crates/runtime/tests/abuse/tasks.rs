//! Dropped handles, destructors that spawn or panic, nested runtimes.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{JoinHandle, Runtime, spawn, time::sleep};
use brunt_testkit::Random;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

on_both_backends!(
    a_dropped_handle_lets_its_task_run,
    a_destructor_may_spawn,
    a_panic_in_the_destructor_of_an_output_stays_in_its_task,
    aborts_at_any_moment_end_every_task,
    busy_tasks_do_not_starve_others,
);

async fn a_dropped_handle_lets_its_task_run() {
    let done = Rc::new(Cell::new(0));
    for n in 0..1000u64 {
        let done = done.clone();
        let handle = spawn(async move {
            if n % 2 == 0 {
                sleep(Duration::from_micros(n)).await;
            }
            done.set(done.get() + 1);
            vec![0u8; 100]
        });
        if n % 3 == 0 {
            brunt_runtime::yield_now().await;
        }
        drop(handle);
    }
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
    assert_eq!(done.get(), 1000);
}

/// Calls a function on drop.
struct OnDrop<F: FnMut()>(F);
impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

async fn a_destructor_may_spawn() {
    let spawned = Rc::new(Cell::new(0));
    let witness = spawned.clone();
    let handle = spawn(async move {
        let _bomb = OnDrop(move || {
            let witness = witness.clone();
            spawn(async move { witness.set(witness.get() + 1) });
        });
        std::future::pending::<()>().await;
    });
    brunt_runtime::yield_now().await;
    handle.abort();
    assert!(handle.await.unwrap_err().is_aborted());
    brunt_runtime::drain(LIMIT).await;
    assert_eq!(spawned.get(), 1);
}

#[test]
fn a_destructor_may_spawn_while_the_runtime_ends() {
    for backend in backends() {
        let dropped = Rc::new(Cell::new(0));
        // Each task's destructor spawns another, without end.
        fn beget(dropped: Rc<Cell<u32>>, generations: u32) {
            spawn(async move {
                let _bomb = OnDrop(move || {
                    dropped.set(dropped.get() + 1);
                    if generations > 0 {
                        beget(dropped.clone(), generations - 1);
                    }
                });
                std::future::pending::<()>().await;
            });
        }
        let runtime = build(backend);
        runtime.block_on(async {
            beget(dropped.clone(), 3);
            brunt_runtime::yield_now().await;
        });
        drop(runtime);
        // A task that never ran drops only its captures.
        assert!(dropped.get() >= 1 && Rc::strong_count(&dropped) == 1, "{backend}: a future was never dropped");
    }
}

#[test]
fn a_destructor_that_keeps_spawning_does_not_block_the_drop_of_a_runtime() {
    struct Hydra(Rc<Cell<u32>>);
    impl Drop for Hydra {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            let again = Self(self.0.clone());
            spawn(async move {
                let _again = again;
                std::future::pending::<()>().await;
            });
        }
    }
    for backend in backends() {
        let runtime = build(backend);
        let heads = Rc::new(Cell::new(0));
        runtime.block_on(async { drop(Hydra(heads.clone())) });
        drop(runtime);
        assert!(heads.get() > 1, "{backend}");
    }
}

async fn a_panic_in_the_destructor_of_an_output_stays_in_its_task() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("not awaited");
        }
    }
    // Not joined: the worker drops the output.
    drop(spawn(async { Bomb }));
    brunt_runtime::drain(LIMIT).await;
    // Joined: the receiver drops it.
    std::mem::forget(spawn(async { Bomb }).await.unwrap());
    assert_eq!(spawn(async { 1 }).await.unwrap(), 1, "the worker continues");
}

async fn aborts_at_any_moment_end_every_task() {
    let handles: Rc<RefCell<Vec<JoinHandle<()>>>> = Rc::default();
    let alive = Rc::new(Cell::new(0i32));
    let mut random = Random::new(3);
    for n in 0..3000u64 {
        alive.set(alive.get() + 1);
        let guard = {
            let alive = alive.clone();
            OnDrop(move || alive.set(alive.get() - 1))
        };
        let others = handles.clone();
        let pause = random.below(4);
        let victim = random.below(n + 1) as usize;
        handles.borrow_mut().push(spawn(async move {
            let _guard = guard;
            for _ in 0..pause {
                brunt_runtime::yield_now().await;
            }
            // Some abort random tasks, some never end.
            others.borrow()[victim].abort();
            match pause {
                0 => (),
                1 => sleep(Duration::from_micros(n)).await,
                2 => drop(pair().await.0.recv().await),
                _ => std::future::pending().await,
            }
        }));
        if random.below(8) == 0 {
            brunt_runtime::yield_now().await;
        }
    }
    handles.borrow().iter().for_each(JoinHandle::abort);
    for handle in handles.take() {
        if let Err(error) = handle.await {
            assert!(error.is_aborted(), "{error}");
        }
    }
    assert_eq!((alive.get(), brunt_runtime::metrics().tasks), (0, 0));
    until_no_connection_is_left().await;
}

async fn busy_tasks_do_not_starve_others() {
    for _ in 0..10 {
        spawn(async {
            loop {
                brunt_runtime::yield_now().await
            }
        });
    }
    let (mut client, server) = pair().await;
    spawn(echo(server));
    for _ in 0..50 {
        ask(&mut client, b"in between").await.unwrap();
        sleep(Duration::from_micros(10)).await;
    }
}

/// The message of a panic.
fn panic_message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it should have panicked");
    panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap()
}

#[test]
fn a_nested_block_on_panics_and_says_why() {
    for backend in backends() {
        let (outer, inner) = (build(backend), build(backend));
        let message = panic_message(|| outer.block_on(async { outer.block_on(async {}) }));
        assert!(message.contains("block_on was called inside itself"), "{message}");
        // A nested different runtime is allowed; re-entering the first through it is not.
        assert_eq!(outer.block_on(async { inner.block_on(async { 5 }) }), 5);
        let message = panic_message(|| outer.block_on(async { inner.block_on(async { outer.block_on(async {}) }) }));
        assert!(message.contains("block_on was called inside itself"), "{message}");
        // Both still work after the panics.
        assert_eq!(outer.block_on(async { spawn(async { 6 }).await.unwrap() }), 6);
        assert_eq!(inner.block_on(async { spawn(async { 7 }).await.unwrap() }), 7);
    }
}

#[test]
fn calls_outside_a_runtime_panic_with_a_clear_message() {
    let message = panic_message(|| drop(spawn(async {})));
    assert!(message.contains("inside Runtime::block_on"), "{message}");
    let message = panic_message(|| assert_eq!(brunt_runtime::metrics().tasks, 0));
    assert!(message.contains("inside Runtime::block_on"), "{message}");
}

#[test]
fn a_panic_in_the_main_future_leaves_a_runtime_that_works() {
    for backend in backends() {
        let runtime = build(backend);
        let message = panic_message(|| {
            runtime.block_on(async {
                spawn(async { sleep(Duration::from_millis(1)).await });
                panic!("main gives up");
            })
        });
        assert_eq!(message, "main gives up");
        runtime.block_on(guarded(async {
            assert_eq!(brunt_runtime::drain(LIMIT).await, 0, "the earlier task still runs");
            let (mut client, server) = pair().await;
            spawn(echo(server));
            ask(&mut client, b"fine").await.unwrap();
        }));
    }
}

#[test]
fn many_runtimes_on_one_thread_do_not_mix() {
    let runtimes: Vec<Runtime> = (0..8).map(nth_backend).map(build).collect();
    let mut streams = Vec::new();
    for runtime in &runtimes {
        streams.push(runtime.block_on(guarded(async {
            let (client, server) = pair().await;
            spawn(echo(server));
            client
        })));
    }
    for round in 0..3u8 {
        for (runtime, stream) in runtimes.iter().zip(&mut streams) {
            runtime.block_on(guarded(ask(stream, &[round; 5000]))).unwrap();
        }
    }
}
