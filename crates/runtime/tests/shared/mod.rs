//! Shared by the test programs: runtimes with a time limit, pairs of streams, an echo server, separate processes.
#![allow(dead_code, reason = "each test program uses its part of what they share")]

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, Runtime};
pub use brunt_testkit::LIMIT;
use brunt_testkit::{Role, Running, free_port, role};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

/// Whether this machine has the backend. Without io_uring, prints the reason, unless `BRUNT_URING=must`.
pub fn is_available(backend: BackendKind) -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let check = || Runtime::builder().backend(Some(BackendKind::Uring)).build().err().map(|error| error.to_string());
    let Some(reason) = MISSING.get_or_init(check).as_ref().filter(|_| backend == BackendKind::Uring) else {
        return true;
    };
    assert!(std::env::var_os("BRUNT_URING").is_none_or(|value| value != "must"), "{reason}");
    eprintln!("skipped: {reason}");
    false
}

/// The backends of this machine.
pub fn backends() -> Vec<BackendKind> {
    [BackendKind::Uring, BackendKind::Epoll].into_iter().filter(|backend| is_available(*backend)).collect()
}

/// One of them by number, alternating.
pub fn nth_backend(n: usize) -> BackendKind {
    let backends = backends();
    backends[n % backends.len()]
}

/// A new runtime on that backend.
pub fn build(backend: BackendKind) -> Runtime {
    static ONCE: Once = Once::new();
    // Some tests hold ten thousand sockets.
    ONCE.call_once(|| limit_files(u64::MAX));
    let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
    assert_eq!(runtime.backend(), backend);
    runtime
}

/// Sets the limit on open files of this process, up to the hard limit.
pub fn limit_files(most: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(most.min(maximum.unwrap_or(u64::MAX)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

/// Runs a test's future on a new runtime, if this machine has the backend.
pub fn on(backend: BackendKind, body: impl Future) {
    if is_available(backend) {
        build(backend).block_on(guarded(body));
    }
}

/// Panics instead of hanging.
pub async fn guarded<T>(body: impl Future<Output = T>) -> T {
    timeout(LIMIT, body).await.expect("the test hangs")
}

/// Defines one test for each backend of every named async function.
#[macro_export]
macro_rules! on_both_backends {
    ($($name:ident),* $(,)?) => {
        mod uring {
            $(#[test] fn $name() { $crate::shared::on(brunt_runtime::BackendKind::Uring, super::$name()) })*
        }
        mod epoll {
            $(#[test] fn $name() { $crate::shared::on(brunt_runtime::BackendKind::Epoll, super::$name()) })*
        }
    };
}

/// Runs `body` in a separate process: this test program again, with only the test of that name (`module::test`). For what looks
/// at or changes the state of the whole process: tests of a program run beside each other.
pub fn in_own_process(name: &'static str, body: impl FnOnce()) {
    if role().is_some() {
        // Opens the lock file of the ports: no descriptor that is counted later.
        free_port();
        return body();
    }
    passes(&mut Role(name).command("alone"));
}

/// Runs a test in a separate process, which [`Role`] describes, and prints what it printed.
pub fn passes(test: &mut Command) {
    let (mut output, end) = io::pipe().unwrap();
    let mut process = Running::start(test.stdout(end.try_clone().unwrap()).stderr(end));
    // Closes this process's ends of the pipe.
    test.stdout(Stdio::null()).stderr(Stdio::null());
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert!(process.end().success(), "{text}");
    assert!(text.contains("1 passed"), "there is no such test: {test:?}: {text}");
    println!("{text}");
}

/// The usual receive buffers of a worker, without overflow buffers.
pub const BUFFERS: usize = 1984;

/// Open descriptors of this process.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A listener on a port below the ephemeral range, so no client can have taken it.
pub fn listen() -> (TcpListener, SocketAddr) {
    loop {
        // A test on another thread may have taken it.
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port()).into()) {
            let address = listener.local_addr().unwrap();
            return (listener, address);
        }
    }
}

/// Both ends of a connection.
pub async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listen();
    pair_at(&listener, address).await
}

/// Both ends of a connection to a listener without other clients.
pub async fn pair_at(listener: &TcpListener, address: SocketAddr) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(address).await.unwrap();
    (client, listener.accept().await.unwrap())
}

/// Echoes until the end of the stream.
pub async fn echo(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}

/// Sends a request and checks the echoed reply.
pub async fn ask(stream: &mut TcpStream, question: &[u8]) -> io::Result<()> {
    stream.write_all(question).await?;
    let mut answer = vec![0; question.len()];
    stream.read_exact(&mut answer).await?;
    assert_eq!(answer, question);
    Ok(())
}

/// Waits until no connection is open; the guard around each test bounds the wait.
pub async fn until_no_connection_is_left() {
    while brunt_runtime::metrics().connections > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until at most `idle` descriptors are open: the kernel closes the last ones some turns later.
pub async fn until_descriptors_are(idle: usize) {
    while open_descriptors() > idle {
        sleep(Duration::from_millis(1)).await;
    }
}

/// The output of `what` and its duration.
pub fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = what();
    (value, start.elapsed())
}
