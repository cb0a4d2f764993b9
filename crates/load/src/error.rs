//! Why a load could not be made at all. Each is one line that names the thing, the value and the remedy.
//!
//! A target that answers badly is not among these: that is a result, and it is reported as one.

use crate::options::Endpoint;
use brunt_tls::{Cause, TlsError};
use std::{fmt, io, time::Duration};

/// Why there is no result.
#[derive(Debug)]
pub enum LoadError {
    /// The options contradict themselves or ask for the impossible.
    Options(String),
    /// Nothing listens at the target.
    Refused(Endpoint),
    /// The target cannot be reached or will not be connected to.
    Unreachable(Endpoint, io::Error),
    /// No attempt to connect was answered in time.
    NoAnswer(Endpoint, Duration),
    /// Connections were accepted, and no handshake was answered in time.
    NoHandshake(String, Duration),
    /// There is no TLS with the target.
    Tls(String, TlsError),
    /// More connections than this process may have descriptors.
    Descriptors {
        /// Connections asked for.
        connections: usize,
        /// Connections for which the limit is enough.
        fit: usize,
        /// The hard limit.
        limit: u64,
    },
    /// The system as a whole has no descriptor left.
    SystemDescriptors {
        /// Connections that were open by then.
        open: u64,
    },
    /// No local port is left for another connection to this address.
    Ports {
        /// The target.
        endpoint: Endpoint,
        /// Connections that were open by then.
        open: u64,
        /// The range the kernel takes local ports from, if it says.
        range: Option<(u16, u16)>,
    },
    /// The source of the requests has failed; its own words, on one line.
    Script(String),
    /// A process of the load has failed; which one, and how, on one line.
    Process(String),
    /// A thread could not be started, pinned, or given a runtime.
    Thread {
        /// Its number.
        thread: usize,
        /// The core it was to run on.
        core: Option<usize>,
        /// What failed.
        error: io::Error,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(text) | Self::Script(text) | Self::Process(text) => f.write_str(text),
            Self::Refused(address) => {
                write!(f, "nothing listens on {address} (connection refused): start the target first or check the port")
            }
            // The error names the path.
            Self::Unreachable(Endpoint::Unix(_), error) => {
                write!(f, "{error}: start the target first or check the path")
            }
            Self::Unreachable(address, error) => {
                write!(f, "cannot connect to {address} ({error}): check the address, the route and the firewall")
            }
            Self::NoAnswer(address, waited) => write!(
                f,
                "{address} did not answer one attempt to connect within {waited:?}: check the address and the firewall, or raise --timeout"
            ),
            Self::NoHandshake(target, waited) => write!(
                f,
                "{target} accepts connections and did not answer one TLS handshake within {waited:?}: ask for http:// if it speaks no TLS, or raise --timeout"
            ),
            Self::Tls(target, fault) => write!(f, "no TLS with {target}: {fault}: {}", remedy(fault.cause)),
            Self::Descriptors { connections, fit, limit } => write!(
                f,
                "{connections} connections do not fit into this process's limit of {limit} open files, {fit} do: raise it (ulimit -Hn) or lower -c"
            ),
            Self::SystemDescriptors { open } => {
                write!(f, "the system has no file left to open after {open} connections: raise fs.file-max or lower -c")
            }
            Self::Ports { endpoint, open, range } => {
                write!(f, "no local port is left for another connection to {endpoint} after {open}")?;
                if let Some((first, last)) = range {
                    write!(f, " (ports {first} to {last})")?;
                }
                write!(
                    f,
                    ": widen net.ipv4.ip_local_port_range, wait a minute for closed ones, give more addresses (--source), or lower -c"
                )
            }
            Self::Thread { thread, core: Some(core), error } => write!(
                f,
                "load thread {thread} could not start on core {core} ({error}): check --cores against the cores this process may use"
            ),
            Self::Thread { thread, core: None, error } => {
                write!(
                    f,
                    "load thread {thread} could not start ({error}): use fewer threads (-t) or raise the limit it names"
                )
            }
        }
    }
}

/// What to do about a fault of TLS.
fn remedy(cause: Cause) -> &'static str {
    match cause {
        Cause::Expired => "have it renewed, or take any certificate with --insecure",
        Cause::Name => "ask for a name that it has, or take any certificate with --insecure",
        Cause::Untrusted => "name the authority's certificate with --cacert FILE, or take any with --insecure",
        Cause::Identity => "show one that it takes with --cert FILE and --key FILE",
        Cause::NoTls => "ask for http://, or for the port that speaks TLS",
        Cause::NothingInCommon => "leave --tls-version out, or have the target speak HTTP/1.1 over TLS 1.2 or 1.3",
        Cause::UnexpectedEof | Cause::Other => "the target's log may say why",
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreachable(_, error) | Self::Thread { error, .. } => Some(error),
            _ => None,
        }
    }
}
