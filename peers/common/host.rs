//! What every Rust peer needs from the host: pinned threads, listeners, and descriptors.
//! Included by path. It must never touch a connection's data: that is what the peers are compared by.

use std::{
    fmt::Display,
    fs::File,
    io,
    net::{SocketAddr, TcpListener},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    net::{self as sock, AddressFamily, SocketFlags, SocketType, sockopt},
    process::{self, Resource, Rlimit},
    thread::{CpuSet, sched_setaffinity},
};

/// Connections that may wait to be accepted. The kernel lowers it to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// Ends the process with one line: `status` 1 for what the host refuses, 2 for a flag that cannot be honoured.
pub fn fail(status: i32, what: impl Display) -> ! {
    let program = std::env::args().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    eprintln!("{}: {what}", name.strip_prefix("peer-").unwrap_or(name));
    std::process::exit(status)
}

/// Lets the calling thread, and the threads it starts from now on, run on `cores` only.
pub fn pin(cores: &[usize]) {
    for &core in cores {
        // One by one first: for a set the kernel silently drops the cores that do not exist.
        if let Err(error) = set_affinity(&[core]) {
            let remedy = "for the cores of this host see /sys/devices/system/cpu/online";
            fail(2, format!("--cores {core}: cannot run there: {error}; {remedy}"));
        }
    }
    set_affinity(cores).unwrap_or_else(|error| fail(2, format!("--cores {cores:?}: {error}")));
}

fn set_affinity(cores: &[usize]) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    sched_setaffinity(None, &set)
}

/// Opens `count` listeners on one address, or ends the process.
///
/// Connections inherit TCP_NODELAY from their listener (Linux copies the option at accept), so no peer has to spend a
/// system call a connection on it and none can forget it.
pub fn listen(address: SocketAddr, count: usize) -> Vec<TcpListener> {
    raise_file_limit();
    // The kernel releases an io_uring and its listener asynchronously after the process exits: the port of a stopped
    // server stays in use for some milliseconds.
    let deadline = Instant::now() + Duration::from_secs(1);
    let opened = loop {
        match open(address, count) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => break other,
        }
    };
    opened.unwrap_or_else(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => "; is another server running there?",
            io::ErrorKind::AddrNotAvailable => "; see 'ip address' for the addresses of this host",
            io::ErrorKind::PermissionDenied => "; take a port above 1023",
            _ => "",
        };
        fail(1, format!("cannot listen on {address}: {error}{remedy}"))
    })
}

fn open(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    // SO_REUSEPORT would silently share the port with a forgotten server; a plain bind finds it out. It does not
    // listen: a client would be reset when it goes.
    let plain = bind(address, false)?;
    let sockets = if count == 1 {
        vec![plain]
    } else {
        let address = TcpListener::from(plain).local_addr()?;
        (0..count).map(|_| bind(address, true)).collect::<io::Result<_>>()?
    };
    let listen = |socket| {
        sock::listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    sockets.into_iter().map(listen).collect()
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = sock::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    sock::bind(&socket, &address)?;
    Ok(socket)
}

/// Descriptors up to the hard limit: a connection costs one.
fn raise_file_limit() {
    let Rlimit { maximum, .. } = process::getrlimit(Resource::Nofile);
    // A refusal leaves the limit as it was, and `Spare` copes with reaching it.
    let _ = process::setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}

/// The message for a host that gives no io_uring.
#[allow(dead_code, reason = "not every peer uses io_uring")]
pub fn no_ring(error: impl Display) -> String {
    let remedy = "see sysctl kernel.io_uring_disabled, the container's seccomp profile, and ulimit -l";
    format!("io_uring failed: {error}; {remedy}").replace('\n', " ")
}

/// Says on stderr that the peer serves; port 0 becomes the real port.
#[allow(dead_code, reason = "not every peer includes all of this file")]
pub fn announce(what: &str, listener: &TcpListener, cores: &[usize]) {
    if let Ok(address) = listener.local_addr() {
        eprintln!("{what}: listening on {address}, cores {cores:?}");
    }
}

/// Runs `serve` on one pinned thread a core, each with its own listener on the address; returns when all have ended.
#[allow(dead_code, reason = "not every peer is one thread a core")]
pub fn thread_per_core(what: &str, address: SocketAddr, cores: &[usize], serve: impl Fn(TcpListener, usize) + Sync) {
    pin(cores);
    let listeners = listen(address, cores.len());
    announce(what, &listeners[0], cores);
    std::thread::scope(|scope| {
        for (listener, &core) in listeners.into_iter().zip(cores) {
            let serve = &serve;
            scope.spawn(move || {
                pin(&[core]);
                serve(listener, core);
            });
        }
    });
}

/// One descriptor kept in hand for the moment that none is left.
///
/// Without it a full descriptor table makes accept fail at once, forever: a spin for a level-triggered loop, a client
/// that hangs for the others. With it the next client is accepted and refused by closing, and the server rests.
pub struct Spare {
    file: Option<File>,
    failures: u32,
}

impl Spare {
    /// Takes the spare descriptor.
    pub fn new() -> Self {
        let file = File::open("/dev/null").ok();
        Self { file, failures: 0 }
    }

    /// To be called when accept failed. Frees the spare; if accept keeps failing all the same (no memory, say), waits
    /// 10 ms, because nothing better can be done about a host in that state.
    pub fn accept_failed(&mut self) {
        self.file = None;
        self.failures += 1;
        if self.failures > 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// To be called for each accepted connection: may it stay? If not, the caller closes it.
    pub fn admits(&mut self) -> bool {
        self.failures = 0;
        if self.file.is_none() {
            self.file = File::open("/dev/null").ok();
        }
        self.file.is_some()
    }
}
