//! Requests rendered to bytes in advance, in the order in which they are sent.
//!
//! Targets take turns by weight, spread as evenly as possible: weights 3 and 1 give `aaba`, not `aaab`.

mod sequence;

pub use sequence::Sequence;
pub(super) use sequence::order;

use super::source::{Batch, MAX_BATCH};
use super::variants::Vary;
use super::{RequestTarget, Template};
use brunt_wire::http1::{EncodeError, Version, client::Request};
use std::ops::Range;

/// All bytes together; a large body is rendered once for each position in a pipeline.
const MAX_BYTES: u64 = 256 << 20;
/// Room for the head of a request of its own, in its limit of bytes.
const MAX_HEAD: u64 = 16 << 10;

/// How requests share a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// This many go out in one write, the next ones when all are answered: a closed loop.
    Batches(u32),
    /// Each goes out when it is due, up to this many in flight: an open loop.
    Single(u32),
}

impl Pipeline {
    /// One request at a time, in either loop.
    pub const NONE: Self = Self::Batches(1);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    bytes: Vec<u8>,
    /// By index in the order: the batch that begins there.
    keeping: Vec<Range<usize>>,
    /// The same for the last batch of a connection; empty if connections are never closed.
    closing: Vec<Range<usize>>,
    /// By index in the order: the name of the request there.
    names: Vec<u16>,
    /// The requests of every write.
    pub batch: Batch,
    /// By index in the order: which requests of the batch there are HEAD; empty if they are the same in all batches.
    mixed: Vec<Batch>,
    pub pipeline: Pipeline,
    /// Request k of the run is the one at place k of the order.
    pub(crate) replay: bool,
    pub vary: Option<Vary>,
}

impl Rendered {
    /// Renders requests for `targets`, in variants if there is `vary`. With `reuse`, the last of as many requests on a
    /// connection asks the target to close it.
    ///
    /// # Errors
    /// One line with what cannot be sent and the remedy.
    pub fn render(
        template: &Template,
        targets: &[RequestTarget],
        vary: Option<Vary>,
        pipeline: Pipeline,
        reuse: Option<u64>,
    ) -> Result<Self, String> {
        let requests = targets.iter().map(|target| (template.clone(), target.clone())).collect();
        let sequence = Sequence { requests, order: order(targets)?, replay: false, origin: &|_| String::new() };
        Self::lay_out(sequence, vary, pipeline, reuse, MAX_BYTES)
    }

    /// Renders requests of their own, as [`Self::render`] does those of a template.
    ///
    /// # Errors
    /// As there, with the origin of the request first.
    pub fn sequence(
        sequence: Sequence<'_>,
        vary: Option<Vary>,
        pipeline: Pipeline,
        reuse: Option<u64>,
    ) -> Result<Self, String> {
        // The caller has the requests in memory: only copies are limited.
        let bodies = sequence.requests.iter().map(|(template, _)| template.body.as_ref().map_or(0, Vec::len) as u64);
        let own = bodies.sum::<u64>() + (sequence.requests.len() as u64) * MAX_HEAD;
        Self::lay_out(sequence, vary, pipeline, reuse, MAX_BYTES + 2 * own)
    }

    fn lay_out(
        sequence: Sequence<'_>,
        vary: Option<Vary>,
        pipeline: Pipeline,
        reuse: Option<u64>,
        most_bytes: u64,
    ) -> Result<Self, String> {
        let (Pipeline::Batches(in_flight) | Pipeline::Single(in_flight)) = pipeline;
        let has_head = sequence.requests.iter().any(|(template, _)| template.method == "HEAD");
        let whole_batch = batch(if has_head { "HEAD" } else { "GET" }, in_flight)?;
        check_reuse(reuse, pipeline)?;
        let (batch, replay) = match pipeline {
            Pipeline::Batches(_) => (whole_batch, sequence.replay),
            Pipeline::Single(_) => (Batch::of(if has_head { "HEAD" } else { "GET" }), sequence.replay),
        };
        let varied = sequence.varied(vary)?;
        let keeping = Encoded::of(&varied, true)?;
        let closing = if reuse.is_some() { Encoded::of(&varied, false)? } else { Encoded::default() };
        let names = varied.order.iter().map(|request| varied.requests[*request].1.name).collect();
        let is_head = |place: &usize| varied.requests[*place].0.method == "HEAD";
        let all_alike = varied.requests.iter().all(|(template, _)| (template.method == "HEAD") == has_head);
        let heads = if all_alike { Vec::new() } else { varied.order.iter().map(is_head).collect() };
        let mut all = Self {
            bytes: Vec::new(),
            keeping: Vec::new(),
            closing: Vec::new(),
            names,
            batch,
            mixed: mixed(&heads, batch.requests())?,
            pipeline,
            replay,
            vary,
        };
        let (order, per_batch) = (varied.order, batch.requests() as usize);
        check_bytes(&keeping, &order, per_batch, reuse.is_some(), most_bytes)?;
        all.lay_out_keeping(&order, &keeping, per_batch);
        if reuse.is_some() {
            all.closing = all.lay_out_closing(&order, &keeping, &closing, per_batch);
        }
        Ok(all)
    }

    /// Lays out the requests one after another: the batch that begins at a place ends at a later one.
    fn lay_out_keeping(&mut self, order: &[usize], requests: &Encoded, per_batch: usize) {
        if per_batch == 1 {
            // Places of the same request share its bytes.
            self.bytes.clone_from(&requests.bytes);
            self.keeping = order.iter().map(|request| requests.each[*request].clone()).collect();
            return;
        }
        let places = (0..order.len() + per_batch - 1).map(|place| order[place % order.len()]);
        let ranges: Vec<Range<usize>> = places.map(|request| self.append([requests.get(request)])).collect();
        self.keeping = (0..order.len()).map(|at| ranges[at].start..ranges[at + per_batch - 1].end).collect();
    }

    /// Lays out the batches that begin at each index of the order; the last request of each comes from `last`.
    fn lay_out_closing(
        &mut self,
        order: &[usize],
        first: &Encoded,
        last: &Encoded,
        per_batch: usize,
    ) -> Vec<Range<usize>> {
        if per_batch == 1 {
            let start = self.append([&last.bytes]).start;
            let moved = |range: &Range<usize>| start + range.start..start + range.end;
            return order.iter().map(|request| moved(&last.each[*request])).collect();
        }
        let request = |place: usize| order[place % order.len()];
        let batch = |at: usize| {
            let end = at + per_batch - 1;
            (at..end).map(move |place| first.get(request(place))).chain([last.get(request(end))])
        };
        (0..order.len()).map(|at| self.append(batch(at))).collect()
    }

    fn append(&mut self, requests: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Range<usize> {
        let start = self.bytes.len();
        requests.into_iter().for_each(|request| self.bytes.extend_from_slice(request.as_ref()));
        start..self.bytes.len()
    }

    /// Bytes of memory that the requests take.
    pub fn memory(&self) -> usize {
        let places = self.keeping.len() + self.closing.len();
        let of_batches = self.mixed.len() * size_of::<Batch>();
        self.bytes.len() + places * size_of::<Range<usize>>() + self.names.len() * size_of::<u16>() + of_batches
    }

    /// The requests of the batch that begins at `index`.
    #[inline]
    pub(crate) fn batch_at(&self, index: usize) -> Batch {
        if self.mixed.is_empty() { self.batch } else { self.mixed[index] }
    }

    pub(crate) fn order_len(&self) -> usize {
        self.keeping.len()
    }

    /// The longest batch alone, in a closed loop.
    pub(crate) fn longest(&self) -> Self {
        let index = (0..self.order_len()).max_by_key(|index| self.keeping[*index].len()).unwrap_or(0);
        let batch = self.batch_at(index);
        let mut one = Self {
            bytes: Vec::new(),
            keeping: Vec::new(),
            closing: Vec::new(),
            names: vec![self.names[index]],
            batch,
            mixed: Vec::new(),
            pipeline: Pipeline::Batches(batch.requests()),
            replay: false,
            vary: None,
        };
        one.keeping = vec![one.append([&self.bytes[self.range(index, false)]])];
        if !self.closing.is_empty() {
            one.closing = vec![one.append([&self.bytes[self.range(index, true)]])];
        }
        one
    }

    /// Length in bytes of the longest batch, of those that end a connection if `last`.
    pub fn longest_bytes(&self, last: bool) -> usize {
        (0..self.order_len()).map(|index| self.range(index, last).len()).max().unwrap_or(0)
    }

    /// Where the batch that begins at `index` lies; `last` if it is the connection's last.
    #[inline]
    pub(crate) fn range(&self, index: usize, last: bool) -> Range<usize> {
        let ranges = if last && !self.closing.is_empty() { &self.closing } else { &self.keeping };
        ranges[index].clone()
    }

    /// Name of request `number` of the batch that begins at `index`.
    pub(crate) fn name(&self, index: usize, number: u32) -> u16 {
        self.names[(index + number as usize) % self.names.len()]
    }

    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

/// Requests as bytes, one after another.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    each: Vec<Range<usize>>,
}

impl Encoded {
    fn of(sequence: &Sequence<'_>, keep_alive: bool) -> Result<Self, String> {
        let mut all = Self::default();
        for (number, (template, target)) in sequence.requests.iter().enumerate() {
            let start = all.bytes.len();
            let written = write(template, target, keep_alive, &mut all.bytes);
            written.map_err(|why| format!("{}{why}", (sequence.origin)(number)))?;
            all.each.push(start..all.bytes.len());
        }
        Ok(all)
    }

    fn get(&self, request: usize) -> &[u8] {
        &self.bytes[self.each[request].clone()]
    }
}

/// By place in the order: the batch of `requests` that begins there; none if there are no `heads`.
fn mixed(heads: &[bool], requests: u32) -> Result<Vec<Batch>, String> {
    let batch = |at: usize| {
        let mut batch = Batch::default();
        for place in at..at + requests as usize {
            batch.push(if heads[place % heads.len()] { "HEAD" } else { "GET" })?;
        }
        Ok(batch)
    };
    (0..heads.len()).map(batch).collect()
}

fn check_bytes(
    requests: &Encoded,
    order: &[usize],
    per_batch: usize,
    closes: bool,
    most_bytes: u64,
) -> Result<(), String> {
    let longest = requests.each.iter().map(Range::len).max().unwrap_or(0) as u64;
    let in_order: u64 = order.iter().map(|request| requests.each[*request].len() as u64).sum();
    let (once, per_batch) = (requests.bytes.len() as u64, per_batch as u64);
    let (keeping, closing) =
        if per_batch == 1 { (once, once) } else { (in_order + longest * per_batch, in_order * per_batch) };
    let total = keeping + if closes { closing } else { 0 };
    if total <= most_bytes {
        return Ok(());
    }
    Err(format!(
        "the requests would take {total} bytes and may take {most_bytes}: lower --pipeline, --weight, --vary or the body"
    ))
}

pub(super) fn check_reuse(reuse: Option<u64>, pipeline: Pipeline) -> Result<(), String> {
    match (reuse, pipeline) {
        (Some(0), _) => Err("--reuse 0: a connection carries at least 1 request".to_owned()),
        (Some(reuse), Pipeline::Batches(batch)) if !reuse.is_multiple_of(batch.into()) => Err(format!(
            "--reuse {reuse} (--no-keepalive is 1) and --pipeline {batch}: one write goes to one connection, so give a multiple"
        )),
        (Some(reuse), Pipeline::Single(depth)) if reuse < depth.into() => Err(format!(
            "--reuse {reuse} (--no-keepalive is 1) and --pipeline {depth}: a connection never has so many in flight, so lower --pipeline"
        )),
        _ => Ok(()),
    }
}

pub(super) fn batch(method: &str, requests: u32) -> Result<Batch, String> {
    if !(1..=MAX_BATCH).contains(&requests) {
        return Err(format!("--pipeline {requests}: a connection has 1 to {MAX_BATCH} requests in flight"));
    }
    let mut batch = Batch::default();
    for _ in 0..requests {
        batch.push(method).map_err(|error| format!("--pipeline {requests}: {error}"))?;
    }
    Ok(batch)
}

/// Names a field that cannot be sent; the error for a whole request does not say which one it is.
pub(super) fn check_fields(template: &Template) -> Result<(), String> {
    for (name, value) in &template.fields {
        let field = [(&name[..], value.as_bytes())];
        let request = Request { fields: &field, ..Request::get("localhost", "/") };
        let remedy = match request.encode(&mut Vec::new(), None) {
            Ok(_) => continue,
            Err(EncodeError::FieldReserved) if name.eq_ignore_ascii_case("connection") => {
                "use --no-keepalive or --reuse instead".to_owned()
            }
            Err(EncodeError::FieldReserved) => "it follows from the URL and the body".to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(format!("the field '{}' cannot be sent: {remedy}", name.escape_debug()));
    }
    Ok(())
}

pub(super) fn encode(template: &Template, target: &RequestTarget, keep_alive: bool) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    write(template, target, keep_alive, &mut bytes).map(|()| bytes)
}

/// Appends a request; none if it cannot be sent.
fn write(template: &Template, target: &RequestTarget, keep_alive: bool, out: &mut Vec<u8>) -> Result<(), String> {
    let own = target.authorization.as_ref().map(|value| ("Authorization", value.as_bytes()));
    let fields = template.fields.iter().map(|(name, value)| (&name[..], value.as_bytes()));
    let fields: Vec<(&str, &[u8])> = fields.chain(own).collect();
    let request = Request {
        method: &template.method,
        target: &target.target,
        host: &target.host,
        fields: &fields,
        version: if template.http10 { Version::Http10 } else { Version::Http11 },
        keep_alive,
    };
    match request.encode(out, template.body.as_deref()) {
        Ok(_) => Ok(()),
        Err(error) => {
            check_fields(template)?;
            let invalid = match error {
                EncodeError::Method => &template.method,
                EncodeError::Host => &target.host,
                _ => &target.target,
            };
            Err(format!("'{}' cannot be requested: {error}", invalid.escape_debug()))
        }
    }
}

#[cfg(test)]
mod tests;
