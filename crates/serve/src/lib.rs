//! Reference servers: a service (what is answered) on a server model (how the I/O is done).
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod http;
mod listen;
mod model;
pub mod processes;
mod report;
mod standing;
mod tcp;
mod work;

pub use model::Model;
pub use report::{Counts, Waits};
pub use standing::{Standing, StandingThread};
pub use tcp::{Concurrency, MODELS, ServerModel, TcpModel, Workers};
pub use work::Work;

use brunt_runtime::{Spinning, net::Address};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::{io, net::SocketAddr, path::PathBuf, time::Duration};
use tcp::shared::context::ModelContext;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// Sent back, after this work.
    Echo(Work),
    /// Discarded.
    Discard,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub service: Service,
    /// Addresses to listen on, at least one.
    pub listen: Vec<Address>,
    pub model: TcpModel,
    /// One worker per entry, pinned to that core; `None` leaves the thread to the scheduler.
    pub workers: Vec<Option<usize>>,
    /// Time for open connections after the stop.
    pub grace: Duration,
    /// How long a worker of brunt's runtime polls before it sleeps.
    pub spin: Spinning,
    /// Threads of the model `pool`; `None` is one per worker.
    pub pool: Option<usize>,
    /// Bytes of the messages to come, for models with a buffer for each connection; 0 if unknown.
    pub message: usize,
}

impl Options {
    /// Bytes of a connection's buffer: longer than a message, so that one read takes it and shows that no more has arrived.
    pub(crate) fn buffer(&self) -> usize {
        (self.message + 1).next_power_of_two().max(4096)
    }
}

/// An event of a running server, for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// All workers listen.
    Listening {
        /// Bound addresses: port 0 replaced by the assigned port.
        addresses: Vec<Address>,
        /// The model in words, and why a better one is not used.
        backend: String,
    },
    /// The server continues with less than it should have.
    Trouble(String),
    /// Queueing times of the model `pool`, after the stop.
    Queued(Waits),
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {0}: {1}{remedy}", remedy = listen_remedy(.1.kind()))]
    Listen(SocketAddr, io::Error),
    #[error("cannot start a worker: {0}")]
    Worker(#[from] io::Error),
    /// Two listeners of one server have the same address.
    #[error("cannot listen on {0} for two purposes: give each listener, and --metrics, its own port")]
    DuplicateAddress(SocketAddr),
    #[error("cannot write the access log '{path}': {1}; choose another file, or - for stdout", path = .0.display())]
    Log(PathBuf, io::Error),
    /// One line that says what failed and why.
    #[error("{0}")]
    Failed(String),
}

fn listen_remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "; another process has it: stop that one or choose another port",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need CAP_NET_BIND_SERVICE",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
        _ => "",
    }
}

/// Serves plain TCP until `stop` is cancelled, then stops accepting, lets clients finish within the grace time and closes.
///
/// # Errors
/// If an address cannot be listened on, or a worker cannot be set up or ends by itself.
pub fn tcp(
    options: &Options,
    stop: &brunt_runtime::CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    (options.model.run)(&ModelContext::new(options, stop, notices)?)
}

/// As [`tcp`], on workers of the simulated world of this thread, whatever the model and the cores.
///
/// # Errors
/// As [`tcp`].
///
/// # Panics
/// As a worker did.
#[cfg(feature = "sim")]
pub async fn tcp_in_world(
    options: &Options,
    stop: &brunt_runtime::CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    tcp::native::run_in_world(options, stop, notices).await
}

/// Locks, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
