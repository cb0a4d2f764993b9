//! Foreign wakers: combinators and executors with their own, like those of the `futures` crate.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{net::TcpStream, spawn, time::sleep};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

on_both_backends!(
    a_set_of_futures_with_wakers_of_its_own_serves_every_connection,
    the_last_registered_waker_is_woken,
    a_waker_that_owns_a_stream_may_be_dropped,
);

/// Futures polled only when their own waker was called, like `FuturesUnordered`.
struct Set<'a, T> {
    futures: Vec<Option<Pin<Box<dyn Future<Output = T> + 'a>>>>,
    ready: Arc<Ready>,
    polls: usize,
}

#[derive(Default)]
struct Ready {
    queue: Mutex<VecDeque<usize>>,
    parent: Mutex<Option<Waker>>,
}

struct Node {
    index: usize,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Node {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.ready.queue.lock().unwrap().push_back(self.index);
            if let Some(parent) = self.ready.parent.lock().unwrap().take() {
                parent.wake();
            }
        }
    }
}

impl<'a, T> Set<'a, T> {
    fn new() -> Self {
        Self { futures: Vec::new(), ready: Arc::default(), polls: 0 }
    }

    fn push(&mut self, future: impl Future<Output = T> + 'a) {
        self.ready.queue.lock().unwrap().push_back(self.futures.len());
        self.futures.push(Some(Box::pin(future)));
    }

    /// All outputs, in order of completion.
    async fn finish(&mut self) -> Vec<T> {
        let (mut outputs, mut nodes) = (Vec::new(), Vec::new());
        nodes.resize_with(self.futures.len(), || None);
        poll_fn(|cx| {
            *self.ready.parent.lock().unwrap() = Some(cx.waker().clone());
            while outputs.len() < self.futures.len() {
                let Some(index) = self.ready.queue.lock().unwrap().pop_front() else { return Poll::Pending };
                let Some(future) = &mut self.futures[index] else { continue };
                let node = nodes[index].get_or_insert_with(|| {
                    Arc::new(Node { index, queued: AtomicBool::new(true), ready: self.ready.clone() })
                });
                node.queued.store(false, Ordering::SeqCst);
                self.polls += 1;
                if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&node.clone().into())) {
                    self.futures[index] = None;
                    outputs.push(output);
                }
            }
            Poll::Ready(())
        })
        .await;
        outputs
    }
}

async fn a_set_of_futures_with_wakers_of_its_own_serves_every_connection() {
    let (listener, address) = listen();
    let server = spawn(async move {
        // The whole server is one task: only foreign wakers distinguish its connections.
        let mut set = Set::new();
        for _ in 0..200 {
            set.push(echo(listener.accept().await.unwrap()));
        }
        set.finish().await.into_iter().for_each(|result| result.unwrap());
    });
    let mut clients = Set::new();
    for n in 0..200u32 {
        clients.push(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            for round in 0..10u32 {
                ask(&mut stream, &(n << 8 | round).to_le_bytes().repeat(500)).await.unwrap();
                // Timers with foreign wakers.
                sleep(Duration::from_micros(u64::from(n))).await;
            }
        });
    }
    clients.finish().await;
    drop(clients);
    server.await.unwrap();
}

/// Records that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn the_last_registered_waker_is_woken() {
    let (mut client, mut server) = pair().await;
    let flags: [Arc<Flag>; 3] = Default::default();
    for flag in &flags {
        // A new future each time: the waiter belongs to the stream.
        let mut read = pin!(server.recv());
        assert!(read.as_mut().poll(&mut Context::from_waker(&flag.clone().into())).is_pending());
    }
    client.write_all(b"x").await.unwrap();
    while !flags[2].0.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(1)).await;
    }
    // A task replaces a foreign waker, and vice versa.
    drop(server.recv().await.unwrap());
    let flag = Arc::new(Flag::default());
    assert!(pin!(server.recv()).poll(&mut Context::from_waker(&flag.clone().into())).is_pending());
    let reader = spawn(async move { server.recv().await.map(|received| received.to_vec()) });
    brunt_runtime::yield_now().await;
    client.write_all(b"y").await.unwrap();
    assert_eq!(reader.await.unwrap().unwrap(), b"y");
}

/// A foreign task whose waker owns the future: dropping the waker drops the future.
struct Owner {
    _stream: TcpStream,
}
// SAFETY: the test wakes and drops its waker on the thread that the stream came from, and never shares it.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}
impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

async fn a_waker_that_owns_a_stream_may_be_dropped() {
    let (mut client, owned) = pair().await;
    let (_other, mut server) = pair().await;
    let waker: Waker = Arc::new(Owner { _stream: owned }).into();
    assert!(pin!(server.recv()).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    // Another waiter replaces it and drops the last reference, which closes a stream during a poll.
    let reader = spawn(async move { server.recv().await.map(|received| received.to_vec()) });
    assert!(client.recv().await.unwrap().is_empty(), "the stream was closed with its waker");
    reader.abort();
}

#[test]
fn the_end_of_a_runtime_wakes_foreign_waiters() {
    for backend in backends() {
        let runtime = build(backend);
        let flag = Arc::new(Flag::default());
        let (_client, mut server) = runtime.block_on(guarded(pair()));
        let waker = flag.clone().into();
        let mut cx = Context::from_waker(&waker);
        assert!(pin!(server.recv()).poll(&mut cx).is_pending());
        drop(runtime);
        assert!(flag.0.load(Ordering::SeqCst), "{backend}: the reader was not woken");
        assert!(matches!(pin!(server.recv()).poll(&mut cx), Poll::Ready(Err(_))));
    }
}
