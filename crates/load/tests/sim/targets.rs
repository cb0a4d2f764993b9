//! Targets as tasks.

use crate::worlds::{SIZE, addresses};
use brunt_runtime::net::{Address, Any, Listener};
use brunt_runtime::{spawn, time};
use std::cell::Cell;
use std::{future::pending, rc::Rc, time::Duration, time::Instant};

/// A connection of either family.
pub type Stream = brunt_runtime::net::Stream<Any>;

/// Calls `serve` with each connection of [`addresses`], in a task of its own.
pub async fn serve<F: Future<Output = ()> + 'static>(serve: impl Fn(Stream) -> F + 'static) {
    let serve = Rc::new(serve);
    for address in addresses() {
        let serve = serve.clone();
        spawn(async move { serve_at(address, move |stream| serve(stream)).await });
    }
    pending().await
}

/// Calls `serve` with each connection of `address`, in a task of its own.
pub async fn serve_at<F: Future<Output = ()> + 'static>(address: Address, serve: impl Fn(Stream) -> F) {
    let listener = Listener::<Any>::bind(&address).unwrap();
    loop {
        // An error concerns one connection.
        if let Ok(stream) = listener.accept().await {
            spawn(serve(stream));
        }
    }
}

/// Sends back what arrives, each piece after `service`.
pub async fn echo_after(service: Duration) {
    serve(move |mut stream| async move {
        while let Ok(bytes) = stream.recv().await {
            if bytes.is_empty() {
                return;
            }
            if !service.is_zero() {
                time::sleep(service).await;
            }
            if stream.send(bytes).await.is_err() {
                return;
            }
        }
    })
    .await;
}

/// Serves all connections one message at a time in order of arrival, the n-th for `service(n)`: ends it at
/// `max(end of the one before, its arrival + before) + service`.
pub async fn serial(before: Duration, service: impl Fn(u64) -> Duration + 'static) {
    let queue = Rc::new((Cell::new(0), Cell::new(time::now()), service));
    serve(move |mut stream| {
        let queue = queue.clone();
        async move {
            let mut message = vec![0; SIZE];
            while stream.read_exact(&mut message).await.is_ok() {
                let (number, free, service): &(Cell<u64>, Cell<Instant>, _) = &queue;
                let end = free.get().max(time::now() + before) + service(number.replace(number.get() + 1));
                free.set(end);
                time::sleep_until(end).await;
                if stream.write_all(&message).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
}

/// Takes messages and answers none.
pub async fn never_answers() {
    serve(async |mut stream: Stream| while stream.recv().await.is_ok_and(|bytes| !bytes.is_empty()) {}).await;
}

/// Answers `count` messages of a connection, then ends it: orderly, or by a reset.
pub async fn ends_after(count: u64, reset: bool) {
    serve(move |mut stream| async move {
        let mut message = vec![0; SIZE];
        for _ in 0..count {
            if stream.read_exact(&mut message).await.is_err() || stream.write_all(&message).await.is_err() {
                return;
            }
        }
        let _ = stream.flush().await;
        if reset {
            stream.set_linger_zero().unwrap();
        }
    })
    .await;
}

/// What an echo target has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whole messages sent back, or about to be.
    pub answered: Cell<u64>,
    /// Messages that are being served.
    pub serving: Cell<u64>,
    /// Most of them at a time.
    pub most: Cell<u64>,
}

/// Sends each message of `size` bytes back after `service`, and closes a connection after `ends` of them.
pub async fn seen(seen: Rc<Seen>, size: u64, service: Duration, ends: u64) {
    serve(move |mut stream| {
        let seen = seen.clone();
        async move {
            let mut message = vec![0; size as usize];
            for _ in 0..ends {
                if stream.read_exact(&mut message).await.is_err() {
                    return;
                }
                seen.serving.set(seen.serving.get() + 1);
                seen.most.set(seen.most.get().max(seen.serving.get()));
                if !service.is_zero() {
                    time::sleep(service).await;
                }
                seen.answered.set(seen.answered.get() + 1);
                let sent = stream.write_all(&message).await.is_ok() && stream.flush().await.is_ok();
                seen.serving.set(seen.serving.get() - 1);
                if !sent {
                    return;
                }
            }
        }
    })
    .await;
}
