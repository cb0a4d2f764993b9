//! Which of several connections takes the next request.

use crate::schedule::Share;
use brunt_spec::Spread;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// The order in which connections of a list take requests.
#[derive(Debug)]
pub enum Order {
    /// As they were listed.
    Turns,
    Random {
        random: Xoshiro256PlusPlus,
        /// By connection: whether it is listed as idle. One that was lost and is open again is not listed twice, so that all are
        /// drawn with the same probability.
        is_listed: Vec<bool>,
    },
}

impl Order {
    pub fn new(spread: Spread, seed: u64, share: Share) -> Self {
        match spread {
            Spread::Turns => Self::Turns,
            Spread::Random => Self::Random { random: source(seed, share), is_listed: vec![false; share.own()] },
        }
    }

    /// Begins the choices that follow from `seed`.
    pub fn restart(&mut self, seed: u64, share: Share) {
        if let Self::Random { random, .. } = self {
            *random = source(seed, share);
        }
    }

    /// A connection becomes idle.
    #[inline]
    pub fn list_idle(&mut self, idle: &mut VecDeque<u32>, index: u32) {
        let is_listed = match self {
            Self::Turns => false,
            Self::Random { is_listed, .. } => std::mem::replace(&mut is_listed[index as usize], true),
        };
        if !is_listed {
            idle.push_back(index);
        }
    }

    /// Takes a connection from the list of idle ones; it may be lost.
    #[inline]
    pub fn take_idle(&mut self, idle: &mut VecDeque<u32>) -> Option<u32> {
        let index = self.take(idle)?;
        if let Self::Random { is_listed, .. } = self {
            is_listed[index as usize] = false;
        }
        Some(index)
    }

    #[inline]
    pub fn take(&mut self, list: &mut VecDeque<u32>) -> Option<u32> {
        match self {
            Self::Turns => list.pop_front(),
            Self::Random { random, .. } => {
                let at = ((random.next_u64() >> 32) * list.len() as u64) >> 32;
                list.swap_remove_back(at as usize)
            }
        }
    }
}

/// A stream of its own for each thread, none of which a schedule uses: those are 2^128 draws apart, these begin 2^192 later.
fn source(seed: u64, share: Share) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    random.long_jump();
    (0..share.thread).for_each(|_| random.jump());
    random
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share { thread: 0, threads: 1, connections: 8, group: 1 };

    /// Which connections take 8000 requests, each of which is answered at once.
    fn choices(order: &mut Order) -> Vec<u32> {
        let mut idle = VecDeque::new();
        (0..8).for_each(|index| order.list_idle(&mut idle, index));
        let mut next = || {
            let index = order.take_idle(&mut idle).unwrap();
            order.list_idle(&mut idle, index);
            index
        };
        (0..8000).map(|_| next()).collect()
    }

    #[test]
    fn turns_are_even_and_random_choices_follow_from_seed_and_thread() {
        let of = |spread, seed, thread| choices(&mut Order::new(spread, seed, Share { thread, ..SHARE }));
        assert_eq!(of(Spread::Turns, 1, 0), (0..8000).map(|number| number % 8).collect::<Vec<_>>());
        let random = of(Spread::Random, 1, 0);
        assert_eq!(random, of(Spread::Random, 1, 0));
        assert!(random != of(Spread::Random, 2, 0) && random != of(Spread::Random, 1, 1));
        let mut order = Order::new(Spread::Random, 9, SHARE);
        order.restart(1, SHARE);
        assert_eq!(random, choices(&mut order));
        // Chi-square of 7 degrees of freedom is below 24.3 in 999 of 1000; the seed is fixed.
        let counts: Vec<f64> =
            (0..8).map(|index| random.iter().filter(|chosen| **chosen == index).count() as f64).collect();
        let chi_square: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 24.3, "{counts:?}");
    }

    #[test]
    fn a_connection_that_was_lost_and_is_back_is_listed_once() {
        let mut order = Order::new(Spread::Random, 1, SHARE);
        let mut idle = VecDeque::new();
        (0..3).for_each(|_| order.list_idle(&mut idle, 5));
        assert_eq!((order.take_idle(&mut idle), order.take_idle(&mut idle)), (Some(5), None));
    }
}
