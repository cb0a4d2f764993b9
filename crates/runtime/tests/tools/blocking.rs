//! Blocking work in the pool.

use crate::{common::*, on_both_backends};
use brunt_runtime::{
    JoinSet, blocking,
    group::{self, pin_to_core},
    time::sleep,
    yield_now,
};
use rustix::{
    process::{Resource, Rlimit, getpid, setrlimit},
    thread::sched_getaffinity,
};
use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

on_both_backends!(
    work_is_done_elsewhere_and_its_output_comes_back,
    a_panic_stays_with_its_work,
    a_worker_serves_others_while_work_blocks,
    work_goes_on_without_its_future,
);

async fn work_is_done_elsewhere_and_its_output_comes_back() {
    let here = thread::current().id();
    assert_ne!(blocking(|| thread::current().id()).await.unwrap(), here);
    let mut set = JoinSet::new();
    for n in 0..1000u64 {
        set.spawn(async move { blocking(move || n * n).await.unwrap() });
    }
    let mut sum = 0;
    while let Some(square) = set.join_next().await {
        sum += square.unwrap();
    }
    assert_eq!(sum, (0..1000).map(|n| n * n).sum());
}

async fn a_panic_stays_with_its_work() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }
    for _ in 0..100 {
        let error = blocking(|| {
            if true {
                panic!("on purpose")
            }
        })
        .await
        .unwrap_err();
        assert!(error.is_panic() && error.to_string().contains("on purpose"), "{error}");
    }
    // Nobody waits for these outputs any more, and their end is a panic whose payload's end is a panic.
    for _ in 0..100 {
        let (go, wait) = mpsc::channel::<()>();
        drop(blocking(move || {
            let _ = wait.recv();
            Bomb
        }));
        drop(go);
    }
    assert_eq!(blocking(|| 1).await.unwrap(), 1);
}

async fn a_worker_serves_others_while_work_blocks() {
    let (mut client, server) = pair().await;
    brunt_runtime::spawn(echo(server));
    let (go, wait) = mpsc::channel();
    let work = blocking(move || wait.recv().unwrap());
    for n in 0..20u64 {
        ask(&mut client, b"meanwhile").await.unwrap();
        sleep(Duration::from_micros(n * 10)).await;
    }
    go.send(5).unwrap();
    assert_eq!(work.await.unwrap(), 5);
}

async fn work_goes_on_without_its_future() {
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let done = done.clone();
        drop(blocking(move || {
            thread::sleep(Duration::from_micros(100));
            done.fetch_add(1, Ordering::SeqCst);
        }));
    }
    while done.load(Ordering::SeqCst) < 200 {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Threads of this process with that name.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

#[test]
fn the_pool_grows_as_needed_up_to_its_bound_and_shrinks_again() {
    alone("blocking::the_pool_grows_as_needed_up_to_its_bound_and_shrinks_again", || {
        on(brunt_runtime::BackendKind::Epoll, async {
            assert_eq!(threads_named("blocking"), 0);
            for _ in 0..50 {
                blocking(|| ()).await.unwrap();
            }
            // The thread of before may not be back in line yet when the next work comes, on a busy machine.
            assert!((1..25).contains(&threads_named("blocking")), "one after another needs no more");
            let gate = Arc::new((Mutex::new(false), Condvar::new()));
            let inside = Arc::new(AtomicUsize::new(0));
            let work: Vec<_> = (0..200)
                .map(|n| {
                    let (gate, inside) = (gate.clone(), inside.clone());
                    blocking(move || {
                        inside.fetch_add(1, Ordering::SeqCst);
                        let open = gate.0.lock().unwrap();
                        drop(gate.1.wait_while(open, |open| !*open).unwrap());
                        n
                    })
                })
                .collect();
            while inside.load(Ordering::SeqCst) < 64 {
                sleep(Duration::from_millis(1)).await;
            }
            sleep(Duration::from_millis(50)).await;
            assert_eq!((inside.load(Ordering::SeqCst), threads_named("blocking")), (64, 64));
            let start = Instant::now();
            *gate.0.lock().unwrap() = true;
            gate.1.notify_all();
            for (n, work) in work.into_iter().enumerate() {
                assert_eq!(work.await.unwrap(), n);
            }
            while threads_named("blocking") > 0 {
                sleep(Duration::from_millis(100)).await;
            }
            assert!(start.elapsed() > Duration::from_secs(9), "they went after {:?}", start.elapsed());
            assert_eq!(blocking(|| 1).await.unwrap(), 1, "and they come again");
        });
    });
}

/// A pinned worker must not share its core with what it has asked others to do.
#[test]
fn work_is_not_pinned_to_the_core_of_the_worker_that_asked_for_it() {
    alone("blocking::work_is_not_pinned_to_the_core_of_the_worker_that_asked_for_it", || {
        let cores = |set: &rustix::thread::CpuSet| (0..1024).filter(|core| set.is_set(*core)).collect::<Vec<_>>();
        let all = cores(&sched_getaffinity(Some(getpid())).unwrap());
        let first = all[0];
        let results = group::run(&brunt_runtime::Runtime::builder(), &[Some(first)], |_| async move {
            blocking(move || cores(&sched_getaffinity(None).unwrap())).await.unwrap()
        });
        assert_eq!(results[0].as_ref().unwrap(), &all);
        thread::spawn(move || pin_to_core(first).unwrap()).join().unwrap();
    });
}

#[test]
fn without_a_thread_the_error_says_so_and_later_work_is_done() {
    alone("blocking::without_a_thread_the_error_says_so_and_later_work_is_done", || {
        on(brunt_runtime::BackendKind::Epoll, async {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
            let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
            // Not enough for a stack.
            let limit = |bytes| Rlimit { current: bytes, maximum: None };
            setrlimit(Resource::As, limit(Some(size * 1024 + (1 << 20)))).unwrap();
            let refused = [blocking(|| 1), blocking(|| 2)];
            setrlimit(Resource::As, limit(None)).unwrap();
            for work in refused {
                let error = work.await.unwrap_err();
                assert!(!error.is_panic() && !error.is_aborted() && error.to_string().contains("ulimit"), "{error}");
            }
            yield_now().await;
            assert_eq!(blocking(|| 3).await.unwrap(), 3);
        });
    });
}
