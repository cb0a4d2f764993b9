//! Assignment of connections to hosts, fixed for the whole run.
//!
//! Pure. Each host gets connections by weight, at least one. They are spread so that every load thread has its part of every
//! host, and neighbouring connections go to different hosts.

use crate::{options::Target, schedule::Share};
use brunt_runtime::net::Address;

#[derive(Debug)]
pub struct Hosts {
    /// At least one.
    pub addresses: Vec<Address>,
    /// The host of each connection, thread after thread; empty with a single host.
    order: Vec<u32>,
}

impl Hosts {
    /// The hosts of a target, which has at least as many connections.
    pub fn new(target: &Target, connections: usize) -> Self {
        let weights: Vec<u64> = target.hosts().map(|(_, weight)| weight).collect();
        let order = if weights.len() > 1 { spread(&shares(&weights, connections)) } else { Vec::new() };
        Self { addresses: target.addresses(), order }
    }

    /// The host of a thread's connection `index`. If their number changes (`by_rank`), hosts have even parts of the open
    /// connections, and threads may have uneven parts of the hosts.
    pub fn of(&self, share: Share, index: usize, by_rank: bool) -> usize {
        let place = if by_rank { share.rank(index) } else { share.before() + index };
        self.order.get(place).copied().unwrap_or(0) as usize
    }

    /// Whether one of the first `count` connections by rank is to `host`.
    pub fn is_among(&self, host: usize, count: usize) -> bool {
        self.order.is_empty() || self.order.iter().take(count).any(|of| *of as usize == host)
    }
}

/// Connections of each host: as near to its weight as whole numbers can be, and at least one.
fn shares(weights: &[u64], connections: usize) -> Vec<usize> {
    let total: u64 = weights.iter().sum();
    let exact = |host: usize| connections as f64 * weights[host] as f64 / total as f64;
    let mut shares: Vec<usize> = (0..weights.len()).map(|host| (exact(host) as usize).max(1)).collect();
    let owed = |shares: &[usize], host: usize| exact(host) - shares[host] as f64;
    loop {
        let hosts = 0..weights.len();
        let by_debt = |a: &usize, b: &usize| owed(&shares, *a).total_cmp(&owed(&shares, *b)).then(b.cmp(a));
        let (change, host) = match shares.iter().sum::<usize>().cmp(&connections) {
            std::cmp::Ordering::Less => (1, hosts.max_by(by_debt)),
            std::cmp::Ordering::Greater => (-1, hosts.filter(|host| shares[*host] > 1).min_by(by_debt)),
            std::cmp::Ordering::Equal => return shares,
        };
        let Some(host) = host else { return shares };
        shares[host] = shares[host].saturating_add_signed(change);
    }
}

/// An order in which each host occurs as often as its share says, as evenly as possible: in every prefix its number differs from
/// its part by less than one, in every range by less than two. By R. Tijdeman, "The chairman assignment problem", 1980.
fn spread(shares: &[usize]) -> Vec<u32> {
    let all: i128 = shares.iter().map(|share| *share as i128).sum();
    let most = 2 * shares.len() as i128 - 2;
    let mut given = vec![0; shares.len()];
    let next = |place: i128| {
        // What a host lacks at this place, in units of 1 / (all * most).
        let lacks = |host: usize| most * (place * shares[host] as i128 - given[host] * all);
        // Places that it can wait until it lacks too much.
        let can_wait = |host: usize| (all * (most - 1) - lacks(host)) as f64 / shares[host] as f64;
        let lacking = (0..shares.len()).filter(|host| lacks(*host) >= all);
        let host = lacking.min_by(|a, b| can_wait(*a).total_cmp(&can_wait(*b))).unwrap_or_default();
        given[host] += 1;
        host as u32
    };
    (1..=all).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn connections_are_shared_out_by_weight_and_hosts_alternate() {
        for (weights, connections, expected) in [
            (&[1][..], 7, vec![7]),
            (&[1, 1], 10, vec![5, 5]),
            (&[1, 1], 11, vec![6, 5]),
            (&[3, 1], 8, vec![6, 2]),
            (&[1000, 1], 10, vec![9, 1]),
            (&[1000, 1, 1], 3, vec![1, 1, 1]),
            (&[1, 2, 3], 100, vec![17, 33, 50]),
        ] {
            assert_eq!(shares(weights, connections), expected, "{weights:?}");
        }
        assert_eq!(spread(&[2, 2]), [0, 1, 0, 1]);
        assert_eq!(spread(&[3, 1]), [0, 0, 1, 0]);
        assert_eq!(spread(&[1, 1, 8, 1, 1]), [2, 2, 0, 2, 2, 1, 2, 2, 3, 2, 4, 2]);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_every_thread_has_its_part_of_each_host(
            weights in proptest::collection::vec(1u64..50, 2..6),
            connections in 6usize..400,
            threads in 1usize..6,
        ) {
            let shares = shares(&weights, connections);
            prop_assert_eq!(shares.iter().sum::<usize>(), connections);
            prop_assert!(shares.iter().all(|share| *share >= 1));
            let hosts = Hosts { addresses: Vec::new(), order: spread(&shares) };
            let mut counts = vec![0; weights.len()];
            for thread in 0..threads {
                let share = Share { thread, threads, connections, group: threads };
                let own: Vec<usize> = (0..share.own()).map(|index| hosts.of(share, index, false)).collect();
                for (host, all) in shares.iter().enumerate() {
                    let here = own.iter().filter(|of| **of == host).count();
                    counts[host] += here;
                    prop_assert!((here as f64 - *all as f64 * own.len() as f64 / connections as f64).abs() < 2.0);
                }
            }
            prop_assert_eq!(counts, shares);
        }
    }
}
