//! HTTP/1 on one load thread: requests and checks of replies, for all its connections.

mod connection;
mod conversation;
mod link;

use crate::engine::trace::Trace;
use crate::engine::worker::{Protocol, Worker};
use crate::http::batch;
use crate::http::{Batch, Expect, Filler, Flow, Host, Http, Rendered, Requests, Source};
use crate::measure::recorder::Failure;
use crate::options::Options;
use crate::schedule::{Numbers, Share};
use brunt_tls::Connector;
use brunt_wire::http1::{Fields, Leniencies, Limits, Persistence, client::HeadCache};
use link::Link;
use std::{io, ops::Range, rc::Rc, sync::Arc, time::Duration};

pub struct HttpProtocol {
    hosts: Vec<HostState>,
    pub expect: Expect,
    pub reuse: u64,
    /// Requests that may be in flight on one connection, each with a time of its own.
    pub depth: u32,
    /// Whether replies are passed to the source.
    pub wants_responses: bool,
    /// Whether the fields of replies that arrive in pieces are kept until complete.
    pub keeps_fields: bool,
    /// Whether bodies that arrive in pieces are kept until complete.
    pub keeps_bodies: bool,
    /// Whether requests have names that are known before the load.
    pub is_named: bool,
    open_loop: bool,
    /// Of replies.
    pub limits: Limits,
    /// Most redirects in a row that are followed, if they are.
    pub redirects: Option<u64>,
    /// How often in a row the target has kept a connection open that it was to close.
    pub kept_open: u32,
}

struct HostState {
    source: RequestSource,
    /// The last head of a reply.
    head_cache: HeadCache,
    tls: Option<Connector>,
}

enum RequestSource {
    Rendered(RoundRobin),
    /// The same for the pipeline of an open loop: due requests are appended to a buffer.
    Queued(RoundRobin),
    Filled(Filler),
    Script(Box<dyn Source>),
}

struct RoundRobin {
    all: Arc<Rendered>,
    position: usize,
    /// Those of a replay: the request belongs to the intended time of the same number.
    numbers: Option<Numbers>,
}

impl RoundRobin {
    /// Threads begin at different places, or all would send a rare request at once; those of a replay begin at their numbers.
    fn new(all: &Arc<Rendered>, share: Share) -> Self {
        let numbers = all.replay.then(|| Numbers::new(share));
        let even = share.thread * all.order_len() / share.threads;
        let position = numbers.as_ref().map_or(even, |numbers| numbers.current() as usize % all.order_len());
        Self { all: Arc::clone(all), position, numbers }
    }

    #[inline]
    fn next(&mut self, out: &mut Outgoing, sent: u64, reuse: u64) {
        out.batch = self.all.batch_at(self.position);
        out.last = sent + u64::from(out.batch.requests()) >= reuse;
        out.range = self.all.range(self.position, out.last);
        out.position = self.position;
        match &mut self.numbers {
            None => self.position += out.batch.requests() as usize,
            Some(numbers) => {
                numbers.advance();
                self.position = numbers.current() as usize;
            }
        }
        if self.position >= self.all.order_len() {
            self.position %= self.all.order_len();
        }
    }
}

#[derive(Debug, Default)]
pub struct Outgoing {
    pub batch: Batch,
    /// Their bytes; see [`HttpProtocol::bytes`].
    pub range: Range<usize>,
    /// Whether the last one asks the target to close the connection.
    pub last: bool,
    /// Where the first one is in the order of rendered requests.
    position: usize,
}

pub enum ReplyFields<'a> {
    Whole(Fields<'a>),
    /// Copied from a head that was received before.
    Kept(&'a [(String, Vec<u8>)]),
}

impl ReplyFields<'_> {
    /// Value of the last field of this name, in any case.
    fn get(&self, name: &str) -> Option<&[u8]> {
        match self {
            Self::Whole(fields) => {
                fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).last().map(|field| field.value)
            }
            Self::Kept(fields) => {
                fields.iter().rfind(|field| field.0.eq_ignore_ascii_case(name)).map(|field| &field.1[..])
            }
        }
    }
}

/// Why the conversation on a connection ends or pauses.
enum End {
    Lost(Failure),
    Closed,
    /// All requests are answered, and the next one cannot follow at once.
    Answered {
        keep: bool,
        closes: bool,
        delay: Option<Duration>,
    },
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Lost(failure)
    }
}

/// A reply that arrives in pieces. Its buffers are reused.
#[derive(Debug, Default)]
struct Partial {
    pub status: u16,
    pub length: u64,
    pub body: Vec<u8>,
    pub fields: Vec<(String, Vec<u8>)>,
}

struct Reply<'a> {
    pub status: u16,
    pub length: u64,
    pub persistence: Persistence,
    pub fields: ReplyFields<'a>,
    /// Empty unless checked or shown to a script.
    pub body: &'a [u8],
    /// By which rules it was read leniently.
    pub accepted: Leniencies,
}

enum Taken {
    /// More is outstanding.
    Part,
    Capacity,
    Next,
    Idle,
    End(End),
}

impl HttpProtocol {
    /// # Errors
    /// The script's, if it cannot make its source.
    pub fn new(http: &Http, share: Share, options: &Options) -> Result<Self, String> {
        let state = |host: &Host| {
            let source = match &host.requests {
                Requests::Rendered(all) => {
                    let turns = RoundRobin::new(all, share);
                    if http.depth() > 1 { RequestSource::Queued(turns) } else { RequestSource::Rendered(turns) }
                }
                Requests::Filled(all) => RequestSource::Filled(Filler::new(all, share)),
                Requests::Script(script) => RequestSource::Script(script.source(share.thread)?),
            };
            Ok(HostState { source, head_cache: HeadCache::default(), tls: host.tls.clone() })
        };
        let hosts = http.hosts.iter().map(state).collect::<Result<Vec<_>, String>>()?;
        let wants_responses =
            hosts.iter().any(|host| matches!(&host.source, RequestSource::Script(source) if source.wants_responses()));
        Ok(Self {
            hosts,
            expect: http.expect.clone(),
            reuse: http.reuse.unwrap_or(u64::MAX),
            depth: http.depth(),
            wants_responses,
            keeps_fields: wants_responses || options.direct.location,
            is_named: !http.names.is_empty(),
            keeps_bodies: wants_responses || http.expect.body.is_some(),
            open_loop: options.rate.is_some(),
            limits: options.limits(),
            redirects: options.redirects(),
            kept_open: 0,
        })
    }

    /// Sets `out` to the next requests of a connection to `host` that has `sent` as many before. Requests that are not
    /// rendered in place are written to `buffer`, behind its contents in the pipeline of an open loop.
    ///
    /// # Errors
    /// The script's, or it made no or too many requests.
    #[inline]
    pub fn next(&mut self, host: u32, out: &mut Outgoing, buffer: &mut Vec<u8>, sent: u64) -> Result<(), String> {
        match &mut self.hosts[host as usize].source {
            RequestSource::Rendered(turns) => {
                turns.next(out, sent, self.reuse);
                Ok(())
            }
            RequestSource::Queued(turns) => {
                turns.next(out, sent, self.reuse);
                buffer.extend_from_slice(turns.all.bytes(out.range.clone()));
                out.range = 0..buffer.len();
                Ok(())
            }
            RequestSource::Filled(filler) => {
                if self.depth == 1 {
                    buffer.clear();
                }
                (out.batch, out.position) = (filler.batch(), filler.position());
                out.last = sent + u64::from(out.batch.requests()) >= self.reuse;
                filler.append(out.last, buffer);
                out.range = 0..buffer.len();
                Ok(())
            }
            RequestSource::Script(source) => {
                buffer.clear();
                let batch = source.next(buffer)?;
                if batch.requests() == 0 || buffer.is_empty() {
                    return Err("the script made no request where one is due".to_owned());
                }
                if batch.requests() > 1 && self.open_loop {
                    return Err(format!(
                        "the script made {} requests at once under -R, where each has a time of its own: leave -R out",
                        batch.requests()
                    ));
                }
                *out = Outgoing { batch, range: 0..buffer.len(), last: false, position: 0 };
                Ok(())
            }
        }
    }

    /// Leaves the first `requests` of those that [`Self::next`] has just set `out` to, which are one write.
    #[cold]
    pub fn shorten(&self, host: u32, out: &mut Outgoing, buffer: &[u8], requests: u32) {
        let length = batch::length(self.bytes(host, buffer, out.range.clone()), requests);
        out.range.end = out.range.start + length;
        (out.batch, out.last) = (out.batch.first(requests), false);
    }

    /// The bytes of a `range` from [`Self::next`] for the same host and `buffer`.
    #[inline]
    pub fn bytes<'a>(&'a self, host: u32, buffer: &'a [u8], range: Range<usize>) -> &'a [u8] {
        match &self.hosts[host as usize].source {
            RequestSource::Rendered(turns) => turns.all.bytes(range),
            RequestSource::Queued(_) | RequestSource::Filled(_) | RequestSource::Script(_) => &buffer[range],
        }
    }

    /// Name of request `number` of a batch from [`Self::next`] for the same host.
    pub fn name(&self, host: u32, out: &Outgoing, number: u32) -> u16 {
        match &self.hosts[host as usize].source {
            RequestSource::Rendered(turns) | RequestSource::Queued(turns) => turns.all.name(out.position, number),
            RequestSource::Filled(filler) => filler.name(out.position, number),
            RequestSource::Script(_) => 0,
        }
    }

    pub fn tls(&self, host: u32) -> Option<Connector> {
        self.hosts[host as usize].tls.clone()
    }

    /// The last head of a reply of `host`, and the limits of replies.
    #[inline]
    pub fn reading(&mut self, host: u32) -> (&mut HeadCache, &Limits) {
        (&mut self.hosts[host as usize].head_cache, &self.limits)
    }

    /// Pause of a connection to `host` whose requests are all answered.
    #[inline]
    pub fn delay(&mut self, host: u32) -> Option<Duration> {
        match &mut self.hosts[host as usize].source {
            RequestSource::Rendered(_) | RequestSource::Queued(_) | RequestSource::Filled(_) => None,
            RequestSource::Script(source) => source.delay(),
        }
    }

    pub fn pass_on(&mut self, host: u32, status: u16, fields: &ReplyFields<'_>, body: &[u8]) -> Flow {
        let RequestSource::Script(source) = &mut self.hosts[host as usize].source else { return Flow::Continue };
        let fields: Vec<(&str, &[u8])> = match fields {
            ReplyFields::Whole(fields) => fields.iter().map(|field| (field.name, field.value)).collect(),
            ReplyFields::Kept(fields) => fields.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
        };
        source.response(status, &fields, body)
    }
}

impl Protocol for HttpProtocol {
    type Link = Link;

    fn open(worker: &Worker<Self>, index: u32, trace: &mut impl Trace) -> impl Future<Output = io::Result<Link>> {
        Link::open(worker, index, trace)
    }

    fn keep_open(worker: Rc<Worker<Self>>, index: u32, link: Option<Link>) -> impl Future<Output = ()> + 'static {
        connection::run(worker, index, link)
    }

    fn once(worker: &Worker<Self>, index: u32, trace: impl Trace) -> impl Future<Output = io::Result<bool>> {
        connection::once(worker, index, trace)
    }
}
