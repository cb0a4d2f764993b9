//! A page that is served, a server to load, and plain requests.

use brunt_testkit::{LIMIT, Marked, Running, Signal, exchange, free_port, until};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn brunt(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", home.join("state")).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// `brunt serve http`, and its URL.
pub fn server(home: &Path) -> (Running, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let running = Running::start(&mut brunt(home, &["serve", "http", "--listen", &address, "--service", "hello"]));
    until("the server listens", || TcpStream::connect(&address).is_ok());
    (running, format!("http://{address}/"))
}

/// A result in `home/runs/NAME`.
pub fn result(home: &Path, url: &str, name: &str) -> PathBuf {
    let dir = home.join("runs").join(name);
    let args = ["load", url, "-n", "20000", "-c", "2", "--warmup", "100ms", "--quiet", "--accept-any-result", "--out"];
    assert!(brunt(home, &args).arg(&dir).status().unwrap().success());
    dir
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
    running: Running,
    /// It, and the loads that it starts, each in a group of its own.
    marked: Marked,
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
        let marked = Marked::new(&mut command);
        let mut running = Running::start(command.stderr(Stdio::piped()));
        let url = running.line_after("page: ");
        let (address, token) = url.split_once("/?token=").unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let token = token.to_owned();
        Self { running, marked, url, port, token }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends bytes, and returns all that comes back until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> String {
        exchange(self.host(), bytes)
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
        stream.set_read_timeout(Some(LIMIT)).unwrap();
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

    /// Its processes and those of its loads.
    pub fn pids(&self) -> Vec<u32> {
        self.marked.pids()
    }

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Waits for the end; its exit code.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        self.running.end().code()
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
