//! Reasons why there is no result, each one line with the thing, the value and the remedy.
//!
//! A target that answers badly is a result, not an error.

use crate::options::Target;
use brunt_runtime::net::Address;
use brunt_tls::{Cause, TlsError};
use std::{io, time::Duration};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LoadError {
    #[error("{0}")]
    Options(String),
    /// There are too few local addresses and ports for the connections.
    #[error("{0}")]
    Sources(String),
    #[error("nothing listens on {0} (connection refused): start the target first or check the port")]
    Refused(Address),
    #[error("{}", unreachable(.0, .1))]
    Unreachable(Address, #[source] io::Error),
    #[error("cannot connect through the proxy {0} ({1}): check --proxy and --proxy-auth")]
    Proxy(Address, #[source] io::Error),
    #[error(
        "{0} did not answer one attempt to connect within {1:?}: check the address and the firewall, or raise --timeout"
    )]
    NoAnswer(Address, Duration),
    #[error(
        "{0} accepts connections and did not answer one TLS handshake within {1:?}: use http:// if it has no TLS, or raise --timeout"
    )]
    NoHandshake(String, Duration),
    #[error("no TLS with {target}: {error}: {}", remedy(error.cause))]
    Tls { target: String, error: TlsError },
    /// More connections than this process may have descriptors; `fit` is how many the hard `limit` allows.
    #[error(
        "{connections} connections do not fit into this process's limit of {limit} open files, {fit} do: raise it (ulimit -Hn) or lower -c"
    )]
    Descriptors { connections: usize, fit: usize, limit: u64 },
    /// The whole system has no descriptor left; `open` connections were open by then.
    #[error("the system has no file left to open after {open} connections: raise fs.file-max or lower -c")]
    SystemDescriptors { open: u64 },
    /// No local port is left for another connection; `range` is the kernel's, if known.
    #[error(
        "no local port is left for another connection to {address} after {open}{}: widen net.ipv4.ip_local_port_range, wait a minute for closed ones, give more addresses (--source), or lower -c",
        range.map(|(first, last)| format!(" (ports {first} to {last})")).unwrap_or_default()
    )]
    Ports { address: Address, open: u64, range: Option<(u16, u16)> },
    /// The source of the requests has failed; its message, on one line.
    #[error("{0}")]
    Script(String),
    #[error("interrupted before all connections were open")]
    Interrupted,
    /// A process of the load has failed; which one and how, on one line.
    #[error("{0}")]
    Process(String),
    #[error("load thread {thread} could not start{}", thread_remedy(*.core, error))]
    Thread {
        thread: usize,
        core: Option<usize>,
        #[source]
        error: io::Error,
    },
}

impl LoadError {
    /// Why the first attempts to connect to a host of the target have failed.
    pub(crate) fn of_connecting(target: &Target, host: usize, address: Address, error: io::Error) -> Self {
        match TlsError::of(&error) {
            Some(error) => Self::Tls { target: target.called(host, &address), error: error.clone() },
            None if target.is_proxied() => Self::Proxy(address, error),
            None if error.kind() == io::ErrorKind::ConnectionRefused => Self::Refused(address),
            None => Self::Unreachable(address, error),
        }
    }
}

fn unreachable(address: &Address, error: &io::Error) -> String {
    match address.tcp() {
        Some(_) => format!("cannot connect to {address} ({error}): check the address, the route and the firewall"),
        // The error names the address.
        None => format!("{error}: start the target first or check the address"),
    }
}

fn thread_remedy(core: Option<usize>, error: &io::Error) -> String {
    match core {
        Some(core) => format!(" on core {core} ({error}): check --cores against the cores this process may use"),
        None => format!(" ({error}): use fewer threads (-t) or raise the limit it names"),
    }
}

fn remedy(cause: Cause) -> &'static str {
    match cause {
        Cause::Expired => "renew it, or accept any certificate with --insecure",
        Cause::Name => "use a name that it has, or accept any certificate with --insecure",
        Cause::Untrusted => "name the authority's certificate with --cacert FILE, or accept any with --insecure",
        Cause::Identity => "give one that it accepts with --cert FILE and --key FILE",
        Cause::NoTls => "use http://, or the port that has TLS",
        Cause::NothingInCommon => "leave --tls-version out, or enable HTTP/1.1 over TLS 1.2 or 1.3 on the target",
        Cause::UnexpectedEof | Cause::Other => "the target's log may say why",
    }
}
