//! Shared by the tests: runtimes with a time limit, pairs of streams, an echo server, separate processes.

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, Runtime};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::process::Command;
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

/// Time limit of a test on a busy machine; longer counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(120);

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
    timeout(PATIENCE, body).await.expect("the test hangs")
}

/// Defines one test for each backend of every named async function.
#[macro_export]
macro_rules! on_both_backends {
    ($($name:ident),* $(,)?) => {
        mod uring {
            $(#[test] fn $name() { $crate::common::on(brunt_runtime::BackendKind::Uring, super::$name()) })*
        }
        mod epoll {
            $(#[test] fn $name() { $crate::common::on(brunt_runtime::BackendKind::Epoll, super::$name()) })*
        }
    };
}

/// Runs `body` in a separate process: this test program again, with only the test of that name (`module::test`).
pub fn alone(name: &str, body: impl FnOnce()) {
    const ALONE: &str = "BRUNT_ABUSE_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let me = std::env::current_exe().unwrap();
    let output =
        Command::new(me).args(["--exact", name, "--nocapture", "--include-ignored"]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "there is no test '{name}': {text}");
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
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + (std::process::id() % 500) as u16 * 16;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 8_000;
        // Another process of these tests may have taken it.
        if let Ok(listener) = TcpListener::bind(([127, 0, 0, 1], port).into()) {
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

/// A small random number generator.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn roll(&mut self, below: u64) -> u64 {
        // Marsaglia, "Xorshift RNGs", 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// The output of `what` and its duration.
pub fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = what();
    (value, start.elapsed())
}
