//! A page that is served, a server to load, and plain requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Timeout: anything slower is hung, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A port below the ephemeral range, which is free now.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 27_000 + (std::process::id() % 500) as u16 * 10;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed)).take(500);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}

pub fn brunt(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", home.join("state")).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A process that is killed at the end of the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `brunt serve http`, and its URL.
pub fn server(home: &Path) -> (Running, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let child = brunt(home, &["serve", "http", "--listen", &address, "--service", "hello"]).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < until, "the server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    (Running(child), format!("http://{address}/"))
}

/// A result in `home/runs/NAME`.
pub fn result(home: &Path, url: &str, name: &str) -> PathBuf {
    let dir = home.join("runs").join(name);
    let args = ["load", url, "-n", "20000", "-c", "2", "--warmup", "100ms", "--quiet", "--accept-any-result", "--out"];
    assert!(brunt(home, &args).arg(&dir).status().unwrap().success());
    dir
}

/// A temporary folder under its one name without links.
pub fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().canonicalize().unwrap();
    (home, real)
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn field(&self, name: &str) -> Option<&str> {
        let name = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&name))
    }
}

/// A command that serves the page: `brunt ui`, or `brunt load --ui`.
pub struct Ui {
    pub child: Running,
    /// With the token.
    pub url: String,
    pub port: u16,
    pub token: String,
}

impl Ui {
    /// Starts `brunt ui` with these words, on a free port.
    pub fn start(home: &Path, words: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{}", free_port());
        Self::of(brunt(home, &[&["ui", "--listen", &listen], words].concat()))
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = Running(command.stderr(Stdio::piped()).spawn().unwrap());
        let mut messages = BufReader::new(child.0.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("page: ") {
            line.clear();
            assert_ne!(messages.read_line(&mut line).unwrap(), 0, "it ended before it said where the page is");
        }
        // Keeps the pipe open, so that no message fails.
        std::thread::spawn(move || std::io::copy(&mut messages, &mut std::io::sink()));
        let url = line.trim_start_matches("page: ").trim().to_owned();
        let (address, token) = url.split_once("/?token=").unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let token = token.to_owned();
        Self { child, url, port, token }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends bytes, and returns all that comes back until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        // A reset after a refusal is no failure.
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    }

    /// A request with these fields, and nothing of its own but its end.
    pub fn ask(&self, method: &str, target: &str, fields: &[String], body: &str) -> Reply {
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let text = self
            .raw(format!("{method} {target} HTTP/1.1\r\n{fields}{length}Connection: close\r\n\r\n{body}").as_bytes());
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {target}: {text}"));
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{text}"));
        let is_chunked = head.contains("Transfer-Encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_owned() };
        Reply { status, head: head.to_owned(), body }
    }

    /// Host and cookie.
    pub fn known(&self) -> Vec<String> {
        vec![format!("Host: {}", self.host()), format!("Cookie: brunt-ui-{}={}", self.port, self.token)]
    }

    pub fn get(&self, target: &str) -> Reply {
        self.ask("GET", target, &self.known(), "")
    }

    pub fn post(&self, target: &str, body: &str) -> Reply {
        let origin = format!("Origin: http://{}", self.host());
        self.ask("POST", target, &[self.known(), vec![origin]].concat(), body)
    }

    /// The events of a directory until one that `is_wanted`, or until they end; each is its data.
    pub fn events(&self, dir: &str, is_wanted: impl Fn(&serde_json::Value) -> bool) -> Vec<serde_json::Value> {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = self.known().join("\r\n");
        stream.write_all(format!("GET /events?dir={dir} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).unwrap();
        let mut seen = Vec::new();
        for line in BufReader::new(stream).lines() {
            let line = line.expect("events go on");
            if line == "event: end" {
                return seen;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                seen.push(serde_json::from_str(data).expect(data));
                if is_wanted(seen.last().unwrap()) {
                    return seen;
                }
            }
        }
        seen
    }

    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Waits for the end; its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The body of chunks.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&rest[..length]);
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    body
}

/// The output of a command that ends by itself.
pub fn output(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
}
