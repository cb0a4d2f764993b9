//! The blocking pool.

use crate::{on_both_backends, shared::*};
use brunt_runtime::group::{self, pin_to_core};
use brunt_runtime::time::sleep;
use brunt_runtime::{JoinSet, spawn_blocking, yield_now};
use rustix::process::{Resource, Rlimit, getpid, setrlimit};
use rustix::thread::sched_getaffinity;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

on_both_backends!(
    work_runs_on_another_thread_and_returns_its_output,
    a_panic_is_returned,
    a_worker_continues_while_work_blocks,
    work_continues_without_its_handle,
);

async fn work_runs_on_another_thread_and_returns_its_output() {
    let here = thread::current().id();
    assert_ne!(spawn_blocking(|| thread::current().id()).await.unwrap(), here);
    let mut set = JoinSet::new();
    for n in 0..1000u64 {
        set.spawn(async move { spawn_blocking(move || n * n).await.unwrap() });
    }
    let mut sum = 0;
    while let Some(square) = set.join_next().await {
        sum += square.unwrap();
    }
    assert_eq!(sum, (0..1000).map(|n| n * n).sum());
}

async fn a_panic_is_returned() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }
    for _ in 0..100 {
        let error = spawn_blocking(|| {
            if true {
                panic!("on purpose")
            }
        })
        .await
        .unwrap_err();
        assert!(error.is_panic() && error.to_string().contains("on purpose"), "{error}");
    }
    // Dropped handles: the outputs panic on drop, with payloads that panic on drop.
    for _ in 0..100 {
        let (go, wait) = mpsc::channel::<()>();
        drop(spawn_blocking(move || {
            let _ = wait.recv();
            Bomb
        }));
        drop(go);
    }
    assert_eq!(spawn_blocking(|| 1).await.unwrap(), 1);
}

async fn a_worker_continues_while_work_blocks() {
    let (mut client, server) = pair().await;
    brunt_runtime::spawn(echo(server));
    let (go, wait) = mpsc::channel();
    let work = spawn_blocking(move || wait.recv().unwrap());
    for n in 0..20u64 {
        ask(&mut client, b"meanwhile").await.unwrap();
        sleep(Duration::from_micros(n * 10)).await;
    }
    go.send(5).unwrap();
    assert_eq!(work.await.unwrap(), 5);
}

async fn work_continues_without_its_handle() {
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let done = done.clone();
        drop(spawn_blocking(move || {
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
fn the_pool_grows_to_its_limit_and_shrinks() {
    in_own_process("tools::blocking::the_pool_grows_to_its_limit_and_shrinks", || {
        on(brunt_runtime::BackendKind::Epoll, async {
            assert_eq!(threads_named("blocking"), 0);
            for _ in 0..50 {
                spawn_blocking(|| ()).await.unwrap();
            }
            // On a busy machine the previous thread may not be waiting yet when the next work arrives.
            assert!((1..25).contains(&threads_named("blocking")), "sequential work needs few threads");
            let gate = Arc::new((Mutex::new(false), Condvar::new()));
            let inside = Arc::new(AtomicUsize::new(0));
            let work: Vec<_> = (0..200)
                .map(|n| {
                    let (gate, inside) = (gate.clone(), inside.clone());
                    spawn_blocking(move || {
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
            assert!(start.elapsed() > Duration::from_secs(9), "threads ended after {:?}", start.elapsed());
            assert_eq!(spawn_blocking(|| 1).await.unwrap(), 1, "threads start again");
        });
    });
}

/// A pinned worker must not share its core with blocking work.
#[test]
fn work_is_not_pinned_to_the_core_of_the_worker() {
    in_own_process("tools::blocking::work_is_not_pinned_to_the_core_of_the_worker", || {
        let cores = |set: &rustix::thread::CpuSet| (0..1024).filter(|core| set.is_set(*core)).collect::<Vec<_>>();
        let all = cores(&sched_getaffinity(Some(getpid())).unwrap());
        let first = all[0];
        let results = group::run(&brunt_runtime::Runtime::builder(), &[Some(first)], |_| async move {
            spawn_blocking(move || cores(&sched_getaffinity(None).unwrap())).await.unwrap()
        });
        assert_eq!(results[0].as_ref().unwrap(), &all);
        thread::spawn(move || pin_to_core(first).unwrap()).join().unwrap();
    });
}

#[test]
fn a_failed_thread_start_is_an_error_and_later_work_runs() {
    in_own_process("tools::blocking::a_failed_thread_start_is_an_error_and_later_work_runs", || {
        on(brunt_runtime::BackendKind::Epoll, async {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
            let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
            // Too little for a stack.
            let limit = |bytes| Rlimit { current: bytes, maximum: None };
            setrlimit(Resource::As, limit(Some(size * 1024 + (1 << 20)))).unwrap();
            let refused = [spawn_blocking(|| 1), spawn_blocking(|| 2)];
            setrlimit(Resource::As, limit(None)).unwrap();
            for work in refused {
                let error = work.await.unwrap_err();
                assert!(!error.is_panic() && !error.is_aborted() && error.to_string().contains("ulimit"), "{error}");
            }
            yield_now().await;
            assert_eq!(spawn_blocking(|| 3).await.unwrap(), 3);
        });
    });
}
