//! One request of a load on a connection of its own, with the time of each step and all that was received.
//!
//! It is a load of one request on one thread: connections, requests, replies and their checks are those of every load. A
//! `Trace` keeps what a load counts and throws away.

use crate::engine::{clock, clock::Clock, shared::Shared, thread, trace::Trace};
use crate::http::redirect::{Following, Refusal, Rule, leads_to};
use crate::http::{Batch, Flow, Requests, Script, Source};
use crate::options::Options;
use crate::schedule::Arrival;
use crate::{check, error::LoadError, protocol};
use brunt_runtime::time;
use brunt_tls::{HandshakeInfo, TlsError};
use brunt_wire::http1::{Leniencies, Leniency};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the error of a request begins that was not answered in time.
const LATE: &str = "no complete reply";

/// What happened. Times count from the attempt to connect; a step that was not reached has none.
#[derive(Debug, Default)]
pub struct Exchange {
    /// `IP:PORT` or `unix:PATH` of the target, or of the proxy.
    pub address: String,
    pub connected: Option<Duration>,
    /// Through a proxy, when it had connected to the host, and `HOST:PORT` of that.
    pub tunnelled: Option<(Duration, String)>,
    /// End of the TLS handshake, and its outcome.
    pub handshake: Option<(Duration, HandshakeInfo)>,
    /// As sent: of a pipeline or a script's batch all requests of one write. Empty without a connection to the target.
    pub request: Vec<u8>,
    pub sent: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub done: Option<Duration>,
    pub replies: Vec<Reply>,
    /// Why it ended before all replies were complete.
    pub error: Option<String>,
}

impl Exchange {
    /// Whether it ended because the time for the replies was over.
    pub fn is_late(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.starts_with(LATE))
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Absent in protocols without one.
    pub status: Option<u16>,
    /// As received, with interim heads before it. Empty in protocols without heads.
    pub head: Vec<u8>,
    /// Without chunk framing.
    pub body: Vec<u8>,
    /// The rules by which it was read leniently.
    pub lenient: Vec<&'static str>,
    /// Whether the load would count it as a good one.
    pub is_expected: bool,
    /// Whether the target keeps the connection.
    pub keeps: bool,
}

impl Reply {
    /// Value of the last field of this name, in interim and final heads.
    pub fn field(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        let mut fields = head.lines().rev().filter_map(|line| line.split_once(':'));
        fields.find(|field| field.0.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    }
}

/// Sends the request and waits for its reply, at most the timeout of the options. Each redirect that is followed is another
/// exchange, on a connection of its own.
///
/// # Errors
/// The options contradict each other, the script failed, or there is no runtime. A target that does not answer is a result.
pub fn run(options: &Options) -> Result<Vec<Exchange>, LoadError> {
    check::options(options)?;
    let core = options.threads[0];
    let failed = |error| LoadError::Thread { thread: 0, core, error };
    let runtime = thread::set_up(core, options.backend).map_err(failed)?;
    let mut options = of_one(options);
    let mut exchanges = Vec::new();
    loop {
        let mut exchange = runtime.block_on(exchange(&options))?;
        let next = next(&options, &exchange, exchanges.len() as u64).transpose();
        let next = next.unwrap_or_else(|refusal| {
            exchange.error.get_or_insert(format!("{refusal} is not followed"));
            None
        });
        exchanges.push(exchange);
        let Some((next, http)) = next.zip(options.target.http_mut()) else { return Ok(exchanges) };
        http.hosts[0].requests = Requests::Script(Script::new(move |_| Ok(Box::new(next.clone()))));
    }
}

/// The request that follows a reply behind `followed` others, if it is a redirect and they are followed.
fn next(options: &Options, exchange: &Exchange, followed: u64) -> Option<Result<Following, Refusal>> {
    let most = options.redirects()?;
    let [reply] = &exchange.replies[..] else { return None };
    let (status, named) = (reply.status.filter(|_| exchange.done.is_some())?, reply.field("location"));
    let location = leads_to(status, named.as_deref().map(str::as_bytes))?;
    let is_tls = options.target.http()?.hosts[0].tls.is_some();
    Some(Rule { most, is_tls }.follow(followed, &exchange.request, status, location))
}

/// Makes this request alone.
impl Source for Following {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String> {
        out.extend_from_slice(&self.bytes);
        Ok(self.batch)
    }

    fn wants_responses(&self) -> bool {
        false
    }

    fn response(&mut self, _: u16, _: &[(&str, &[u8])], _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn delay(&mut self) -> Option<Duration> {
        None
    }
}

/// The first request of the load, on the first of its threads; of an open loop, at once.
fn of_one(options: &Options) -> Options {
    Options {
        // A connection for each host, the first of which is used.
        connections: options.target.addresses().len(),
        connection_stages: Vec::new(),
        threads: vec![options.threads[0]],
        group: None,
        requests: None,
        stages: Vec::new(),
        replay: options.rate.map(|_| Arc::from([0])),
        arrival: Arrival::Constant,
        counts: None,
        ..options.clone()
    }
}

async fn exchange(options: &Options) -> Result<Exchange, LoadError> {
    let shared = Arc::new(Shared::of_one(options, Clock::start()));
    let mut record = Record { began: clock::now(), exchange: Exchange::default() };
    let address = shared.hosts.addresses[0].clone();
    record.exchange.address = address.to_string();
    let once = protocol::once(&shared, options.share(0), &mut record);
    let ended = time::timeout(options.timeout, once).await;
    if let Some(reason) = shared.take_broken() {
        return Err(LoadError::Script(reason));
    }
    let late = || format!("{LATE} within {:?}", options.timeout);
    let error = match ended {
        Ok(Err(reason)) => return Err(LoadError::Script(reason)),
        Ok(Ok(Ok(true))) => {
            record.exchange.done = record.now();
            None
        }
        // The request was too late when its reply came, unless the trace has another reason.
        Ok(Ok(Ok(false))) => Some(record.exchange.error.take().unwrap_or_else(late)),
        Ok(Ok(Err(error))) if record.is_reached(options) && TlsError::of(&error).is_none() => Some(error.to_string()),
        Ok(Ok(Err(error))) => Some(LoadError::of_connecting(&options.target, 0, address, error).to_string()),
        Err(time::Elapsed) => Some(late()),
    };
    if !record.is_reached(options) {
        record.exchange.request.clear();
    }
    Ok(Exchange { error, ..record.exchange })
}

/// The exchange so far.
struct Record {
    began: Instant,
    exchange: Exchange,
}

impl Record {
    fn now(&self) -> Option<Duration> {
        Some(clock::now() - self.began)
    }

    /// Whether there is a connection to the target.
    fn is_reached(&self, options: &Options) -> bool {
        let exchange = &self.exchange;
        if options.target.is_proxied() { exchange.tunnelled.is_some() } else { exchange.connected.is_some() }
    }

    /// The reply under way.
    fn reply(&mut self) -> &mut Reply {
        let replies = &mut self.exchange.replies;
        if replies.is_empty() {
            replies.push(Reply::default());
        }
        let last = replies.len() - 1;
        &mut replies[last]
    }
}

impl Trace for &mut Record {
    fn connected(&mut self) {
        self.exchange.connected = self.now();
    }

    fn tunnelled(&mut self, authority: &str) {
        self.exchange.tunnelled = self.now().map(|at| (at, authority.to_owned()));
    }

    fn secured(&mut self, info: Option<HandshakeInfo>) {
        self.exchange.handshake = self.now().zip(info);
    }

    fn request(&mut self, bytes: &[u8]) {
        self.exchange.request = bytes.to_vec();
    }

    fn sent(&mut self) {
        self.exchange.sent = self.now();
    }

    fn received(&mut self) {
        if self.exchange.first_byte.is_none() {
            self.exchange.first_byte = self.now();
        }
    }

    fn headless(&mut self) {
        self.reply().keeps = true;
    }

    fn head(&mut self, bytes: &[u8], status: Option<u16>) {
        let reply = self.reply();
        reply.head.extend_from_slice(bytes);
        reply.status = status;
    }

    fn part(&mut self, bytes: &[u8]) {
        let reply = self.reply();
        if reply.status.is_none() {
            reply.head.extend_from_slice(bytes);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.reply().body.extend_from_slice(bytes);
    }

    fn accepted(&mut self, accepted: Leniencies) {
        self.reply().lenient = accepted.iter().map(Leniency::rule).collect();
    }

    fn answered(&mut self, is_good: bool, keeps: bool, more: bool) {
        let reply = self.reply();
        (reply.is_expected, reply.keeps) = (is_good, keeps);
        if more {
            self.exchange.replies.push(Reply::default());
        }
    }

    fn failed(&mut self, why: &dyn Display) {
        self.exchange.error.get_or_insert_with(|| why.to_string());
    }
}
