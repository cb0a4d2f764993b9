//! Requests as bytes, ready to be written, in the order in which they are sent: nothing is put together while the load
//! runs.
//!
//! Several targets take turns by weight, spread as evenly as they can be: of weights 3 and 1 comes `aaba`, not `aaab`.

use super::{
    source::{Batch, DEEPEST},
    template::{RequestTarget, Template},
    variants::{Vary, variant},
};
use brunt_wire::http1::{EncodeError, Version, client::Request};
use std::ops::Range;

/// The order repeats after so many requests at the latest.
const LONGEST_ORDER: u64 = 10_000;
/// Places of the order with all variants.
const MOST_PLACES: usize = 1 << 20;
/// All bytes together; a large body is rendered once for each place in a pipeline.
const MOST_BYTES: u64 = 256 << 20;

/// How requests share a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// So many go out in one write, the next ones when all are answered: a closed loop.
    Batches(u32),
    /// Each goes out when it is due, unless so many are under way: an open loop.
    Single(u32),
}

impl Pipeline {
    /// One at a time, whatever the loop.
    pub const NONE: Self = Self::Batches(1);
}

/// See the head of this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    bytes: Vec<u8>,
    /// For each place in the order: the batch that begins there.
    keeping: Vec<Range<usize>>,
    /// The same, for the last batch of a connection.
    closing: Vec<Range<usize>>,
    batch: Batch,
    pipeline: Pipeline,
    vary: Option<Vary>,
}

impl Rendered {
    /// Renders requests for `targets`. `reuse` is how many are sent on a connection: the last of them asks the target to
    /// close it.
    ///
    /// # Errors
    /// One line that names what cannot be sent, and the remedy.
    pub fn render(
        template: &Template,
        targets: &[RequestTarget],
        pipeline: Pipeline,
        reuse: Option<u64>,
    ) -> Result<Self, String> {
        Self::varied(template, targets, None, pipeline, reuse)
    }

    /// As [`Self::render`], with variants of each request.
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn varied(
        template: &Template,
        targets: &[RequestTarget],
        vary: Option<Vary>,
        pipeline: Pipeline,
        reuse: Option<u64>,
    ) -> Result<Self, String> {
        let (Pipeline::Batches(under_way) | Pipeline::Single(under_way)) = pipeline;
        let mut batch = batch(template, under_way)?;
        match (reuse, pipeline) {
            (Some(0), _) => return Err("--reuse 0: a connection carries at least 1 request".to_owned()),
            (Some(reuse), Pipeline::Batches(batch)) if !reuse.is_multiple_of(batch.into()) => {
                return Err(format!(
                    "--reuse {reuse} (--no-keepalive is 1) and --pipeline {batch}: one write goes to one connection, so give a multiple"
                ));
            }
            (Some(reuse), Pipeline::Single(depth)) if reuse < depth.into() => {
                return Err(format!(
                    "--reuse {reuse} (--no-keepalive is 1) and --pipeline {depth}: so many are never under way there; lower --pipeline"
                ));
            }
            _ => (),
        }
        let in_one_write = match pipeline {
            Pipeline::Batches(requests) => requests,
            Pipeline::Single(_) => {
                batch = Batch::of(&template.method);
                1
            }
        };
        check_fields(template)?;
        let (order, requests) = expand(template, targets, vary)?;
        let encoded = |keep: bool| -> Result<Vec<_>, String> {
            requests.iter().map(|(template, target)| encode(template, target, keep)).collect()
        };
        let (keeping, closing) = (encoded(true)?, encoded(false)?);
        let longest = closing.iter().chain(&keeping).map(Vec::len).max().unwrap_or(0) as u64;
        let places = if in_one_write == 1 { requests.len() } else { order.len() } as u64;
        let total = places * u64::from(in_one_write) * longest * (1 + u64::from(reuse.is_some()));
        if total > MOST_BYTES {
            return Err(format!(
                "the requests would take {total} bytes and may take {MOST_BYTES}: lower --pipeline, --weight, --vary or the body"
            ));
        }
        let mut all = Self { bytes: Vec::new(), keeping: Vec::new(), closing: Vec::new(), batch, pipeline, vary };
        let depth = in_one_write as usize;
        all.keeping = all.lay_out(&order, depth, &keeping, &keeping);
        if reuse.is_some() {
            all.closing = all.lay_out(&order, depth, &keeping, &closing);
        }
        Ok(all)
    }

    /// Lays out the batches that begin at each place of the order; the last request of a batch comes from `last`.
    fn lay_out(&mut self, order: &[usize], depth: usize, first: &[Vec<u8>], last: &[Vec<u8>]) -> Vec<Range<usize>> {
        if depth == 1 {
            // A place then has only the bytes of its target, which are there once.
            let ranges: Vec<Range<usize>> = last.iter().map(|request| self.append([request])).collect();
            return order.iter().map(|target| ranges[*target].clone()).collect();
        }
        let places = 0..order.len();
        let target = |place: usize| order[place % order.len()];
        let batch = |place: usize| {
            let (end, requests) = (place + depth - 1, place..place + depth - 1);
            requests.map(move |place| &first[target(place)]).chain([&last[target(end)]])
        };
        places.map(|place| self.append(batch(place))).collect()
    }

    fn append(&mut self, requests: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Range<usize> {
        let start = self.bytes.len();
        requests.into_iter().for_each(|request| self.bytes.extend_from_slice(request.as_ref()));
        start..self.bytes.len()
    }

    /// What every write holds.
    pub fn batch(&self) -> Batch {
        self.batch
    }

    /// How they share a connection.
    pub fn pipeline(&self) -> Pipeline {
        self.pipeline
    }

    /// How many variants of each request there are; `None` if requests are equal.
    pub fn variants(&self) -> Option<u32> {
        self.vary.map(|vary| vary.variants)
    }

    /// Places of the order.
    pub(crate) fn places(&self) -> usize {
        self.keeping.len()
    }

    /// The longest batch alone, in the place of all, for a closed loop.
    pub(crate) fn longest(&self) -> Self {
        let place = (0..self.places()).max_by_key(|place| self.keeping[*place].len()).unwrap_or(0);
        let pipeline = Pipeline::Batches(self.batch.requests());
        let mut one = Self {
            bytes: Vec::new(),
            keeping: Vec::new(),
            closing: Vec::new(),
            batch: self.batch,
            pipeline,
            vary: None,
        };
        one.keeping = vec![one.append([&self.bytes[self.range(place, false)]])];
        if !self.closing.is_empty() {
            one.closing = vec![one.append([&self.bytes[self.range(place, true)]])];
        }
        one
    }

    /// Bytes of the longest batch, of those that end a connection if `last`.
    pub fn longest_bytes(&self, last: bool) -> usize {
        (0..self.places()).map(|place| self.range(place, last).len()).max().unwrap_or(0)
    }

    /// Where the batch that begins at `place` lies; `last` if it is the connection's last.
    #[inline]
    pub(crate) fn range(&self, place: usize, last: bool) -> Range<usize> {
        let ranges = if last && !self.closing.is_empty() { &self.closing } else { &self.keeping };
        ranges[place].clone()
    }

    /// The bytes that lie there.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

fn batch(template: &Template, pipeline: u32) -> Result<Batch, String> {
    if !(1..=DEEPEST).contains(&pipeline) {
        return Err(format!("--pipeline {pipeline}: 1 to {DEEPEST} requests can be under way on a connection"));
    }
    let mut batch = Batch::default();
    for _ in 0..pipeline {
        batch.push(&template.method).map_err(|why| format!("--pipeline {pipeline}: {why}"))?;
    }
    Ok(batch)
}

/// All requests, and the order in which they are sent, by their index. With variants, each round through the URLs takes the
/// next variant.
#[expect(clippy::type_complexity, reason = "two lists, made in one place and taken apart in one")]
fn expand(
    template: &Template,
    targets: &[RequestTarget],
    vary: Option<Vary>,
) -> Result<(Vec<usize>, Vec<(Template, RequestTarget)>), String> {
    let order = order(targets)?;
    let Some(vary) = vary else {
        return Ok((order, targets.iter().map(|target| (template.clone(), target.clone())).collect()));
    };
    let most = MOST_PLACES / order.len();
    if !(1..=most).contains(&(vary.variants as usize)) {
        return Err(format!("--vary {}: 1 to {most} variants of these requests can be prepared", vary.variants));
    }
    let tokens = vary.tokens();
    let requests =
        targets.iter().flat_map(|target| tokens.iter().map(|token| variant(template, target, token))).collect();
    let round = |number: usize| order.iter().map(move |target| target * vary.variants as usize + number);
    let order = (0..tokens.len()).flat_map(round).collect();
    Ok((order, requests))
}

/// Names the field that cannot be sent: the writer of a whole request only knows that one of them cannot.
fn check_fields(template: &Template) -> Result<(), String> {
    for (name, value) in &template.fields {
        let field = [(&name[..], value.as_bytes())];
        let request = Request { fields: &field, ..Request::get("localhost", "/") };
        let remedy = match request.encode(&mut Vec::new(), None) {
            Ok(_) => continue,
            Err(EncodeError::FieldReserved) if name.eq_ignore_ascii_case("connection") => {
                "say --no-keepalive or --reuse instead".to_owned()
            }
            Err(EncodeError::FieldReserved) => "it follows from the URL and the body".to_owned(),
            Err(refused) => refused.to_string(),
        };
        return Err(format!("the field '{}' cannot be sent: {remedy}", name.escape_debug()));
    }
    Ok(())
}

fn encode(template: &Template, target: &RequestTarget, keep_alive: bool) -> Result<Vec<u8>, String> {
    let fields: Vec<(&str, &[u8])> =
        template.fields.iter().map(|(name, value)| (&name[..], value.as_bytes())).collect();
    let request = Request {
        method: &template.method,
        target: &target.target,
        host: &target.host,
        fields: &fields,
        version: if template.http10 { Version::Http10 } else { Version::Http11 },
        keep_alive,
    };
    let mut bytes = Vec::new();
    let what = || match request.encode(&mut Vec::new(), None) {
        Err(EncodeError::Method) => template.method.escape_debug().to_string(),
        Err(EncodeError::Host) => target.host.escape_debug().to_string(),
        _ => target.target.escape_debug().to_string(),
    };
    match request.encode(&mut bytes, template.body.as_deref()) {
        Ok(_) => Ok(bytes),
        Err(refused) => Err(format!("'{}' cannot be asked for: {refused}", what())),
    }
}

/// Which target each place of the order is for: each time the one that is furthest behind its share.
fn order(targets: &[RequestTarget]) -> Result<Vec<usize>, String> {
    if targets.is_empty() || targets.iter().any(|target| target.weight == 0) {
        return Err("there is no URL, or one with a weight of 0: give each a weight of at least 1".to_owned());
    }
    let common = targets.iter().fold(0, |common, target| divisor(common, target.weight));
    let weights: Vec<i64> = targets.iter().map(|target| i64::from(target.weight / common)).collect();
    let total: i64 = weights.iter().sum();
    if total as u64 > LONGEST_ORDER {
        return Err(format!(
            "the weights add up to {total} after division by what they have in common, and may to {LONGEST_ORDER}: use smaller ones"
        ));
    }
    let mut credit = vec![0; targets.len()];
    Ok((0..total)
        .map(|_| {
            credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
            let most = credit.iter().max().copied().unwrap_or(0);
            let next = credit.iter().position(|credit| *credit == most).unwrap_or(0);
            credit[next] -= total;
            next
        })
        .collect())
}

/// The greatest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests;
