//! What the tests share: a runtime with a guard, pairs of streams, an echo server, a process of one's own.

use brunt_runtime::{
    BackendKind, Runtime,
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    process::Command,
    time::{Duration, Instant},
};

/// Both of them.
pub const BACKENDS: [BackendKind; 2] = [BackendKind::Uring, BackendKind::Epoll];

/// Longest that anything here may take on a busy machine; what takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A fresh runtime on that backend.
pub fn build(backend: BackendKind) -> Runtime {
    let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
    assert_eq!(runtime.backend(), backend);
    runtime
}

/// Runs a test's future on a fresh runtime.
pub fn on<T>(backend: BackendKind, body: impl Future<Output = T>) -> T {
    build(backend).block_on(guarded(body))
}

/// Fails instead of hanging.
pub async fn guarded<T>(body: impl Future<Output = T>) -> T {
    timeout(PATIENCE, body).await.expect("the test hangs")
}

/// One test for each backend of every async function named.
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

/// Runs `body` in a process of its own: this test program again, with nothing but the test of that name (as `module::test`).
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

/// Receive buffers that a worker uses as long as nobody hoards them.
pub const BUFFERS: usize = 1984;

/// Descriptors this process has open.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A listener on a port below those that the kernel gives to clients, so that no client can have taken it.
pub fn listen() -> (TcpListener, SocketAddr) {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + (std::process::id() % 500) as u16 * 16;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 8_000;
        // A listener of the standard library does not share its port: it finds out whether somebody has it.
        if let Ok(free) = std::net::TcpListener::bind(("127.0.0.1", port)) {
            let address = free.local_addr().unwrap();
            drop(free);
            // Another process of these tests may have asked at the same moment.
            if let Ok(listener) = TcpListener::bind(address) {
                return (listener, address);
            }
        }
    }
}

/// Both ends of a connection.
pub async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listen();
    pair_at(&listener, address).await
}

/// Both ends of a connection to a listener that nobody else uses meanwhile.
pub async fn pair_at(listener: &TcpListener, address: SocketAddr) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(address).await.unwrap();
    (client, listener.accept().await.unwrap())
}

/// Whatever arrives goes back.
pub async fn echo(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}

/// One question, one answer.
pub async fn ask(stream: &mut TcpStream, question: &[u8]) -> io::Result<()> {
    stream.write_all(question).await?;
    let mut answer = vec![0; question.len()];
    stream.read_exact(&mut answer).await?;
    assert_eq!(answer, question);
    Ok(())
}

/// Waits until no connection is left; the guard around each test bounds the wait.
pub async fn until_no_connection_is_left() {
    while brunt_runtime::metrics().connections > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until no more descriptors are open: the kernel lets go of the last ones some turns later.
pub async fn until_descriptors_are(idle: usize) {
    while open_descriptors() > idle {
        sleep(Duration::from_millis(1)).await;
    }
}

/// A number from 0 to `below`, from a small generator: abuse needs variety, not quality.
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

/// How long something took.
pub fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = what();
    (value, start.elapsed())
}
