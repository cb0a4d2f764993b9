//! Reference servers: a service (what is answered) on a server model (how the I/O is done).
//!
//! Models share everything but the difference: each is one small file, and `model` alone knows them all.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod http;
pub mod listen;
pub mod processes;
mod report;
mod tcp;
mod work;

pub use report::{Counts, Waits};
pub use tcp::{Model, TcpModel};
pub use work::Work;

use brunt_runtime::Spinning;
use serde::{Deserialize, Serialize};
use std::{fmt, io, net::SocketAddr, path::PathBuf, sync::mpsc, time::Duration};
use tcp::shared::context::ModelContext;

/// What is done with what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// It goes back, when this work has been done for it.
    Echo(Work),
    /// It is read and forgotten, and never answered.
    Discard,
}

/// What is asked of a server of plain TCP.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is served.
    pub service: Service,
    /// Addresses to listen on, at least one.
    pub listen: Vec<SocketAddr>,
    /// How the I/O is done.
    pub model: TcpModel,
    /// One worker for each entry, pinned to that core; `None` leaves the thread where the scheduler puts it.
    pub workers: Vec<Option<usize>>,
    /// How long connections may still be served after the stop, if their clients keep them open.
    pub grace: Duration,
    /// What a worker of our own runtime does before it sleeps.
    pub spin: Spinning,
    /// Threads of [`TcpModel::Pool`]; `None` is one for each worker.
    pub pool: Option<usize>,
}

/// What a server tells while it runs, for the one who started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// All workers listen on these addresses; the text names the backend and why it is not the best one, if so.
    Listening {
        /// Addresses as bound: port 0 has become a real port.
        addresses: Vec<SocketAddr>,
        /// How the I/O is done, in words.
        backend: String,
    },
    /// It cannot do as it should, and goes on as well as it can; the text says what and why.
    Trouble(String),
    /// [`TcpModel::Pool`] has stopped, and requests had waited so long for its threads.
    Queued(Waits),
}

/// Why a server could not run.
#[derive(Debug)]
pub enum ServeError {
    /// An address could not be listened on.
    Listen(SocketAddr, io::Error),
    /// A worker could not be set up.
    Worker(io::Error),
    /// Two listeners of one server want the same address.
    DuplicateAddress(SocketAddr),
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
            Self::DuplicateAddress(address) => {
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

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Worker(error)
    }
}

/// Serves plain TCP until `stop` is raised, then stops accepting, lets clients finish for the grace time, closes and returns
/// what was served.
///
/// # Errors
/// When an address cannot be listened on, a worker cannot be set up, or one ends by itself.
pub fn tcp(
    options: &Options,
    stop: &brunt_runtime::CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    options.model.run(&ModelContext::new(options, stop, notices)?)
}
