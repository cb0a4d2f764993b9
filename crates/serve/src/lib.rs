//! Reference servers: a service (what is answered) on a server model (how the I/O is done).
//!
//! Models share everything but the difference: each is one small file, and this file is the only one that knows them all.
#![forbid(unsafe_code)]

pub mod http;
pub mod listen;
mod model;
pub mod processes;
mod report;

pub use model::Model;
pub use report::Counts;

use runtime::Spinning;
use std::{fmt, io, net::SocketAddr, path::PathBuf, sync::mpsc, time::Duration};

/// What is asked of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Addresses to listen on, at least one.
    pub listen: Vec<SocketAddr>,
    /// How the I/O is done.
    pub model: Model,
    /// One worker for each entry, pinned to that core; `None` leaves the thread where the scheduler puts it.
    pub workers: Vec<Option<usize>>,
    /// How long connections may still be served after the stop, if their clients keep them open.
    pub grace: Duration,
    /// What a worker of our own runtime does before it sleeps.
    pub spin: Spinning,
}

/// What a server tells while it runs, for the one who started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// All workers listen on these addresses; the text names the backend and why it is not the best one, if so.
    Listening {
        /// Addresses as bound: port 0 has become a real port.
        addresses: Vec<SocketAddr>,
        /// How the I/O is done, in words.
        backend: String,
    },
}

/// Why a server could not run.
#[derive(Debug)]
pub enum ServeError {
    /// An address could not be listened on.
    Listen(SocketAddr, io::Error),
    /// A worker could not be set up.
    Worker(io::Error),
    /// Two listeners of one server want the same address.
    Twice(SocketAddr),
    /// The access log could not be opened.
    Log(PathBuf, io::Error),
    /// A process of the server has failed; which one, and how, on one line.
    Process(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) => {
                write!(f, "cannot listen on {address}: {error}")?;
                match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        write!(f, "; another process has it: stop that one or choose another port")
                    }
                    io::ErrorKind::PermissionDenied => write!(f, "; ports below 1024 need CAP_NET_BIND_SERVICE"),
                    io::ErrorKind::AddrNotAvailable => write!(f, "; this machine has no such address"),
                    _ => Ok(()),
                }
            }
            Self::Worker(error) => write!(f, "cannot start a worker: {error}"),
            Self::Process(text) => f.write_str(text),
            Self::Twice(address) => {
                write!(
                    f,
                    "cannot listen on {address} for two purposes: give each listener, and --metrics, its own port"
                )
            }
            Self::Log(path, error) => {
                write!(
                    f,
                    "cannot write the access log '{}': {error}; choose another file, or - for stdout",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for ServeError {}

/// Serves echo (whatever arrives goes back) until `stop` is raised, then stops accepting, lets clients finish for the
/// grace time, closes and returns what was served.
pub fn echo(options: &Options, stop: &runtime::Stop, notices: &mpsc::Sender<Notice>) -> Result<Counts, ServeError> {
    // Bound here once, so that a port in use is one error before any worker starts, and port 0 is one port for all.
    let several = options.workers.len() > 1 && options.model != Model::Tokio;
    let reserved = listen::reserve(&options.listen, several)?;
    echo_on(options, &reserved, stop, notices)
}

/// Serves on addresses that have been reserved.
fn echo_on(
    options: &Options,
    reserved: &[listen::Reserved],
    stop: &runtime::Stop,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    match options.model {
        Model::Uring => model::ours::echo(options, runtime::BackendKind::Uring, reserved, stop, notices),
        Model::Epoll => model::ours::echo(options, runtime::BackendKind::Epoll, reserved, stop, notices),
        Model::Tokio => model::tokio::echo(options, reserved, stop, notices),
    }
}
