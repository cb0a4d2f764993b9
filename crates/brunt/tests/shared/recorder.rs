//! A web server in the test that keeps each request, as it came, and when it came.

use brunt_testkit::{LIMIT, read_head};
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// Requests that it may have to keep.
type Seen = Arc<Mutex<Vec<Request>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub at: Instant,
    /// Without the last line break.
    pub head: String,
    pub body: String,
}

pub struct Recorder {
    port: u16,
    seen: Seen,
}

impl Recorder {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (port, seen) = (listener.local_addr().unwrap().port(), Seen::default());
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&kept);
                thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { port, seen }
    }

    /// `127.0.0.1:PORT`
    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.authority())
    }

    /// All requests so far, in the order in which their heads came; none are left.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn serve(stream: TcpStream, seen: &Seen) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input) {
        let at = Instant::now();
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if input.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        seen.lock().unwrap().push(Request { at, head: head.trim_end().to_owned(), body });
        if out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}
