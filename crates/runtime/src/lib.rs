//! A thread-per-core async runtime for network services on Linux: io_uring, with epoll as the fallback.
//!
//! One thread has one [`Runtime`]; its tasks, streams and timers never leave it, so nothing on the hot path is shared or
//! locked. A server for many cores has a thread and a [`Runtime`] on each (see [`group`]).
//!
//! - A dropped read loses nothing: received data stays in the connection's inbox until it is read.
//! - A panic ends its own task only, and a task can be aborted.
//! - If io_uring is not available, the same program runs on epoll; [`Runtime::fallback_reason`] says why.
//! - Hyper and rustls run unmodified, with the features `hyper` and `futures-io`.
//!
//! ```
//! use brunt_runtime::{Runtime, net::{TcpListener, TcpStream}};
//!
//! let runtime = Runtime::new()?;
//! runtime.block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
//!     let address = listener.local_addr()?;
//!     brunt_runtime::spawn(async move {
//!         let mut stream = listener.accept().await?;
//!         loop {
//!             let received = stream.recv().await?;
//!             if received.is_empty() {
//!                 return std::io::Result::Ok(());
//!             }
//!             stream.send(received).await?;
//!         }
//!     });
//!     let mut stream = TcpStream::connect(address).await?;
//!     stream.write_all(b"ping").await?;
//!     let mut reply = [0; 4];
//!     stream.read_exact(&mut reply).await?;
//!     assert_eq!(&reply, b"ping");
//!     std::io::Result::Ok(())
//! })?;
//! # std::io::Result::Ok(())
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("brunt-runtime needs Linux: it is built on io_uring and epoll");

#[cfg(any(feature = "futures-io", feature = "hyper"))]
pub mod adapters;
mod affinity;
mod blocking;
mod budget;
mod buffers;
mod builder;
mod cancel;
mod driver;
mod executor;
pub mod fs;
pub mod group;
pub mod guide;
mod io;
mod metrics;
mod mm;
mod named;
pub mod net;
pub mod pipe;
pub mod process;
pub mod signal;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
#[cfg(any(test, feature = "sim"))]
mod sim_kernel;
mod slab;
mod sync;
mod sys;
mod task;
#[cfg(test)]
mod testing;
pub mod time;
mod timer;
mod trace;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use blocking::{set_blocking_threads, spawn_blocking};
pub use budget::{budgeted, poll_budget};
pub use builder::{Builder, Runtime};
pub use cancel::CancellationToken;
pub use driver::BackendKind;
pub use driver::uring::RingFeature;
pub use executor::{
    handle::{Handle, RemoteJoinHandle},
    spin::Spinning,
};
pub use metrics::{Metrics, MetricsHandle};
pub use mm::drop_text_pages;
pub use named::os_error;
pub use task::{AbortHandle, JoinError, JoinHandle, JoinSet, TaskTracker};

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Starts a task on this thread's runtime. Must be called inside `block_on`.
#[track_caller]
pub fn spawn<F: Future + 'static>(future: F) -> JoinHandle<F::Output> {
    executor::current(|worker| worker.scheduler.spawn(future))
}

/// The counters of this thread's runtime. Must be called inside `block_on`.
#[track_caller]
pub fn metrics() -> Metrics {
    executor::current(|worker| worker.metrics())
}

/// A handle to the counters of this thread's runtime, for any thread. Must be called inside `block_on`.
#[track_caller]
pub fn metrics_handle() -> MetricsHandle {
    executor::current(executor::Worker::metrics_handle)
}

/// The arrival time of all data received in this turn of the loop; never later than [`time::now`]. The clock is read at
/// most once a turn, on first use. Must be called inside `block_on`.
#[inline]
#[track_caller]
pub fn turn_time() -> Instant {
    executor::current(executor::Worker::turn_time)
}

/// Lets every other ready task and every pending event go first.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Waits until every spawned task of this runtime has ended, at most for `limit`; returns how many are left. Must be
/// awaited by the future of `block_on`: a task would wait for itself.
pub async fn drain(limit: Duration) -> usize {
    let deadline = time::from_now(limit);
    let mut pause = Duration::from_micros(200);
    loop {
        let left = executor::current(|worker| worker.scheduler.tasks.len());
        if left == 0 || time::now() >= deadline {
            return left;
        }
        time::sleep(pause.min(deadline - time::now())).await;
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
