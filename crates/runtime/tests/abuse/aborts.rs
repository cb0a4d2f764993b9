//! Tasks ended at their n-th poll, for every n: by themselves, another task, a panic, or the end of the runtime. Nothing may
//! leak.

use crate::{churn::every_buffer_can_be_lent_at_once, shared::*};
use brunt_runtime::net::TcpStream;
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, JoinHandle, spawn, yield_now};
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::net::Shutdown;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

/// Awaits every kind of operation once.
async fn everything() {
    let (listener, address) = listen();
    let (mut client, mut server) = pair_at(&listener, address).await;
    let question = [7; 20_000];
    client.write_all(&question).await.unwrap();
    let mut read = [0; 10_000];
    server.read_exact(&mut read).await.unwrap();
    let received = server.recv().await.unwrap();
    server.send(received).await.unwrap();
    server.flush().await.unwrap();
    sleep(Duration::from_micros(100)).await;
    assert!(timeout(Duration::from_micros(50), pending::<()>()).await.is_err());
    let kept = client.recv().await.unwrap();
    let echo = spawn(echo(server));
    let child = spawn(async move {
        yield_now().await;
        client.send(kept).await.unwrap();
        client.shutdown(Shutdown::Write).await.unwrap();
        while !client.recv().await.unwrap().is_empty() {}
    });
    child.await.unwrap();
    echo.await.unwrap().unwrap();
    let _third = TcpStream::connect(address).await.unwrap();
    let mut both = pin!(listener.accept());
    drop(poll_fn(|cx| both.as_mut().poll(cx)).await.unwrap());
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Aborts itself during its poll.
    Inside,
    /// Aborted by another task between two polls.
    Outside,
    Panic,
    /// Its runtime is dropped.
    Runtime,
}

/// The task, which must be able to abort itself.
type Handle = Rc<RefCell<Option<JoinHandle<()>>>>;

/// Starts a task that ends at its n-th poll; also returns the counter of its polls.
fn start(end: End, at: usize) -> (Handle, Rc<Cell<usize>>) {
    let handle = Handle::default();
    let polls = Rc::new(Cell::new(0));
    let (me, count) = (handle.clone(), polls.clone());
    let task = spawn(async move {
        let mut future = pin!(everything());
        poll_fn(|cx| {
            count.set(count.get() + 1);
            if count.get() == at {
                match end {
                    End::Inside => me.borrow().as_ref().expect("the task was spawned").abort(),
                    End::Panic => panic!("at poll {at}, on purpose"),
                    End::Outside | End::Runtime => (),
                }
            }
            future.as_mut().poll(cx)
        })
        .await;
    });
    *handle.borrow_mut() = Some(task);
    (handle, polls)
}

/// Waits until the task has been polled `at` times or has finished.
async fn until(handle: &RefCell<Option<JoinHandle<()>>>, polls: &Cell<usize>, at: usize) {
    while polls.get() < at && !handle.borrow().as_ref().unwrap().is_finished() {
        yield_now().await;
    }
}

/// Ends the task at its n-th poll; false if it finished before.
async fn end_at(end: End, at: usize) -> bool {
    let (handle, polls) = start(end, at);
    until(&handle, &polls, at).await;
    let task = handle.take().unwrap();
    if end == End::Outside {
        task.abort();
    }
    let result = task.await;
    let hit = result.is_err();
    if let Err(error) = result {
        assert_eq!(error.is_panic(), end == End::Panic, "{end:?} {at}: {error}");
    }
    // Tasks it spawned end when its streams are dropped.
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0, "{end:?} {at}");
    until_no_connection_is_left().await;
    hit
}

fn at_every_poll(backend: BackendKind) {
    let before = open_descriptors();
    let runtime = build(backend);
    let idle = open_descriptors();
    for end in [End::Inside, End::Outside, End::Panic] {
        let mut at = 1;
        while runtime.block_on(guarded(end_at(end, at))) {
            at += 1;
        }
        assert!(at > 6, "{backend}: only {at} polls");
    }
    runtime.block_on(guarded(async {
        while open_descriptors() > idle {
            sleep(Duration::from_millis(1)).await;
        }
        every_buffer_can_be_lent_at_once().await;
    }));
    drop(runtime);
    assert_eq!(open_descriptors(), before, "{backend}");
    for at in 1.. {
        let runtime = build(backend);
        let through = runtime.block_on(guarded(async {
            let (handle, polls) = start(End::Runtime, at);
            until(&handle, &polls, at).await;
            handle.borrow().as_ref().unwrap().is_finished()
        }));
        drop(runtime);
        assert_eq!(open_descriptors(), before, "{backend}: dropped at poll {at}");
        if through {
            break;
        }
    }
}

#[test]
fn a_task_may_end_at_every_await() {
    in_own_process("aborts::a_task_may_end_at_every_await", || backends().into_iter().for_each(at_every_poll));
}
