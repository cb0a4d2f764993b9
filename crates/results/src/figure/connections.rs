//! Connections: how many, how evenly they are served, and the memory of each.

use super::{BASE, Better, Figure, Shown, Unit, column, family, figures};
use crate::result::RunResult;

figures! { FIGURES:
    CONNECTIONS {
        key: "connections",
        label: "connections",
        unit: Unit::Count,
        help: "Most connections open at a time",
        path: "connections.peak",
        of: |result| Some(result.connections.peak as f64),
        prometheus: family("brunt_connections", 1.0),
    }
    DOWN {
        key: "down",
        label: "time down",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Time of the window in which the target could not be connected to",
        path: "connections.outages",
        of: |result| result.connections.outages.as_ref().map(|all| all.iter().map(|one| one.of_window_s * 1e6).sum()),
        bound: Some("time without a connection, as in down>1s"),
    }
    RSS_PER_CONNECTION {
        key: "rss_per_connection",
        label: "memory a connection",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "Growth of the server's anonymous memory for each connection, from 1000 connections on",
        path: "server.rss_anon_bytes",
        of: rss_per_connection,
        column: column("bytes", "per conn", 6, Shown::Number(0)),
    }
    SLAB_PER_CONNECTION {
        key: "slab_per_connection",
        label: "kernel memory a connection",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "Growth of the kernel's slab memory for each connection, of both ends, from 1000 connections on",
        path: "host.slab_bytes",
        of: |result| each_grew(result, result.host.slab_start_bytes?, result.host.slab_bytes?),
        column: column("kernel", "per conn", 6, Shown::Number(0)),
    }
    SLAB_SOCKETS_PER_CONNECTION {
        key: "slab_sockets_per_connection",
        label: "memory of sockets a connection",
        missing: "memory of sockets",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "The part of the kernel's memory for a connection that is sockets and their files",
        path: "host.slab_sockets_bytes",
        of: |result| each_grew(result, result.host.slab_sockets_start_bytes?, result.host.slab_sockets_bytes?),
        column: column("sockets", "per conn", 6, Shown::Number(0)),
    }
    SLAB_IO_URING_PER_CONNECTION {
        key: "slab_io_uring_per_connection",
        label: "memory of io_uring a connection",
        missing: "memory of io_uring",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "The part of the kernel's memory for a connection that is requests of io_uring",
        path: "host.slab_io_uring_bytes",
        of: |result| each_grew(result, result.host.slab_io_uring_start_bytes?, result.host.slab_io_uring_bytes?),
        column: column("io_uring", "per conn", 6, Shown::Number(0)),
    }
    SLAB_EPOLL_PER_CONNECTION {
        key: "slab_epoll_per_connection",
        label: "memory of epoll a connection",
        missing: "memory of epoll",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "The part of the kernel's memory for a connection that is entries of epoll sets",
        path: "host.slab_epoll_bytes",
        of: |result| each_grew(result, result.host.slab_epoll_start_bytes?, result.host.slab_epoll_bytes?),
        column: column("epoll", "per conn", 6, Shown::Number(0)),
    }
    CONNECT_RATE {
        key: "connect_rate",
        label: "connections opened a second",
        unit: Unit::Count,
        better: Better::Higher,
        help: "Connections opened per second before the load, from 1000 connections on",
        path: "connections.connect_rate_per_s",
        of: |result| result.connections.connect_rate_per_s.filter(|_| has_enough(result)),
        column: column("", "conn/s", 6, Shown::Number(0)),
    }
    SERVED {
        key: "served",
        label: "connections served",
        unit: Unit::Percent,
        better: Better::Higher,
        help: "Connections with a good reply in the window, from 1000 connections on",
        path: "connections.served_percent",
        of: |result| result.connections.served_percent.filter(|_| has_enough(result)),
        column: column("conn.", "served %", 6, Shown::Number(1)),
    }
    JAIN_INDEX {
        key: "jain_index",
        label: "Jain's index",
        unit: Unit::Ratio,
        better: Better::Higher,
        help: "Jain's fairness index of the good replies of each connection, from 1000 connections on",
        path: "connections.jain_index",
        of: |result| result.connections.jain_index.filter(|_| has_enough(result)),
        column: column("Jain's", "index", 6, Shown::Number(3)),
    }
}

/// With fewer connections, memory touched anyway outweighs theirs.
const ENOUGH: u64 = 1000;

fn has_enough(result: &RunResult) -> bool {
    result.connections.peak >= ENOUGH
}

fn each_grew(result: &RunResult, start: u64, end: u64) -> Option<f64> {
    has_enough(result).then(|| end.saturating_sub(start) as f64 / result.connections.peak as f64)
}

fn rss_per_connection(result: &RunResult) -> Option<f64> {
    let server = &result.server;
    // Older results lack anonymous memory.
    let (start, end) =
        server.rss_anon_start_bytes.zip(server.rss_anon_bytes).or(server.rss_start_bytes.zip(server.rss_bytes))?;
    each_grew(result, start, end)
}
