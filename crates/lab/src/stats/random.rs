//! Uniform random integers.

use rand_xoshiro::rand_core::Rng;

/// A number below `bound`, every one equally likely: draws from the uneven rest at the top are thrown away.
pub(crate) fn below(bound: u64, random: &mut impl Rng) -> u64 {
    let even = u64::MAX - u64::MAX % bound;
    loop {
        let draw = random.next_u64();
        if draw < even {
            return draw % bound;
        }
    }
}
