//! What single operations of the runtime cost, as time of one core.
//!
//! `cargo run --release -p brunt-runtime --example costs [uring|epoll] [SLICES]`
//!
//! Each is repeated in slices of 20 ms, 25 of them unless said otherwise; the figure is the median.

#[path = "common/backend.rs"]
mod backend;

use brunt_runtime::fs::File;
use brunt_runtime::net::UnixStream;
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{CancellationToken, Handle, Runtime, budgeted, group, spawn, spawn_blocking, yield_now};
use futures_lite::FutureExt;
use std::future::ready;
use std::hint::black_box;
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const SLICE: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3600);

/// The median of several slices, for one operation.
async fn cost(mut operation: impl AsyncFnMut()) -> Duration {
    let (mut slices, most) = (Vec::new(), std::env::args().nth(2).map_or(Ok(25), |count| count.parse()));
    for _ in 0..most.unwrap_or(1).max(1) {
        let (mut count, start) = (0, Instant::now());
        let mut elapsed = Duration::ZERO;
        while elapsed < SLICE {
            for _ in 0..16 {
                operation().await;
            }
            count += 16;
            elapsed = start.elapsed();
        }
        slices.push(elapsed / count);
    }
    slices.sort();
    slices[slices.len() / 2]
}

fn print(what: &str, cost: Duration) {
    println!("| {what} | {} ns |", cost.as_nanos());
}

async fn tasks() {
    print("a turn of a task (`yield_now`)", cost(async || yield_now().await).await);
    print("the budget, asked once (`budgeted`)", cost(async || budgeted(ready(())).await).await);
    print(
        "a task that ends at once, joined",
        cost(async || spawn(async { black_box(1) }).await.map(drop).unwrap_or(())).await,
    );
    print("work of the blocking pool, joined", cost(async || drop(spawn_blocking(|| black_box(1)).await)).await);
}

async fn timers() {
    print("a timer that is set and dropped", cost(async || sleep(HOUR).or(ready(())).await).await);
    let waits = async || timeout(HOUR, yield_now()).await.unwrap_or(());
    print("a time limit around a turn, beyond the turn", less_a_turn(cost(waits).await).await);
}

async fn less_a_turn(of: Duration) -> Duration {
    of.saturating_sub(cost(async || yield_now().await).await)
}

async fn token(stop: &CancellationToken) -> Duration {
    less_a_turn(cost(async || yield_now().or(stop.cancelled()).await).await).await
}

async fn tokens() {
    print("a token waited for beside a turn: of this worker alone", token(&CancellationToken::new()).await);
    let parent = CancellationToken::new();
    print("the same: a child of a token of all workers", token(&parent.child_token()).await);
    // One token on two workers, at the same time.
    let both = group::run(&Runtime::builder(), &[None, None], async |_| token(&parent).await);
    let slowest = both.into_iter().flatten().max().unwrap_or_default();
    print("the same: one token that two workers wait for at a time", slowest);
}

async fn messages() -> io::Result<()> {
    let (mut one, mut other) = UnixStream::pair()?;
    spawn(async move {
        while let Ok(part) = other.recv().await
            && !part.is_empty()
        {
            other.send(part).await?;
        }
        io::Result::Ok(())
    });
    let asks = async || {
        let sent = one.write_all(&[7; 100]).await;
        let got = one.recv().await;
        assert!(sent.is_ok() && got.is_ok());
    };
    print("100 B to another task over a Unix socket, and back", cost(asks).await);
    let (sender, handle) = mpsc::channel();
    let (stop, is_stopped) = async_channel::bounded::<()>(1);
    let worker = thread::spawn(move || {
        Runtime::new()?.block_on(async {
            let _ = sender.send(Handle::current());
            let _ = is_stopped.recv().await;
            io::Result::Ok(())
        })
    });
    let there = handle.recv().map_err(io::Error::other)?;
    let asks = async || drop(there.spawn(|| ready(black_box(1))).await);
    print("a task on another worker (`Handle::spawn`), joined", cost(asks).await);
    drop(stop);
    worker.join().unwrap_or_else(|_| Err(io::Error::other("the other worker panicked")))
}

async fn files() -> io::Result<()> {
    let file = File::open(std::env::current_exe()?).await?;
    let mut buffer = vec![0; 4096];
    let reads = async || match file.read_at(std::mem::take(&mut buffer), 0).await {
        Ok((_, read)) => buffer = read,
        Err(error) => panic!("{error}"),
    };
    print("4 KiB of a file that is in the page cache", cost(reads).await);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = backend::backend(std::env::args().nth(1).as_deref())?;
    let runtime = Runtime::builder().backend(backend).build()?;
    println!("| {:?} | cost |\n|---|---|", runtime.backend());
    runtime.block_on(async {
        tasks().await;
        timers().await;
        tokens().await;
        messages().await?;
        files().await
    })?;
    Ok(())
}
