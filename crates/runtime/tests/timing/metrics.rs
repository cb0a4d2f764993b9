//! Counters, and reading them from other threads.

use crate::shared::{backends, build};
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, CancellationToken, Metrics, MetricsHandle, Runtime, spawn};
use brunt_testkit::{alone, until_some};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Reads until a condition holds: the worker publishes once a turn.
fn read_until(handle: &MetricsHandle, wanted: impl Fn(&Metrics) -> bool) -> Metrics {
    until_some("a state of the counters", || Some(handle.read()).filter(&wanted))
}

#[test]
fn another_thread_reads_the_counters_of_a_sleeping_worker() {
    let _turn = alone();
    for backend in backends() {
        let stop = CancellationToken::new();
        let (sender, receiver) = mpsc::channel();
        let worker = thread::spawn({
            let stop = stop.clone();
            move || {
                let runtime = build(backend);
                sender.send(runtime.metrics_handle()).unwrap();
                runtime.block_on(async {
                    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
                    let mut server = listener.accept().await.unwrap();
                    for _ in 0..50 {
                        client.write_all(b"ping").await.unwrap();
                        let received = server.recv().await.unwrap();
                        server.send(received).await.unwrap();
                        client.read_exact(&mut [0; 4]).await.unwrap();
                    }
                    let panics = [spawn(async { panic!("on purpose") }), spawn(async { panic!("once more") })];
                    for task in panics {
                        let ended: Result<(), _> = task.await;
                        assert!(ended.is_err());
                    }
                    spawn(sleep(Duration::from_secs(3600)));
                    stop.cancelled().await;
                    brunt_runtime::metrics()
                })
            }
        });
        let handle = receiver.recv().unwrap();
        // Two counters may be a turn apart.
        let is_asleep =
            |metrics: &Metrics| (metrics.timers, metrics.connections, metrics.tasks) == (1, 2, 1) && metrics.polls >= 3;
        let seen = read_until(&handle.clone(), is_asleep);
        assert_eq!(seen.panicked_tasks, 2, "{backend}: {seen:?}");
        assert!(seen.events >= 100 && seen.sleeps <= seen.turns, "{backend}: {seen:?}");
        stop.cancel();
        let last = worker.join().unwrap();
        assert_eq!(last.batches.iter().sum::<u64>(), last.turns, "{backend}: every turn is in a bucket");
        // After the runtime is dropped.
        let left = handle.read();
        assert_eq!((left.connections, left.tasks, left.timers), (0, 0, 0), "{backend}: {left:?}");
        assert!(left.turns >= last.turns && left.polls >= last.polls, "{backend}: {left:?}");
    }
}

#[test]
fn a_handle_never_goes_back_while_the_worker_runs() {
    let _turn = alone();
    let (stop, (sender, receiver)) = (CancellationToken::new(), mpsc::channel());
    let worker = thread::spawn({
        let stop = stop.clone();
        move || {
            build(BackendKind::Epoll).block_on(async {
                sender.send(brunt_runtime::metrics_handle()).unwrap();
                while !stop.is_cancelled() {
                    spawn(async {}).await.unwrap();
                }
                brunt_runtime::metrics().polls
            })
        }
    });
    let handle = receiver.recv().unwrap();
    let mut before = handle.read();
    for _ in 0..50 {
        let after = read_until(&handle, |metrics| *metrics != before);
        assert!(after.turns >= before.turns && after.polls >= before.polls, "{after:?} after {before:?}");
        before = after;
    }
    stop.cancel();
    assert_eq!(worker.join().unwrap(), handle.read().polls);
}

#[test]
fn a_new_handle_is_up_to_date() {
    let _turn = alone();
    for backend in backends() {
        let runtime = build(backend);
        let counted = runtime.block_on(async {
            for _ in 0..10 {
                spawn(async {}).await.unwrap();
            }
            assert!(timeout(Duration::ZERO, std::future::pending::<()>()).await.is_err());
            brunt_runtime::metrics()
        });
        assert_eq!(counted.polls, 10);
        assert_eq!(runtime.metrics_handle().read(), counted);
        // No handle exists meanwhile; the next one includes this.
        let counted = runtime.block_on(async {
            spawn(async {}).await.unwrap();
            brunt_runtime::metrics()
        });
        assert_eq!(counted.polls, 11);
        assert_eq!(runtime.metrics_handle().read(), counted);
    }
}

/// `cargo test --release -p brunt-runtime --test timing cost_of_a_turn -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn cost_of_a_turn() {
    let _turn = alone();
    const TURNS: u32 = 2_000_000;
    let turn = |runtime: &Runtime, timers: u32| {
        let once = || {
            runtime.block_on(async {
                let sleeps: Vec<_> = (0..timers).map(|_| spawn(sleep(Duration::from_secs(60)))).collect();
                brunt_runtime::yield_now().await;
                let start = Instant::now();
                for _ in 0..TURNS {
                    brunt_runtime::yield_now().await;
                }
                let took = start.elapsed();
                sleeps.iter().for_each(brunt_runtime::JoinHandle::abort);
                brunt_runtime::yield_now().await;
                took / TURNS
            })
        };
        (0..5).map(|_| once()).min().unwrap()
    };
    // Nothing is submitted, so a turn of the ring makes no system call.
    let runtime = build(BackendKind::Uring);
    let (without, with_timer) = (turn(&runtime, 0), turn(&runtime, 1));
    let _handle = runtime.metrics_handle();
    println!("a turn: {without:?}, with a timer {with_timer:?}, with a handle {:?}", turn(&runtime, 0));
}
