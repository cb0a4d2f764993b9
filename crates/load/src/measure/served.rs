//! How evenly the connections were served in the window.

use serde::{Deserialize, Serialize};

/// Moments of the number of good replies on each connection. Sums over threads and processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    connections: u64,
    /// Connections with at least one good reply.
    served: u64,
    replies: f64,
    squares: f64,
}

impl Served {
    pub fn of(replies: &[u32]) -> Self {
        let replies_each = || replies.iter().map(|count| f64::from(*count));
        Self {
            connections: replies.len() as u64,
            served: replies.iter().filter(|count| **count > 0).count() as u64,
            replies: replies_each().sum(),
            squares: replies_each().map(|count| count * count).sum(),
        }
    }

    pub fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.served += other.served;
        self.replies += other.replies;
        self.squares += other.squares;
    }

    /// Connections with a good reply, in percent of all; `None` without connections.
    pub fn percent(self) -> Option<f64> {
        (self.connections > 0).then(|| self.served as f64 * 100.0 / self.connections as f64)
    }

    /// Jain's fairness index, (sum x)^2 / (n * sum x^2): 1 if all connections got as many replies, 1/n if one got all; `None`
    /// without replies. By R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984.
    pub fn jain(self) -> Option<f64> {
        (self.squares > 0.0).then(|| self.replies * self.replies / (self.connections as f64 * self.squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_replies_are_fair_and_one_served_connection_is_not() {
        let even = Served::of(&[3, 3, 3, 3]);
        assert_eq!((even.percent(), even.jain()), (Some(100.0), Some(1.0)));
        let one = Served::of(&[0, 9, 0, 0]);
        assert_eq!((one.percent(), one.jain()), (Some(25.0), Some(0.25)));
        assert_eq!((Served::of(&[]).percent(), Served::of(&[0]).jain()), (None, None));
    }

    proptest! {
        #[test]
        fn parts_add_up_and_the_index_is_between_one_over_n_and_one(
            replies in proptest::collection::vec(0u32..1000, 1..50),
            at in 0usize..50,
        ) {
            let (left, right) = replies.split_at(at.min(replies.len()));
            let mut sum = Served::of(left);
            sum.add(Served::of(right));
            prop_assert_eq!(sum, Served::of(&replies));
            if let Some(jain) = sum.jain() {
                prop_assert!(jain <= 1.0 + 1e-9 && jain >= 1.0 / replies.len() as f64 - 1e-9);
            }
        }
    }
}
