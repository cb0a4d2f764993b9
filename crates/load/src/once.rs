//! One request of a load on a connection of its own, with the time of each step and all that was received.
//!
//! The request is the first that a load with these options sends, and is sent as the load sends it. What a load counts and
//! throws away is kept.

use crate::engine::exchange::{Exchange as _, Reply as State};
use crate::engine::{clock, transport::Socket, tunnel};
use crate::http::Expect;
use crate::options::{Options, Target, kind_of};
use crate::protocol::echo::Echo;
use crate::protocol::http::{HttpProtocol, Outgoing};
use crate::{check, error::LoadError};
use brunt_runtime::net::{Any, Stream};
use brunt_runtime::{Runtime, time};
use brunt_tls::{HandshakeInfo, Transport};
use brunt_wire::http1::client::{Connection, Event, SentRequest};
use brunt_wire::http1::{Limits, Persistence};
use std::time::{Duration, Instant};
use std::{future::poll_fn, io, net::SocketAddr};

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
    /// As sent: of a pipeline or a script's batch all requests of one write.
    pub request: Vec<u8>,
    pub sent: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub done: Option<Duration>,
    pub replies: Vec<Reply>,
    /// Why it ended before all replies were complete.
    pub error: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Absent in protocols without one.
    pub status: Option<u16>,
    /// As received, with interim heads before it. Empty in protocols without heads.
    pub head: Vec<u8>,
    /// Without chunk framing.
    pub body: Vec<u8>,
    /// Whether the load would count it as a good one.
    pub is_expected: bool,
    /// Whether the target keeps the connection.
    pub keeps: bool,
}

/// Sends the request and waits for its reply, at most the timeout of the options.
///
/// # Errors
/// The options contradict each other, the script failed, or there is no runtime. A target that does not answer is a result.
pub fn run(options: &Options) -> Result<Exchange, LoadError> {
    check::options(options)?;
    let failed = |error| LoadError::Thread { thread: 0, core: None, error };
    let runtime = Runtime::builder().backend(options.backend.map(kind_of)).build().map_err(failed)?;
    runtime.block_on(async {
        let mut exchange = Exchange::default();
        let mut steps = Steps { began: clock::now(), exchange: &mut exchange };
        match time::timeout(options.timeout, steps.all(options)).await {
            Ok(Ok(())) => (),
            Ok(Err(End::Broken(reason))) => return Err(LoadError::Script(reason)),
            Ok(Err(End::Failed(reason))) => exchange.error = Some(reason),
            Err(time::Elapsed) => exchange.error = Some(format!("no complete reply within {:?}", options.timeout)),
        }
        Ok(exchange)
    })
}

/// Why an exchange ends early.
enum End {
    /// There is no request.
    Broken(String),
    Failed(String),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

struct Steps<'e> {
    began: Instant,
    exchange: &'e mut Exchange,
}

impl Steps<'_> {
    fn now(&self) -> Option<Duration> {
        Some(clock::now() - self.began)
    }

    async fn all(&mut self, options: &Options) -> Result<(), End> {
        let address = options.target.addresses().swap_remove(0);
        self.exchange.address = address.to_string();
        let source = options.sources.as_ref().map(|sources| SocketAddr::new(sources.nth(0), 0));
        let mut socket = Socket(Stream::<Any>::connect_from(&address, source).await?);
        self.exchange.connected = self.now();
        if let Some(through) = options.target.tunnel(0) {
            tunnel::open(&mut socket, through).await?;
            self.exchange.tunnelled = self.now().map(|at| (at, through.authority().to_owned()));
        }
        let http = match &options.target {
            Target::Http(http) => http,
            Target::Echo { size, reuse, .. } => return self.echo(&mut socket, *size, *reuse, options).await,
        };
        let mut protocol = HttpProtocol::new(http, options.share(0), options.rate.is_some()).map_err(End::Broken)?;
        let (mut outgoing, mut buffer) = (Outgoing::default(), Vec::new());
        protocol.next(0, &mut outgoing, &mut buffer, 0).map_err(End::Broken)?;
        self.exchange.request = protocol.bytes(0, &buffer, outgoing.range.clone()).to_vec();
        match protocol.tls(0) {
            None => self.http(&mut socket, &outgoing, &http.expect).await,
            Some(connector) => {
                let mut stream = brunt_tls::Stream::client(socket, &connector)?;
                poll_fn(|cx| stream.poll_handshake(cx)).await?;
                self.exchange.handshake = self.now().zip(stream.handshake_info());
                self.http(&mut stream, &outgoing, &http.expect).await
            }
        }
    }

    async fn echo(
        &mut self,
        socket: &mut Socket,
        size: usize,
        reuse: Option<u64>,
        options: &Options,
    ) -> Result<(), End> {
        let mut echo = Echo::new(size, reuse, !options.direct.no_verify, options.seed);
        let mut state = echo.state(0);
        echo.next(&mut state);
        self.exchange.request = echo.request(&state).to_vec();
        self.write(socket).await?;
        self.exchange.replies.push(Reply { keeps: true, ..Reply::default() });
        loop {
            let bytes = self.receive(socket).await?;
            let reply = &mut self.exchange.replies[0];
            reply.body.extend_from_slice(&bytes);
            match echo.check(&mut state, &bytes) {
                State::Incomplete => (),
                State::Complete(checked) => {
                    reply.is_expected = checked.is_ok();
                    self.exchange.done = self.now();
                    return Ok(());
                }
                State::Wrong => return Err(End::Failed("the reply is not what was sent".to_owned())),
            }
        }
    }

    async fn http<T: Transport>(&mut self, transport: &mut T, outgoing: &Outgoing, expect: &Expect) -> Result<(), End> {
        self.write(transport).await?;
        let mut replies = Replies { connection: Connection::default(), begun: false };
        for number in 0..outgoing.batch.requests() {
            let method = if outgoing.batch.is_head(number) { "HEAD" } else { "GET" };
            // A batch holds no HEAD that is too deep.
            let _ = replies.connection.sent(SentRequest::new(method));
        }
        while replies.connection.unanswered() > 0 {
            let received = self.receive(transport).await;
            let ended = match &received {
                Ok(bytes) => replies.take(bytes, &mut self.exchange.replies, expect)?,
                // A body can end with the connection.
                Err(_) => replies.end(&mut self.exchange.replies, expect),
            };
            if ended && replies.connection.unanswered() > 0 {
                return Err(End::Failed("the target closed the connection with requests unanswered".to_owned()));
            }
            if !ended {
                received?;
            }
        }
        self.exchange.done = self.now();
        Ok(())
    }

    async fn write<T: Transport>(&mut self, transport: &mut T) -> Result<(), End> {
        let request = std::mem::take(&mut self.exchange.request);
        let mut written = 0;
        let result = loop {
            match poll_fn(|cx| transport.poll_write(cx, &request[written..])).await {
                Ok(len) => written += len,
                Err(error) => break Err(error.into()),
            }
            if written == request.len() {
                break Ok(());
            }
        };
        self.exchange.request = request;
        self.exchange.sent = self.now();
        result
    }

    /// The next bytes, at least one.
    async fn receive<T: Transport>(&mut self, transport: &mut T) -> Result<Vec<u8>, End> {
        let received = poll_fn(|cx| transport.poll_recv(cx)).await;
        let bytes = received?;
        if bytes.is_empty() {
            return Err(End::Failed("the target closed the connection before its reply was complete".to_owned()));
        }
        if self.exchange.first_byte.is_none() {
            self.exchange.first_byte = self.now();
        }
        Ok(bytes.to_vec())
    }
}

struct Replies {
    connection: Connection,
    /// The last reply has its final head.
    begun: bool,
}

impl Replies {
    /// Takes received bytes. Returns whether nothing follows on the connection.
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<Reply>, expect: &Expect) -> Result<bool, End> {
        let mut input = bytes;
        loop {
            let before = input.len();
            let event = self.connection.next(&mut input, &Limits::CLIENT);
            let Some(event) = event else {
                // The beginning of a head, which the connection has kept.
                if !self.begun {
                    current(replies).head.extend_from_slice(&bytes[bytes.len() - before..]);
                }
                return Ok(false);
            };
            match event {
                Event::Interim(_) | Event::Head(_) => {
                    let is_final = matches!(event, Event::Head(_));
                    if let Event::Head(head) = event {
                        current(replies).status = Some(head.status);
                    }
                    let used = &bytes[bytes.len() - before..bytes.len() - input.len()];
                    current(replies).head.extend_from_slice(used);
                    self.begun = is_final;
                }
                Event::Body(part) => current(replies).body.extend_from_slice(part),
                Event::Trailers(_) => (),
                Event::End(persistence) => {
                    self.finish(replies, expect, persistence == Persistence::Keep);
                    if persistence == Persistence::Close {
                        return Ok(true);
                    }
                    if self.connection.unanswered() == 0 {
                        return Ok(false);
                    }
                }
                Event::Error(error) => return Err(End::Failed(format!("the reply is no valid HTTP/1: {error}"))),
            }
        }
    }

    /// Takes the end of the connection.
    fn end(&mut self, replies: &mut Vec<Reply>, expect: &Expect) -> bool {
        let ended = matches!(self.connection.eof(), Some(Event::End(_)));
        if ended {
            self.finish(replies, expect, false);
        }
        ended
    }

    fn finish(&mut self, replies: &mut Vec<Reply>, expect: &Expect, keeps: bool) {
        let reply = current(replies);
        reply.keeps = keeps;
        let status = reply.status.unwrap_or_default();
        reply.is_expected = expect.check(status, reply.body.len() as u64, &reply.body).is_ok();
        self.begun = false;
        if self.connection.unanswered() > 0 {
            replies.push(Reply::default());
        }
    }
}

/// The reply under way; a new one if there is none.
fn current(replies: &mut Vec<Reply>) -> &mut Reply {
    if replies.is_empty() {
        replies.push(Reply::default());
    }
    let last = replies.len() - 1;
    &mut replies[last]
}
