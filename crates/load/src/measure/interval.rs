//! Measurements of one load thread in one interval of at most a second: the unit in which they go to the collector.
//!
//! Filled by the [recorder](super::recorder), emptied by the [collector](super::collector), and returned to be filled again,
//! so that a load thread never allocates or clears a histogram while it is measured.

use super::histogram::RawHistogram;
use brunt_results::result::{Apart, Bytes, Errors, Responses, SendCounts};
use brunt_wire::http1::Leniencies;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Phase {
    /// Connections are being opened; no request is sent.
    #[default]
    Connect,
    /// Load that is not measured.
    Warmup,
    Window,
    /// No new requests; those in flight may still be answered.
    Drain,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
    /// Requests that found every connection busy.
    pub waited: u64,
    /// Requests in flight at the end of the window.
    pub unanswered: u64,
    /// Requests intended inside the window and without a reply at the end of the drain.
    pub abandoned: u64,
    /// For how long the longest of them that had been sent was without a reply at the end of the drain; 0 if none had been sent.
    pub left_ns: u64,
    /// Errors by kind, those of connections without a request included.
    pub errors: Errors,
    /// What the result counts of `failed` and `errors`.
    pub of_window: Failures,
    pub bytes: Bytes,
    /// Fewest and most replies on a connection that the target then closed with requests unanswered.
    pub closed_after: Option<[u64; 2]>,
    /// Connections that were reset because the target did not close them when it was to.
    pub kept_open: u64,
    /// Counts of replies, for protocols whose replies have a status.
    pub replies: Replies,
    /// Of an open loop.
    pub sends: SendCounts,
    /// Of completed replies that came in several receives.
    pub apart: Apart,
}

/// Failures of the window. A refused reply is one of the window in which it comes, as every other reply. A request without a
/// complete reply is one of the window in which it was intended, as its lower bound in the response times is, even if it is
/// lost in the drain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    pub failed: u64,
    /// Those of connections without a request included.
    pub errors: Errors,
}

impl Failures {
    pub fn add(&mut self, other: &Self) {
        self.failed += other.failed;
        self.errors.add(&other.errors);
    }
}

impl Counters {
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.waited += other.waited;
        self.unanswered += other.unanswered;
        self.abandoned += other.abandoned;
        self.left_ns = self.left_ns.max(other.left_ns);
        self.errors.add(&other.errors);
        self.of_window.add(&other.of_window);
        other.closed_after.iter().flatten().for_each(|replies| self.closed_after(*replies));
        self.kept_open += other.kept_open;
        self.bytes.add(&other.bytes);
        self.replies.add(&other.replies);
        self.sends.add(&other.sends);
        self.apart.add(&other.apart);
    }

    /// The target has closed a connection with requests unanswered, after so many replies on it.
    #[cold]
    pub fn closed_after(&mut self, replies: u64) {
        let [fewest, most] = self.closed_after.unwrap_or([replies; 2]);
        self.closed_after = Some([fewest.min(replies), most.max(replies)]);
    }

    /// A reply with a body of so many bytes.
    #[inline]
    pub fn reply(&mut self, status: u16, body_bytes: u64, is_good: bool) {
        self.replies.record(status, body_bytes);
        if is_good {
            *self.bytes.good_body.get_or_insert(0) += body_bytes;
        }
    }
}

/// Time used by a thread until `at_ns` of the run's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub at_ns: u64,
    pub cpu_ns: u64,
    /// CPU time spent on waiting.
    pub spin_ns: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Its number on its thread, from 0.
    pub number: u32,
    pub phase: Phase,
    /// Start in the run's clock.
    pub start_ns: u64,
    /// End in the run's clock, exclusive.
    pub end_ns: u64,
    pub usage_start: Usage,
    pub usage_end: Usage,
    /// Connections open at its end.
    pub connections: u64,
    pub counters: Counters,
    /// done - intended, of requests with a reply. In a closed loop only of the drain: otherwise it equals `service`.
    pub response: RawHistogram,
    /// How long requests without a complete reply have waited, from their intended time; made by the first one.
    pub censored: Option<RawHistogram>,
    /// How long requests that were never sent have waited for a connection; made by the first one.
    pub unsent: Option<RawHistogram>,
    pub service: RawHistogram,
    /// Of replies that came in several receives; made by the first one.
    pub pieces: Option<Box<Pieces>>,
    /// sent - intended, as far as the generator caused it. Empty in a closed loop, where it is 0 by definition.
    pub lag: RawHistogram,
    pub error: RawHistogram,
}

impl Interval {
    /// Empties the histograms.
    pub fn clear(&mut self) {
        for histogram in [&mut self.response, &mut self.service, &mut self.lag, &mut self.error] {
            histogram.clear();
        }
        self.censored.iter_mut().chain(&mut self.unsent).for_each(RawHistogram::clear);
        if let Some(pieces) = &mut self.pieces {
            pieces.first_byte.clear();
            pieces.service.clear();
        }
    }
}

/// Times of completed requests whose reply came in several receives. The first byte of every other reply came when its last
/// one did, so these and [`Interval::service`] give the times to the first byte of all requests, and a reply that comes whole
/// costs nothing more.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Pieces {
    /// First byte - sent.
    pub first_byte: RawHistogram,
    /// done - sent; a part of [`Interval::service`].
    pub service: RawHistogram,
}

/// Counts of replies by status, and the bytes of their bodies. Counted for every reply, so the status that came first, nearly
/// always the only one, costs one comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replies {
    /// Each status with its count, in the order of their first reply.
    statuses: Vec<(u16, u64)>,
    body_bytes: u64,
    /// Replies that were read leniently, and their number by rule.
    lenient: u64,
    lenient_rules: BTreeMap<String, u64>,
    refused_rules: BTreeMap<String, u64>,
    /// Redirects that are to be followed, and the requests that have followed one.
    redirects: u64,
    followed: u64,
}

impl Replies {
    #[inline]
    pub fn record(&mut self, status: u16, body_bytes: u64) {
        self.body_bytes += body_bytes;
        match self.statuses.first_mut() {
            Some((first, count)) if *first == status => *count += 1,
            _ => self.count(status, 1),
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self, status: u16, more: u64) {
        match self.statuses.iter_mut().find(|(counted, _)| *counted == status) {
            Some((_, count)) => *count += more,
            None => self.statuses.push((status, more)),
        }
    }

    /// A reply was read leniently by these rules.
    #[cold]
    #[inline(never)]
    pub fn lenient(&mut self, accepted: Leniencies) {
        self.lenient += 1;
        accepted.iter().for_each(|leniency| count_rule(&mut self.lenient_rules, leniency.rule(), 1));
    }

    /// A reply was refused by this rule.
    #[cold]
    pub fn refused(&mut self, rule: &str) {
        count_rule(&mut self.refused_rules, rule, 1);
    }

    /// A reply was a redirect that is to be followed.
    #[cold]
    pub fn redirect(&mut self) {
        self.redirects += 1;
    }

    /// A request was sent that follows one.
    #[cold]
    pub fn follow(&mut self) {
        self.followed += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.redirects += other.redirects;
        self.followed += other.followed;
        self.body_bytes += other.body_bytes;
        self.lenient += other.lenient;
        other.lenient_rules.iter().for_each(|(rule, count)| count_rule(&mut self.lenient_rules, rule, *count));
        other.refused_rules.iter().for_each(|(rule, count)| count_rule(&mut self.refused_rules, rule, *count));
        other.statuses.iter().for_each(|(status, count)| self.count(*status, *count));
    }

    pub fn statuses(&self) -> &[(u16, u64)] {
        &self.statuses
    }

    pub fn responses(&self) -> Responses {
        let statuses = self.statuses.iter().map(|(status, count)| (status.to_string(), *count));
        Responses {
            statuses: statuses.collect(),
            body_bytes: Some(self.body_bytes),
            lenient: Some(self.lenient),
            lenient_rules: Some(self.lenient_rules.clone()),
            refused_rules: Some(self.refused_rules.clone()),
            apart: None,
            redirects: Some(self.redirects).filter(|count| *count > 0),
            followed: Some(self.followed).filter(|_| self.redirects > 0),
        }
    }
}

fn count_rule(rules: &mut BTreeMap<String, u64>, rule: &str, more: u64) {
    match rules.get_mut(rule) {
        Some(count) => *count += more,
        None => _ = rules.insert(rule.to_owned(), more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_add_up_in_any_order() {
        let (mut one, mut other) = (Replies::default(), Replies::default());
        [200, 200, 404, 200, 500, 404].into_iter().for_each(|status| one.record(status, 10));
        [500, 200].into_iter().for_each(|status| other.record(status, 1));
        one.add(&other);
        let responses = one.responses();
        let counts: Vec<(&str, u64)> = responses.statuses.iter().map(|(status, count)| (&status[..], *count)).collect();
        assert_eq!(counts, [("200", 4), ("404", 2), ("500", 2)]);
        assert_eq!(responses.body_bytes, Some(62));
    }
}
