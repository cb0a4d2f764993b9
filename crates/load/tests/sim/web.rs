//! Web servers as tasks, with exactly known answers, and loads of HTTP against them.

use crate::targets::{Stream, serve_at};
use crate::worlds::{Run, US, address, exact, options, run};
use brunt_load::http::{Expect, Http, Pipeline, Rendered, RequestTarget, Requests, Template};
use brunt_load::{Options, Target};
use brunt_results::RunResult;
use brunt_runtime::time;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::{future::pending, rc::Rc, sync::Arc, time::Duration};

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The head without its empty line.
    pub head: String,
    pub body: Vec<u8>,
    /// Its number on its connection, from 0.
    pub number: u64,
}

impl Request {
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// Requests and connections of a server.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: Cell<u64>,
    pub log: RefCell<Vec<Request>>,
}

impl Seen {
    pub fn requests(&self) -> u64 {
        self.log.borrow().len() as u64
    }
}

enum Step {
    Say(Vec<u8>),
    Wait(Duration),
    Close,
    Reset,
    Hang,
}

/// What a server does about a request.
#[derive(Default)]
pub struct Answer(Vec<Step>);

impl Answer {
    fn and(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }

    pub fn say(self, bytes: impl AsRef<[u8]>) -> Self {
        self.and(Step::Say(bytes.as_ref().to_vec()))
    }

    /// What was said is sent, and the rest later.
    pub fn wait(self, time: Duration) -> Self {
        self.and(Step::Wait(time))
    }

    /// Ends the connection when all is sent.
    pub fn close(self) -> Self {
        self.and(Step::Close)
    }

    pub fn reset(self) -> Self {
        self.and(Step::Reset)
    }

    /// Nothing more comes on this connection.
    pub fn hang(self) -> Self {
        self.and(Step::Hang)
    }
}

pub fn say(bytes: impl AsRef<[u8]>) -> Answer {
    Answer::default().say(bytes)
}

/// A correct reply.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The address of server `number`.
pub fn server(number: u16) -> SocketAddr {
    (address().ip(), address().port() + number).into()
}

/// Server `number`, which gives `answer` to each request, those of a connection in order.
pub async fn web(number: u16, seen: Rc<Seen>, answer: impl Fn(&Request) -> Answer + 'static) {
    let answer = Rc::new(answer);
    serve_at(server(number).into(), move |stream| {
        seen.connections.set(seen.connections.get() + 1);
        talk(stream, seen.clone(), answer.clone())
    })
    .await;
}

/// A server that says hello, and ends a connection that is idle for so long.
pub async fn idle_for(patience: Duration, seen: Rc<Seen>) {
    serve_at(address().into(), move |mut stream| {
        seen.connections.set(seen.connections.get() + 1);
        async move {
            let mut left = Vec::new();
            while let Ok(Some(_)) = time::timeout(patience, read(&mut stream, &mut left, 0)).await {
                if stream.write_all(ok("hello").as_bytes()).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
}

async fn talk(mut stream: Stream, seen: Rc<Seen>, answer: Rc<impl Fn(&Request) -> Answer>) {
    let mut left = Vec::new();
    for number in 0.. {
        let Some(request) = read(&mut stream, &mut left, number).await else { return };
        seen.log.borrow_mut().push(request.clone());
        for step in answer(&request).0 {
            if !obey(&mut stream, step).await {
                return;
            }
        }
        if stream.flush().await.is_err() {
            return;
        }
    }
}

/// False if the connection ends.
async fn obey(stream: &mut Stream, step: Step) -> bool {
    match step {
        Step::Say(bytes) => stream.write_all(&bytes).await.is_ok(),
        Step::Wait(pause) => {
            let is_sent = stream.flush().await.is_ok();
            time::sleep(pause).await;
            is_sent
        }
        Step::Close => {
            let _ = stream.flush().await;
            false
        }
        Step::Reset => {
            stream.set_linger_zero().unwrap();
            false
        }
        Step::Hang => {
            let _ = stream.flush().await;
            pending().await
        }
    }
}

async fn read(stream: &mut Stream, left: &mut Vec<u8>, number: u64) -> Option<Request> {
    let need = |left: &[u8]| {
        let head = left.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let text = std::str::from_utf8(&left[..head]).unwrap();
        let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let body = length.map_or(0, |length| length.parse().unwrap());
        (left.len() >= head + 4 + body).then_some((head, body))
    };
    loop {
        if let Some((head, body)) = need(left) {
            let rest = left.split_off(head + 4 + body);
            let whole = std::mem::replace(left, rest);
            let text = String::from_utf8(whole[..head].to_vec()).unwrap();
            return Some(Request { head: text, body: whole[head + 4..].to_vec(), number });
        }
        let bytes = stream.recv().await.ok().filter(|bytes| !bytes.is_empty())?;
        left.extend_from_slice(&bytes);
    }
}

/// `GET /` in HTTP/1.1.
pub fn template() -> Template {
    Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false }
}

pub fn goal(target: &str, weight: u32) -> RequestTarget {
    RequestTarget { host: "h".to_owned(), target: target.to_owned(), weight, name: 0, authorization: None }
}

/// A load of one template and several targets.
pub fn asks(template: &Template, targets: &[RequestTarget], pipeline: Pipeline, reuse: Option<u64>) -> Http {
    let rendered = Rendered::render(template, targets, None, pipeline, reuse).unwrap();
    Http::on(address(), Requests::Rendered(Arc::new(rendered)), reuse, Expect::default())
}

/// `GET /`, so many in a write, on connections for so many requests.
pub fn gets(batch: u32, reuse: Option<u64>) -> Http {
    asks(&template(), &[goal("/", 1)], Pipeline::Batches(batch), reuse)
}

/// `GET /`, one at a time, on kept connections.
pub fn get() -> Http {
    gets(1, None)
}

/// `GET /` in an open loop, with at most so many in flight on a connection.
pub fn singly(depth: u32, reuse: Option<u64>) -> Http {
    asks(&template(), &[goal("/", 1)], Pipeline::Single(depth), reuse)
}

/// A closed loop of a second over two connections.
pub fn second(http: Http) -> Options {
    let url = format!("http://{}/", http.hosts[0].address);
    Options { url, target: Target::Http(http), connections: 2, ..options() }
}

/// As [`second`], for a number of requests, without a limit of time.
pub fn some(requests: u64, http: Http) -> Options {
    Options { requests: Some(requests), duration: Duration::from_secs(600), ..second(http) }
}

/// Runs a load against a server of these answers.
pub fn on_web(options: &Options, answer: impl Fn(&Request) -> Answer + 'static) -> (RunResult, Rc<Seen>) {
    let (Run { report, .. }, seen) = told_on_web(options, answer);
    (report.result, seen)
}

/// As [`on_web`], with the response times that the observer was told.
pub fn told_on_web(options: &Options, answer: impl Fn(&Request) -> Answer + 'static) -> (Run, Rc<Seen>) {
    let (world, seen) = (exact(1), Rc::<Seen>::default());
    let ran = run(&world, options, web(0, seen.clone(), answer));
    (ran, seen)
}

/// No request is lost, and all are answered as expected.
#[track_caller]
pub fn assert_good(result: &RunResult, completed: u64) {
    assert_eq!((result.requests.completed, result.errors.total()), (completed, 0), "{:?}", result.errors);
    assert_eq!(result.requests.failed, 0);
}

/// How much longer a request takes if its server waits.
pub const WOKEN: Duration = US;
