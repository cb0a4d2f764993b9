//! Counts of replies by status, and the bytes of their bodies.
//!
//! Counted for every reply, so the status that came first, nearly always the only one, costs one comparison.

use brunt_results::result::Responses;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replies {
    /// Each status with its count, in the order of their first reply.
    statuses: Vec<(u16, u64)>,
    body_bytes: u64,
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

    pub fn add(&mut self, other: &Self) {
        self.body_bytes += other.body_bytes;
        other.statuses.iter().for_each(|(status, count)| self.count(*status, *count));
    }

    pub fn responses(&self) -> Responses {
        let statuses = self.statuses.iter().map(|(status, count)| (status.to_string(), *count));
        Responses { statuses: statuses.collect(), body_bytes: Some(self.body_bytes) }
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
