//! Test targets: an echo or web server in another process that can be stopped and killed; and the command under test.

use super::head::read_head;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::thread;
use std::time::{Duration, Instant};

const ROLE: &str = "BRUNT_LOAD_TEST_ROLE";

/// Held by a test while it measures.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Timeout: anything slower is hung, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server: the test program, started again. Killed at the end of the test.
pub struct Target {
    child: Child,
    stdout: BufReader<ChildStdout>,
    port: u16,
}

impl Target {
    /// An echo server.
    pub fn start() -> Self {
        Self::play("echo")
    }

    /// A web server: replies with the method, the target, the header `X-Say` and the body; `/status/N` with that
    /// status.
    pub fn start_web() -> Self {
        Self::play("web")
    }

    fn play(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "role", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut target = Self { child, stdout, port: 0 };
        // The test harness prints on the same line first.
        target.port = target.heard("LISTENS ").parse().unwrap();
        target
    }

    /// Waits for a line of the server with this prefix and returns the rest.
    fn heard(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server ended before it said {word}");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits for the first message of a load.
    pub fn until_asked(&mut self) {
        self.heard("ASKED");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    pub fn port(&self) -> u16 {
        self.port
    }
    pub fn url(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }
    pub fn http(&self, target: &str) -> String {
        format!("http://127.0.0.1:{}{target}", self.port)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Entry point of the test `role`: serves until killed in a child, returns at once in the test run itself.
pub fn play_role() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let serve = if role == "web" { web } else { echo };
    let listener = listen();
    println!("LISTENS {}", listener.local_addr().unwrap().port());
    for stream in listener.incoming().flatten() {
        thread::spawn(move || serve(stream));
    }
}

/// Notes the first message of all connections.
fn asked() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| println!("ASKED"));
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        asked();
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn web(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input) {
        asked();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let mut body = vec![0; field("Content-Length").map_or(0, |length| length.parse().unwrap())];
        if input.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let said = [field("X-Say").unwrap_or_default(), &String::from_utf8_lossy(&body)].concat();
        let text = [method, target, &said].join(" ").trim_end().to_owned();
        let status = target.strip_prefix("/status/").unwrap_or("200");
        let connection = match (head.contains("HTTP/1.0"), field("Connection")) {
            (true, Some("keep-alive")) => "keep-alive",
            (false, None) => "keep-alive",
            _ => "close",
        };
        let length = text.len();
        let text = if method == "HEAD" { "" } else { &text };
        let reply =
            format!("HTTP/1.1 {status} Said\r\nConnection: {connection}\r\nContent-Length: {length}\r\n\r\n{text}");
        if out.write_all(reply.as_bytes()).is_err() || connection == "close" {
            return;
        }
    }
}

/// A listener on a port below the ephemeral range. No port is used twice: a test may rely on nothing listening there.
pub fn listen() -> TcpListener {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 22_000 + (std::process::id() % 500) as u16 * 10;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed)).take(500);
    ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok()).expect("a free port")
}

/// `brunt load URL FLAGS`, flags separated by blanks.
pub fn load(url: &str, flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("load").arg(url).args(flags.split_whitespace()).stdin(Stdio::null());
    command
}

/// Sends a signal by name, for example `STOP`.
pub fn signal(pid: u32, name: &str) {
    // The shell's built-in `kill`; a machine without procps has no such program.
    assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
}

/// A run in the background.
pub struct Running {
    child: Child,
    pub began: Instant,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, began: Instant::now() }
    }
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    /// True if it has exited.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
    pub fn end(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

/// JSON on stdout of a run with `--json -`.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(output)))
}

/// A number in the result, by its path: `latency.response.p99_us`.
#[track_caller]
pub fn number(result: &Value, path: &str) -> f64 {
    let pointer = format!("/{}", path.replace('.', "/"));
    result.pointer(&pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is no number in {result:#}"))
}

/// All output of a run, for assertion messages.
pub fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n--- stdout\n{}\n--- stderr\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

#[track_caller]
pub fn assert_code(output: &Output, codes: &[i32]) {
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{}", told(output));
}

/// Sleeps for a duration that a test needs, with the reason.
pub fn pass(time: Duration, _why: &str) {
    thread::sleep(time);
}
