//! A load of a number of requests (`-n`) whose target is gone: it ends without the rest of them. A load of a duration goes on,
//! since its target may come back.

use brunt_results::series::Second;

/// Time without a connection and without a reply after which the target is gone.
const GONE_S: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Gone {
    /// Whether a number of requests ends the load.
    is_counted: bool,
    /// End of the last second with a connection or a reply.
    last_s: f64,
    now_s: f64,
}

impl Gone {
    pub(super) fn new(is_counted: bool) -> Self {
        Self { is_counted, last_s: 0.0, now_s: 0.0 }
    }

    /// Returns what there is to say if the target is gone since this second.
    pub(super) fn add(&mut self, second: &Second) -> Option<String> {
        let was_gone = self.is_gone();
        self.now_s = second.at_s;
        if second.connections > 0 || second.completed > 0 {
            self.last_s = second.at_s;
        }
        let words = || format!("no connection for {GONE_S} s: the rest of -n is not sent; look at the target's log");
        (self.is_gone() && !was_gone).then(words)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_counted && self.now_s - self.last_s >= GONE_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(is_counted: bool, connections: &[u64]) -> (Vec<usize>, bool) {
        let mut gone = Gone::new(is_counted);
        let mut at = |(second, connections): (usize, &u64)| {
            gone.add(&Second { at_s: second as f64 + 1.0, connections: *connections, ..Second::default() })
        };
        let told = connections.iter().enumerate().filter_map(|one| at(one).map(|_| one.0)).collect();
        (told, gone.is_gone())
    }

    #[test]
    fn ten_seconds_in_a_row_without_a_connection_end_a_number_of_requests() {
        let gone = [&[3u64; 4][..], &[0; 12]].concat();
        assert_eq!(said(true, &gone), (vec![13], true));
        assert_eq!(said(false, &gone), (vec![], false));
        let back = [&[3u64; 4][..], &[0; 9], &[1], &[0; 9]].concat();
        assert_eq!(said(true, &back), (vec![], false));
    }
}
