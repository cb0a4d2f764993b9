//! Spawning on another worker.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{BackendKind, Handle, RemoteJoinHandle, metrics, net::TcpStream, spawn, time::sleep, yield_now};
use std::cell::Cell;
use std::net::Shutdown;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

on_both_backends!(
    a_future_that_is_not_send_runs_on_the_other_worker,
    a_panic_is_returned_and_the_worker_goes_on,
    a_dropped_handle_detaches_the_task,
    a_socket_moves_to_another_worker,
    a_task_may_be_spawned_on_its_own_worker,
);

/// A worker on a thread of its own; it ends when this is dropped.
struct Remote {
    handle: Handle,
    stop: brunt_runtime::CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

impl Remote {
    fn start(backend: BackendKind) -> Self {
        let (sender, handle) = mpsc::channel();
        let stop = brunt_runtime::CancellationToken::new();
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            build(backend).block_on(async {
                sender.send(Handle::current()).unwrap();
                stopped.cancelled().await;
            });
        });
        Self { handle: handle.recv().unwrap(), stop, thread: Some(thread) }
    }

    fn id(&self) -> thread::ThreadId {
        self.thread.as_ref().unwrap().thread().id()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.stop.cancel();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn remotes() -> Vec<Remote> {
    backends().into_iter().map(Remote::start).collect()
}

async fn a_future_that_is_not_send_runs_on_the_other_worker() {
    for remote in remotes() {
        // Sleeping and busy workers alike: pauses let it fall asleep.
        for n in 0..50u64 {
            let task = remote.handle.spawn(move || async move {
                let local = Rc::new(Cell::new(n));
                yield_now().await;
                sleep(Duration::from_micros(n)).await;
                local.set(local.get() * 2);
                (thread::current().id(), local.get())
            });
            assert_eq!(task.await.unwrap(), (remote.id(), n * 2));
            if n % 10 == 0 {
                sleep(Duration::from_millis(2)).await;
            }
        }
        let many: Vec<_> = (0..1000u64).map(|n| remote.handle.spawn(move || async move { n })).collect();
        for (n, task) in many.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n as u64);
        }
    }
}

async fn a_panic_is_returned_and_the_worker_goes_on() {
    for remote in remotes() {
        let early: RemoteJoinHandle<()> =
            remote.handle.spawn(|| -> std::future::Ready<()> { panic!("in the closure") });
        let late = remote.handle.spawn(|| async {
            yield_now().await;
            panic!("in the future")
        });
        for (task, message) in [(early, "in the closure"), (late, "in the future")] {
            let error = task.await.unwrap_err();
            assert!(error.is_panic() && error.to_string().contains(message), "{error}");
        }
        assert_eq!(remote.handle.spawn(|| async { metrics().panicked_tasks }).await.unwrap(), 2);
    }
}

async fn a_dropped_handle_detaches_the_task() {
    for remote in remotes() {
        let (sender, done) = mpsc::channel();
        drop(remote.handle.spawn(move || async move {
            sleep(Duration::from_millis(5)).await;
            sender.send(5).unwrap();
        }));
        assert_eq!(brunt_runtime::spawn_blocking(move || done.recv().unwrap()).await.unwrap(), 5);
    }
}

async fn a_socket_moves_to_another_worker() {
    for remote in remotes() {
        let (listener, address) = listen();
        let mut client = TcpStream::connect(address).await.unwrap();
        let socket = listener.accept_std().await.unwrap();
        let served = remote.handle.spawn(move || async move { echo(TcpStream::from_std(socket)?).await });
        ask(&mut client, b"hello").await.unwrap();
        client.shutdown(Shutdown::Write).await.unwrap();
        assert!(client.recv().await.unwrap().is_empty());
        served.await.unwrap().unwrap();
    }
}

async fn a_task_may_be_spawned_on_its_own_worker() {
    let handle = Handle::current();
    let task = spawn(async move { handle.spawn(|| async { 7 }).await.unwrap() });
    assert_eq!(task.await.unwrap(), 7);
}

#[test]
fn a_task_of_an_ended_runtime_is_aborted() {
    for backend in backends() {
        let remote = Remote::start(backend);
        let (handle, kept) = (remote.handle.clone(), Arc::new(()));
        let running = handle.spawn(std::future::pending::<()>);
        drop(remote);
        let witness = kept.clone();
        let late = handle.spawn(move || async move { drop(witness) });
        on(backend, async {
            assert!(running.await.unwrap_err().is_aborted());
            assert!(late.await.unwrap_err().is_aborted());
        });
        assert_eq!(Arc::strong_count(&kept), 1, "the closure was dropped");
    }
}

/// Closures that were posted and never run are dropped with the runtime.
#[test]
fn a_runtime_dropped_before_it_runs_aborts_what_was_spawned() {
    for backend in backends() {
        let runtime = build(backend);
        let handle = runtime.block_on(async { Handle::current() });
        let task = handle.spawn(|| async { 1 });
        drop(runtime);
        on(backend, async { assert!(task.await.unwrap_err().is_aborted()) });
    }
}
