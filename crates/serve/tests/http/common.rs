//! What the table of cases asks for, done by real servers: one on each model, in this process, until it addrs.

use brunt_runtime::{BackendKind, CancellationToken, Runtime};
use brunt_serve::http::{Options, Plan, Server, Service, Settings};
use brunt_serve::{Model, Notice};
use brunt_wire::http1::{Limits, ParseError};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// What the answers to an input amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The bodies of the requests in it, all complete.
    Accepts(Vec<Vec<u8>>),
    /// Refused, with this status.
    Rejects(u16),
    /// So far, so good.
    Waits,
}

/// All that came back, from one model; they agree.
pub type Seen = Vec<(u16, Vec<u8>)>;

fn servers() -> &'static [(Model, SocketAddr)] {
    static SERVERS: OnceLock<Vec<(Model, SocketAddr)>> = OnceLock::new();
    SERVERS.get_or_init(|| models().map(|model| (model, start(Service::Echo, model))).collect())
}

/// Those of this machine. Without io_uring, prints the reason, unless `BRUNT_URING=must`.
pub fn models() -> impl Iterator<Item = Model> {
    let uring = Runtime::builder().backend(Some(BackendKind::Uring)).build();
    let missing = uring.err().filter(|_| std::env::var_os("BRUNT_URING").is_none_or(|value| value != "must"));
    missing.iter().for_each(|error| eprintln!("skipped: {error}"));
    let is_there = move |model: &Model| *model != Model::Uring || missing.is_none();
    Model::ALL.into_iter().map(|(model, _)| model).filter(is_there)
}

/// Starts a server; its address.
pub fn start(service: Service, model: Model) -> SocketAddr {
    start_plan(Plan::service(service, vec!["127.0.0.1:0".parse().unwrap()]), model)
}

pub fn start_plan(plan: Plan, model: Model) -> SocketAddr {
    let (notices, heard) = mpsc::channel();
    thread::spawn(move || {
        let server = Server::new(Options {
            plan,
            model,
            workers: vec![None],
            grace: Duration::ZERO,
            spin: brunt_runtime::Spinning::default(),
            settings: Settings::default(),
            access_log: None,
        });
        server.unwrap().run(&CancellationToken::new(), &notices)
    });
    let Ok(Notice::Listening { addresses, .. }) = heard.recv() else { panic!("it does not listen") };
    addresses[0].tcp().unwrap()
}

/// Sends the pieces to every model and then nothing more, and returns the answers.
pub fn serve(pieces: &[&[u8]], limits: &Limits) -> Seen {
    assert_eq!(limits, &Limits::default(), "these servers have the default limits");
    let mut all = servers().iter().map(|(model, address)| (model, ask(*address, pieces)));
    let (_, first) = all.next().unwrap();
    for (model, other) in all {
        assert_eq!(other, first, "{model} answers otherwise");
    }
    first
}

/// Sends the pieces and then nothing more, and returns the answers.
pub fn ask(address: SocketAddr, pieces: &[&[u8]]) -> Seen {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(brunt_testkit::LIMIT)).unwrap();
    for piece in pieces {
        // The server may have refused and closed already.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    let to_head = pieces.concat().starts_with(b"HEAD");
    split(&answers, to_head)
}

/// Answers with their bodies; of those to HEAD only the length is known, and the table's bodies say hello.
fn split(mut bytes: &[u8], to_head: bool) -> Seen {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head") + 4;
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let status = head[9..12].parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        bytes = &bytes[end..];
        if (100..200).contains(&status) {
            continue;
        }
        if to_head {
            seen.push((status, b"hello"[..length.min(5)].to_vec()));
            continue;
        }
        seen.push((status, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    seen
}

/// What was made of the input, as far as the answers tell.
pub fn verdict(seen: &[(u16, Vec<u8>)]) -> Verdict {
    let mut bodies = Vec::new();
    for (status, body) in seen {
        match status {
            200 => bodies.push(body.clone()),
            // Understood, and not wanted: this server is no proxy.
            405 => bodies.push(Vec::new()),
            // We have closed our half in the middle of a request.
            400 if body.ends_with(format!("{}\n", ParseError::Truncated).as_bytes()) => return Verdict::Waits,
            status => return Verdict::Rejects(*status),
        }
    }
    if bodies.is_empty() { Verdict::Waits } else { Verdict::Accepts(bodies) }
}
