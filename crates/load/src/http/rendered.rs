//! Requests rendered to bytes in advance, in the order in which they are sent.
//!
//! Targets take turns by weight, spread as evenly as possible: weights 3 and 1 give `aaba`, not `aaab`.

use super::source::{Batch, MAX_BATCH};
use super::variants::{Vary, variant};
use super::{RequestTarget, Template};
use brunt_wire::http1::{EncodeError, Version, client::Request};
use std::ops::Range;

const MAX_ORDER: u64 = 10_000;
/// Longest order with all variants.
const MAX_VARIED_ORDER: usize = 1 << 20;
/// All bytes together; a large body is rendered once for each position in a pipeline.
const MAX_BYTES: u64 = 256 << 20;

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
    pub pipeline: Pipeline,
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
        let (Pipeline::Batches(in_flight) | Pipeline::Single(in_flight)) = pipeline;
        let whole_batch = batch(template, in_flight)?;
        check_reuse(reuse, pipeline)?;
        let batch = match pipeline {
            Pipeline::Batches(_) => whole_batch,
            Pipeline::Single(_) => Batch::of(&template.method),
        };
        check_fields(template)?;
        let (order, requests) = expand(template, targets, vary)?;
        let encoded = |keep: bool| -> Result<Vec<_>, String> {
            requests.iter().map(|(template, target)| encode(template, target, keep)).collect()
        };
        let (keeping, closing) = (encoded(true)?, encoded(false)?);
        let longest = closing.iter().chain(&keeping).map(Vec::len).max().unwrap_or(0) as u64;
        let per_batch = batch.requests();
        let batches = if per_batch == 1 { requests.len() } else { order.len() } as u64;
        let total = batches * u64::from(per_batch) * longest * (1 + u64::from(reuse.is_some()));
        if total > MAX_BYTES {
            return Err(format!(
                "the requests would take {total} bytes and may take {MAX_BYTES}: lower --pipeline, --weight, --vary or the body"
            ));
        }
        let variants = vary.map_or(1, |vary| vary.variants as usize);
        let names = order.iter().map(|request| targets[request / variants].name).collect();
        let mut all =
            Self { bytes: Vec::new(), keeping: Vec::new(), closing: Vec::new(), names, batch, pipeline, vary };
        all.keeping = all.lay_out(&order, &keeping, &keeping);
        if reuse.is_some() {
            all.closing = all.lay_out(&order, &keeping, &closing);
        }
        Ok(all)
    }

    /// Lays out the batches that begin at each index of the order; the last request of each comes from `last`.
    fn lay_out(&mut self, order: &[usize], first: &[Vec<u8>], last: &[Vec<u8>]) -> Vec<Range<usize>> {
        let before_last = self.batch.requests() as usize - 1;
        if before_last == 0 {
            // Places of the same request share its bytes.
            let ranges: Vec<Range<usize>> = last.iter().map(|request| self.append([request])).collect();
            return order.iter().map(|request| ranges[*request].clone()).collect();
        }
        let request = |index: usize| order[index % order.len()];
        let batch = |index: usize| {
            let end = index + before_last;
            (index..end).map(move |index| &first[request(index)]).chain([&last[request(end)]])
        };
        (0..order.len()).map(|index| self.append(batch(index))).collect()
    }

    fn append(&mut self, requests: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Range<usize> {
        let start = self.bytes.len();
        requests.into_iter().for_each(|request| self.bytes.extend_from_slice(request.as_ref()));
        start..self.bytes.len()
    }

    pub(crate) fn order_len(&self) -> usize {
        self.keeping.len()
    }

    /// The longest batch alone, in a closed loop.
    pub(crate) fn longest(&self) -> Self {
        let index = (0..self.order_len()).max_by_key(|index| self.keeping[*index].len()).unwrap_or(0);
        let (batch, pipeline) = (self.batch, Pipeline::Batches(self.batch.requests()));
        let names = vec![self.names[index]];
        let mut one =
            Self { bytes: Vec::new(), keeping: Vec::new(), closing: Vec::new(), names, batch, pipeline, vary: None };
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

pub(super) fn batch(template: &Template, requests: u32) -> Result<Batch, String> {
    if !(1..=MAX_BATCH).contains(&requests) {
        return Err(format!("--pipeline {requests}: a connection has 1 to {MAX_BATCH} requests in flight"));
    }
    let mut batch = Batch::default();
    for _ in 0..requests {
        batch.push(&template.method).map_err(|error| format!("--pipeline {requests}: {error}"))?;
    }
    Ok(batch)
}

/// All requests, and the order in which they are sent, by their index. With variants, each round through the URLs takes the
/// next variant.
#[expect(clippy::type_complexity, reason = "the one caller takes the two lists apart")]
fn expand(
    template: &Template,
    targets: &[RequestTarget],
    vary: Option<Vary>,
) -> Result<(Vec<usize>, Vec<(Template, RequestTarget)>), String> {
    let order = order(targets)?;
    let Some(vary) = vary else {
        return Ok((order, targets.iter().map(|target| (template.clone(), target.clone())).collect()));
    };
    let most = MAX_VARIED_ORDER / order.len();
    if !(1..=most).contains(&(vary.variants as usize)) {
        return Err(format!("--vary {}: 1 to {most} variants of these requests can be prepared", vary.variants));
    }
    let tokens = vary.tokens();
    let requests =
        targets.iter().flat_map(|target| tokens.iter().map(|token| variant(template, target, token))).collect();
    let round = |number: usize| order.iter().map(move |target| target * vary.variants as usize + number);
    Ok(((0..tokens.len()).flat_map(round).collect(), requests))
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
    match request.encode(&mut bytes, template.body.as_deref()) {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let invalid = match error {
                EncodeError::Method => &template.method,
                EncodeError::Host => &target.host,
                _ => &target.target,
            };
            Err(format!("'{}' cannot be requested: {error}", invalid.escape_debug()))
        }
    }
}

/// The order of the targets: each position goes to the one furthest behind its share.
pub(super) fn order(targets: &[RequestTarget]) -> Result<Vec<usize>, String> {
    if targets.is_empty() || targets.iter().any(|target| target.weight == 0) {
        return Err("there is no URL, or one with a weight of 0: give each a weight of at least 1".to_owned());
    }
    let divisor = targets.iter().fold(0, |divisor, target| greatest_common_divisor(divisor, target.weight));
    let weights: Vec<i64> = targets.iter().map(|target| i64::from(target.weight / divisor)).collect();
    let total: i64 = weights.iter().sum();
    if total as u64 > MAX_ORDER {
        return Err(format!(
            "the weights add up to {total} after division by their greatest common divisor, and may to {MAX_ORDER}: use smaller ones"
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

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests;
