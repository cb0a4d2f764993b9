//! Buckets of times for programs that add histograms: the same bounds for all, preferred numbers (ISO 3, R10) in steps of a
//! quarter.

use hdrhistogram::Histogram;

/// Bounds within a decade.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
/// The first bound is 1 us; eight decades reach 100 s.
const FIRST_NS: u64 = 1_000;
const DECADES: u32 = 8;
/// Number of buckets, that of the times above all bounds included.
pub const COUNT: usize = STEPS.len() * DECADES as usize + 2;

/// The bounds in ascending order; a time that equals one lies below it.
pub fn bounds_ns() -> impl Iterator<Item = u64> {
    let within = |decade: u32| STEPS.map(|step| FIRST_NS * 10u64.pow(decade) / 100 * step);
    (0..DECADES).flat_map(within).chain([FIRST_NS * 10u64.pow(DECADES)])
}

/// The number of times in each bucket. A cell of the histogram that a bound divides counts below it.
pub fn counts(times: &Histogram<u64>) -> [u64; COUNT] {
    let mut counts = [0; COUNT];
    let mut bounds = bounds_ns().peekable();
    let mut bucket = 0;
    for cell in times.iter_recorded() {
        let lowest = times.lowest_equivalent(cell.value_iterated_to());
        while bounds.next_if(|bound| *bound < lowest).is_some() {
            bucket += 1;
        }
        counts[bucket] += cell.count_at_value();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::new_histogram;
    use proptest::prelude::*;

    #[test]
    fn bounds_rise_by_a_quarter_from_a_microsecond_to_a_hundred_seconds() {
        let all: Vec<u64> = bounds_ns().collect();
        assert_eq!((all[0], all[1], all[10], all[80]), (1_000, 1_250, 10_000, 100_000_000_000));
        assert_eq!(all.len(), COUNT - 1);
        for pair in all.windows(2) {
            let step = pair[1] as f64 / pair[0] as f64;
            assert!((1.2..1.3).contains(&step), "{pair:?}");
        }
    }

    #[test]
    fn a_bucket_holds_its_bound() {
        let mut times = new_histogram();
        [999u64, 1_000, 1_001, 2_000].iter().for_each(|nanos| times.record(*nanos).unwrap());
        assert_eq!(counts(&times)[..3], [2, 1, 0]);
        assert_eq!([1_000, 1_999, 10_000].map(|bound| times.count_between(0, bound)), [2, 3, 4]);
    }

    proptest! {
        #[test]
        fn buckets_add_up_to_what_lies_below_each_bound(values in proptest::collection::vec(1u64..200_000_000_000, 0..200)) {
            let mut times = new_histogram();
            values.iter().for_each(|value| times.record(*value).unwrap());
            let mut below = 0;
            for (count, bound) in counts(&times).into_iter().zip(bounds_ns()) {
                below += count;
                prop_assert_eq!(below, if times.is_empty() { 0 } else { times.count_between(0, bound) });
            }
            prop_assert_eq!(counts(&times).iter().sum::<u64>(), times.len());
        }
    }
}
