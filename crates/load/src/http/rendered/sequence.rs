//! Requests in the order in which they are sent, before they are rendered.

use crate::http::variants::{Vary, variant};
use crate::http::{RequestTarget, Template};

const MAX_ORDER: u64 = 10_000;
/// Longest order with all variants.
pub(super) const MAX_VARIED_ORDER: usize = 1 << 20;

/// Requests of their own.
pub struct Sequence<'a> {
    pub requests: Vec<(Template, RequestTarget)>,
    /// Their numbers, one after another; then from the first again.
    pub order: Vec<usize>,
    /// Whether request k of the run is the one at place k of the order, as recorded times need. Otherwise the load threads
    /// begin at different places.
    pub replay: bool,
    /// Where the request of a number comes from, for errors: `FILE:LINE: `.
    pub origin: &'a dyn Fn(usize) -> String,
}

impl Sequence<'_> {
    /// The same in variants: each round through the order takes the next one.
    pub(super) fn varied(self, vary: Option<Vary>) -> Result<Self, String> {
        let Some(vary) = vary else { return Ok(self) };
        let most = MAX_VARIED_ORDER / self.order.len().max(1);
        if !(1..=most).contains(&(vary.variants as usize)) {
            return Err(format!("--vary {}: 1 to {most} variants of these requests can be prepared", vary.variants));
        }
        let tokens = vary.tokens();
        let of_one = |(template, target): &(Template, RequestTarget)| {
            tokens.iter().map(|token| variant(template, target, token)).collect::<Vec<_>>()
        };
        let round = |number: usize| self.order.iter().map(move |request| request * vary.variants as usize + number);
        Ok(Self {
            requests: self.requests.iter().flat_map(of_one).collect(),
            order: (0..tokens.len()).flat_map(round).collect(),
            ..self
        })
    }
}

/// The order of the targets: each position goes to the one furthest behind its share.
pub(in crate::http) fn order(targets: &[RequestTarget]) -> Result<Vec<usize>, String> {
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
