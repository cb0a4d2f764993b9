//! Test targets: an echo or web server in another process that can be stopped and killed; and the command under test.

use brunt_testkit::{Role, Running, Signal, free_port, read_head, text};
use serde_json::Value;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a load counts as hung.
pub const PATIENCE: Duration = brunt_testkit::LIMIT;

const ROLE: Role = Role("shared::target::role");

/// A server: the test program, started again. Killed at the end of the test.
pub struct Target {
    running: Running,
    port: u16,
}

impl Target {
    /// An echo server.
    #[track_caller]
    pub fn start() -> Self {
        Self::play("echo")
    }

    /// A web server: replies with the method, the target, the header `X-Say` and the body; `/status/N` with that
    /// status.
    #[track_caller]
    pub fn start_web() -> Self {
        Self::play("web")
    }

    /// Passes the bytes of each connection to one of its own to `address`, `IP:PORT` or a path, and those of the replies back.
    #[track_caller]
    pub fn start_relay(address: &str) -> Self {
        Self::play(&format!("relay={address}"))
    }

    #[track_caller]
    fn play(role: &str) -> Self {
        // A port of this process: one of the target's own would soon be that of another target, and a load that this one leaves
        // behind would go on there.
        Self::play_at(role, free_port())
    }

    #[track_caller]
    fn play_at(role: &str, port: u16) -> Self {
        let mut running = Running::start(ROLE.command(&format!("{role} {port}")).stdout(Stdio::piped()));
        running.line_after("LISTENS");
        Self { running, port }
    }

    /// An echo server on this port.
    #[track_caller]
    pub fn start_at(port: u16) -> Self {
        Self::play_at("echo", port)
    }

    /// Ends this echo server, and starts another one on its port.
    #[track_caller]
    pub fn restart(self) -> Self {
        let port = self.port;
        drop(self);
        Self::play_at("echo", port)
    }

    /// Waits for the first message of a load.
    #[track_caller]
    pub fn until_asked(&mut self) {
        self.running.line_after("ASKED");
    }

    /// Waits until a load has received a reply: until a connection on which one request is in flight at a time has sent another one.
    #[track_caller]
    pub fn until_answered(&mut self) {
        self.running.line_after("ANSWERED");
    }

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
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

/// Serves until killed in the process of a [`Target`]; in the test run itself it returns at once.
#[test]
fn role() {
    let Some(words) = brunt_testkit::role() else { return };
    let (role, port) = words.split_once(' ').unwrap();
    let serve: Arc<dyn Fn(TcpStream) + Send + Sync> = match role.strip_prefix("relay=").map(str::to_owned) {
        Some(address) => Arc::new(move |stream| relay(stream, &address)),
        None if role == "web" => Arc::new(web),
        None => Arc::new(echo),
    };
    let listener = TcpListener::bind(("127.0.0.1", port.parse().unwrap())).unwrap();
    println!("LISTENS");
    for stream in listener.incoming().flatten() {
        let serve = Arc::clone(&serve);
        thread::spawn(move || serve(stream));
    }
}

fn relay(stream: TcpStream, address: &str) {
    stream.set_nodelay(true).unwrap();
    let replies = stream.try_clone().unwrap();
    if address.contains('/') {
        let to = UnixStream::connect(address).unwrap();
        let from = to.try_clone().unwrap();
        copied([(Box::new(stream), Box::new(to)), (Box::new(from), Box::new(replies))]);
    } else {
        let to = TcpStream::connect(address).unwrap();
        to.set_nodelay(true).unwrap();
        let from = to.try_clone().unwrap();
        copied([(Box::new(stream), Box::new(to)), (Box::new(from), Box::new(replies))]);
    }
}

type Way = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// Copies both ways, each on a thread of its own, until their ends.
fn copied(ways: [Way; 2]) {
    for (mut from, mut to) in ways {
        thread::spawn(move || io::copy(&mut from, &mut to));
    }
}

/// Notes the first message of all connections, and the first one that is not the first of its connection.
fn asked(number: u64) {
    static NOTED: [Once; 2] = [const { Once::new() }; 2];
    let (noted, word) = if number == 0 { (&NOTED[0], "ASKED") } else { (&NOTED[1], "ANSWERED") };
    noted.call_once(|| println!("{word}"));
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 64 << 10];
    for number in 0.. {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        asked(number);
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn web(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    for number in 0.. {
        let Some(head) = read_head(&mut input) else { return };
        asked(number);
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

/// `brunt load URL FLAGS`, flags separated by blanks.
pub fn load(url: &str, flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("load").arg(url).args(flags.split_whitespace()).stdin(Stdio::null());
    // What this machine knows of earlier loads of its user decides nothing.
    command.env("BRUNT_STATE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command
}

/// A load in the background.
pub struct Run {
    running: Running,
    pub began: Instant,
}

impl Run {
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        Self { running, began: Instant::now() }
    }
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }
    /// The next line of stderr; `None` at its end.
    #[track_caller]
    pub fn line(&mut self) -> Option<String> {
        self.running.line()
    }
    /// The rest of the next line of stderr that has `text` in it.
    #[track_caller]
    pub fn line_after(&mut self, text: &str) -> String {
        self.running.line_after(text)
    }
    /// True if it has exited.
    pub fn is_over(&self) -> bool {
        self.running.is_over()
    }
    #[track_caller]
    pub fn end(self) -> Output {
        self.running.output()
    }
}

/// JSON on stdout of a run with `--json -`.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// A number in the result, by its path: `latency.response.p99_us`.
#[track_caller]
pub fn number(result: &Value, path: &str) -> f64 {
    let pointer = format!("/{}", path.replace('.', "/"));
    result.pointer(&pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is no number in {result:#}"))
}

/// Sleeps for a duration that a test needs, with the reason.
pub fn pass(time: Duration, _why: &str) {
    thread::sleep(time);
}
