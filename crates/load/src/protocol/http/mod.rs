//! What one load thread says over all its HTTP connections, and what it makes of the replies.

mod connection;
mod conversation;
mod link;
mod reply;
mod tls;

use crate::{
    engine::{protocol::Protocol, worker::Worker},
    http::{Batch, Expect, Flow, Host, Http, Rendered, Requests, Source},
    schedule::Share,
};
use brunt_tls::Connector;
use brunt_wire::http1::{Fields, client::HeadCache};
use link::Link;
use std::{io, ops::Range, rc::Rc, sync::Arc, time::Duration};

/// See the head of this file.
pub struct HttpProtocol {
    sides: Vec<HostState>,
    /// What makes a reply a good one.
    pub expect: Expect,
    /// Requests on one connection.
    pub reuse: u64,
    /// Requests that may be under way on one connection, each with a time of its own.
    pub depth: u32,
    /// Whether replies are shown to the source.
    pub shows: bool,
    /// Whether bodies that come in pieces are kept until they are whole.
    pub keeps_bodies: bool,
    open_loop: bool,
}

/// What one host is asked, and what it says.
struct HostState {
    source: RequestSource,
    /// The last head of a reply.
    known: HeadCache,
    tls: Option<Connector>,
}

enum RequestSource {
    Rendered(RoundRobin),
    /// The same where requests are put together behind one another, as they become due.
    Queued(RoundRobin),
    Script(Box<dyn Source>),
}

/// Rendered requests, taking turns.
struct RoundRobin {
    all: Arc<Rendered>,
    /// The next batch begins at this place of the order.
    place: usize,
}

impl RoundRobin {
    #[inline]
    fn next(&mut self, out: &mut Outgoing, sent: u64, reuse: u64) {
        out.batch = self.all.batch();
        out.last = sent + u64::from(out.batch.requests()) >= reuse;
        out.range = self.all.range(self.place, out.last);
        self.place += out.batch.requests() as usize;
        if self.place >= self.all.places() {
            self.place %= self.all.places();
        }
    }
}

/// Requests to be written at once.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// What they are.
    pub batch: Batch,
    /// Where they lie; see [`HttpProtocol::bytes`].
    pub range: Range<usize>,
    /// Whether the last one asks the target to close the connection.
    pub last: bool,
}

/// The fields of a reply.
pub enum ReplyFields<'a> {
    /// As they were received.
    Whole(Fields<'a>),
    /// Out of a head that has gone meanwhile.
    Kept(&'a [(String, Vec<u8>)]),
}

impl HttpProtocol {
    /// The talk of one load thread.
    ///
    /// # Errors
    /// If the script cannot make its source; the message is the script's.
    pub fn new(http: &Http, share: Share, open_loop: bool) -> Result<Self, String> {
        let side = |host: &Host| {
            let source = match &host.requests {
                // Threads begin at different places, or a rare request would be sent by all of them at once.
                Requests::Rendered(all) => {
                    let turns = RoundRobin { all: Arc::clone(all), place: share.thread * all.places() / share.threads };
                    if http.depth() > 1 { RequestSource::Queued(turns) } else { RequestSource::Rendered(turns) }
                }
                Requests::Script(script) => RequestSource::Script(script.source(share.thread)?),
            };
            Ok(HostState { source, known: HeadCache::default(), tls: host.tls.clone() })
        };
        let sides = http.hosts.iter().map(side).collect::<Result<Vec<_>, String>>()?;
        let shows =
            sides.iter().any(|side| matches!(&side.source, RequestSource::Script(source) if source.wants_responses()));
        Ok(Self {
            sides,
            expect: http.expect.clone(),
            reuse: http.reuse.unwrap_or(u64::MAX),
            depth: http.depth(),
            shows,
            keeps_bodies: shows || http.expect.body.is_some(),
            open_loop,
        })
    }

    /// Makes `out` the next requests of a connection to `host` that has sent so many already. Those that do not lie ready
    /// are put into `own`, behind what it holds if they come one by one.
    ///
    /// # Errors
    /// If the script has no good ones.
    #[inline]
    pub fn next(&mut self, host: u32, out: &mut Outgoing, own: &mut Vec<u8>, sent: u64) -> Result<(), String> {
        match &mut self.sides[host as usize].source {
            RequestSource::Rendered(turns) => {
                turns.next(out, sent, self.reuse);
                Ok(())
            }
            RequestSource::Queued(turns) => {
                turns.next(out, sent, self.reuse);
                own.extend_from_slice(turns.all.bytes(out.range.clone()));
                out.range = 0..own.len();
                Ok(())
            }
            RequestSource::Script(source) => {
                own.clear();
                let batch = source.next(own)?;
                if batch.requests() == 0 || own.is_empty() {
                    return Err("the script made no request where one is due".to_owned());
                }
                if batch.requests() > 1 && self.open_loop {
                    return Err(format!(
                        "the script made {} requests at once under -R, where each has a time of its own: leave -R out",
                        batch.requests()
                    ));
                }
                *out = Outgoing { batch, range: 0..own.len(), last: false };
                Ok(())
            }
        }
    }

    /// The bytes of `range`, as [`Self::next`] gave it out for the same host with the same `own`.
    #[inline]
    pub fn bytes<'a>(&'a self, host: u32, own: &'a [u8], range: Range<usize>) -> &'a [u8] {
        match &self.sides[host as usize].source {
            RequestSource::Rendered(turns) => turns.all.bytes(range),
            RequestSource::Queued(_) | RequestSource::Script(_) => &own[range],
        }
    }

    /// How connections to `host` are made secret, if they are.
    pub fn client(&self, host: u32) -> Option<Connector> {
        self.sides[host as usize].tls.clone()
    }

    /// The last head of a reply from `host`.
    #[inline]
    pub fn known(&mut self, host: u32) -> &mut HeadCache {
        &mut self.sides[host as usize].known
    }

    /// How long a connection to `host` pauses now that all its requests are answered.
    #[inline]
    pub fn delay(&mut self, host: u32) -> Option<Duration> {
        match &mut self.sides[host as usize].source {
            RequestSource::Rendered(_) | RequestSource::Queued(_) => None,
            RequestSource::Script(source) => source.delay(),
        }
    }

    /// Shows a reply of `host` to the source.
    pub fn show(&mut self, host: u32, status: u16, fields: &ReplyFields<'_>, body: &[u8]) -> Flow {
        let RequestSource::Script(source) = &mut self.sides[host as usize].source else { return Flow::Go };
        let fields: Vec<(&str, &[u8])> = match fields {
            ReplyFields::Whole(fields) => fields.iter().map(|field| (field.name, field.value)).collect(),
            ReplyFields::Kept(fields) => fields.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
        };
        source.response(status, &fields, body)
    }
}

impl Protocol for HttpProtocol {
    type Link = Link;

    fn open(worker: &Worker<Self>, index: u32) -> impl Future<Output = io::Result<Link>> {
        Link::open(worker, index)
    }

    fn keep_open(worker: Rc<Worker<Self>>, index: u32, link: Option<Link>) -> impl Future<Output = ()> + 'static {
        connection::run(worker, index, link)
    }
}
