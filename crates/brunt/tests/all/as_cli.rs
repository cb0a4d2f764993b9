//! `brunt as` as called by scripts: the tools' flags, output channels, and exact request counts.

use brunt_testkit::{Running, Signal, listener, told, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

/// A counting server: answers every request with `hi`; closes the connection only for HTTP/1.0 without keep-alive.
struct Web {
    port: u16,
    connections: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
}

impl Web {
    fn start() -> Self {
        let listener = listener();
        let web =
            Self { port: listener.local_addr().unwrap().port(), connections: Arc::default(), requests: Arc::default() };
        let (connections, requests) = (web.connections.clone(), web.requests.clone());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let requests = requests.clone();
                thread::spawn(move || serve(connection, &requests));
            }
        });
        web
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn counts(&self) -> (u64, u64) {
        (self.connections.load(Ordering::SeqCst), self.requests.load(Ordering::SeqCst))
    }

    /// Number of connections, once there are as many; the last may be accepted only after the tester has ended.
    fn connections(&self, expected: u64) -> u64 {
        until("all connections are accepted", || self.counts().0 >= expected);
        self.counts().0
    }
}

fn serve(mut connection: TcpStream, requests: &AtomicU64) -> Option<()> {
    let (mut heads, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = connection.read(&mut buffer).ok().filter(|count| *count > 0)?;
        heads.extend_from_slice(&buffer[..count]);
        while let Some(end) = heads.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&heads[..end]).to_ascii_lowercase();
            heads.drain(..end + 4);
            requests.fetch_add(1, Ordering::SeqCst);
            let asks = head.contains("connection: keep-alive");
            let keep = if asks { "Connection: keep-alive\r\n" } else { "" };
            let reply = format!("HTTP/1.1 200 OK\r\n{keep}Content-Length: 3\r\n\r\nhi\n");
            connection.write_all(reply.as_bytes()).ok()?;
            if head.contains("http/1.0") && !asks || head.contains("connection: close") {
                return None;
            }
        }
    }
}

fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("as").args(words.split_whitespace());
    command
}

fn run(words: &str) -> Output {
    command(words).output().unwrap()
}

#[track_caller]
fn good(words: &str) -> (String, String) {
    told(&run(words), 0)
}

/// The number in the line with this prefix.
#[track_caller]
fn number(text: &str, start: &str) -> f64 {
    let rest = text.lines().find_map(|line| line.trim_start().strip_prefix(start));
    let word = rest.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number after {start:?} in\n{text}"))
}

#[test]
fn wrk_prints_its_page_to_stdout_and_the_verdict_to_stderr() {
    let web = Web::start();
    let mut command = command(&format!("wrk -t1 -c4 -d600 --latency {}", web.url()));
    let running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    // More than one on each connection: some have been answered.
    until("replies on all connections", || web.counts().0 == 4 && web.counts().1 >= 100);
    running.signal(Signal::INT);
    let (stdout, stderr) = told(&running.output(), 0);
    assert!(
        stdout.starts_with(&format!("Running 10m test @ {}\n  1 threads and 4 connections\n", web.url())),
        "{stdout}"
    );
    assert!(stdout.contains("  Latency Distribution\n     50%"), "{stdout}");
    // `1234 requests in 1.00s, 56.78KB read`. Requests in flight at the end of the window are not counted.
    let line = stdout.lines().find(|line| line.contains(" requests in ")).unwrap();
    let answered: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    assert!(answered > 0 && answered <= web.counts().1, "{line}, {:?}", web.counts());
    assert!(number(&stdout, "Requests/sec:") > 0.0, "{stdout}");
    assert_eq!(web.connections(4), 4);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("brunt: verdict ") && stderr.contains(" (interrupted)"), "{stderr}");
}

#[test]
fn ab_sends_exactly_n_requests_each_on_its_own_connection() {
    let web = Web::start();
    let home = brunt_testkit::home();
    let table = home.path().join("table.csv");
    let (stdout, _) = good(&format!("ab -c 4 -n 200 -e {} {}", table.display(), web.url()));
    assert_eq!(number(&stdout, "Complete requests:"), 200.0);
    assert_eq!(number(&stdout, "Failed requests:"), 0.0);
    assert_eq!(number(&stdout, "HTML transferred:"), 600.0);
    assert_eq!(number(&stdout, "Document Length:"), 3.0);
    assert_eq!(fs::read_to_string(table).unwrap().lines().count(), 102);
    let (connections, requests) = (web.connections(200), web.counts().1);
    assert!((200..=204).contains(&requests) && connections >= 200, "{requests} on {connections}");
    let kept = Web::start();
    let (stdout, _) = good(&format!("ab -k -c 4 -n 200 {}", kept.url()));
    assert_eq!((number(&stdout, "Complete requests:"), kept.connections(4)), (200.0, 4));
    assert_eq!(number(&stdout, "Keep-Alive requests:"), 200.0);
}

#[test]
fn fortio_keeps_stdout_for_json() {
    let web = Web::start();
    let (stdout, stderr) = good(&format!("fortio load -c 2 -n 100 -qps 0 -json - {}", web.url()));
    let page: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&page["RetCodes"]["200"], &page["DurationHistogram"]["Count"]), (&100.into(), &100.into()));
    assert_eq!(page["SocketCount"], 2);
    assert!(stderr.contains("All done 100 calls (plus 0 warmup)") && stderr.contains("# target 99.9% "), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("brunt: verdict")).count(), 1);
    let (stdout, stderr) = good(&format!("fortio load -c 2 -n 20 -qps 100 {}", web.url()));
    assert!(stdout.is_empty() && number(&stderr, "All done") == 20.0, "{stderr}");
}

#[test]
fn errors_are_one_line_with_the_right_status() {
    for (words, code, needle) in [
        ("wrk --frobnicate http://127.0.0.1:1/", 2, "no flag '--frobnicate'"),
        ("siege http://127.0.0.1:1/", 2, "known are wrk, wrk2, ab and fortio"),
        ("", 2, "no tool is given"),
        ("wrk -c2 -t1 -d1s http://127.0.0.1:1/", 1, "nothing listens on 127.0.0.1:1"),
        ("ab -n 2 -H broken http://127.0.0.1:1/", 2, "-H 'broken'"),
    ] {
        let (_, stderr) = told(&run(words), code);
        assert!(stderr.contains(needle) && stderr.lines().count() == 1, "{words}: {stderr}");
    }
    for words in ["--help", "wrk --help", "ab -h", "fortio load -help"] {
        assert!(good(words).0.starts_with(if words == "--help" { "Runs" } else { "Usage: brunt as" }), "{words}");
    }
}
