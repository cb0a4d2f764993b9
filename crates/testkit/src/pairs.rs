//! A measure beside its control, in pairs taken one after the other, so that whatever the machine does meets both.

use std::fmt::Display;

/// With fewer pairs no difference is significant.
const LEAST_PAIRS: u32 = 5;
/// A difference counts if it is less likely than this without a cause.
const LEVEL: f64 = 0.05;

/// Takes `pairs` pairs of a measure and its control. An error, which lists them, if the measure exceeds `factor` times the
/// control so often that chance does not explain it: in all of five pairs, in twelve of fifteen.
///
/// It belongs into [`judge`](crate::judge), which tells a difference from a disturbance.
pub fn at_most(pairs: u32, factor: f64, mut pair: impl FnMut() -> (f64, f64)) -> Result<(), String> {
    assert!(pairs >= LEAST_PAIRS, "{pairs} pairs show nothing");
    let all: Vec<(f64, f64)> = (0..pairs).map(|_| pair()).collect();
    let ratios = all.iter().map(|(measure, control)| format!("{:.3}", measure / control)).collect::<Vec<_>>();
    println!("measure in terms of its control: {}", ratios.join(" "));
    let above = all.iter().filter(|(measure, control)| *measure > factor * control).count();
    match is_significant(above as u32, pairs) {
        true => Err(format!("more than {factor} times the control in {above} of {pairs} pairs: {}", list(&all))),
        false => Ok(()),
    }
}

fn list(pairs: &[(impl Display, impl Display)]) -> String {
    pairs.iter().map(|(measure, control)| format!("{measure:.6}/{control:.6}")).collect::<Vec<_>>().join(" ")
}

/// The sign test, one-sided: whether so many of all are unlikely if each is as likely as not.
fn is_significant(above: u32, all: u32) -> bool {
    let ways = |chosen: u32| (0..chosen).fold(1.0, |ways, at| ways * f64::from(all - at) / f64::from(at + 1));
    (above..=all).map(ways).sum::<f64>() / 2_f64.powi(all as i32) < LEVEL
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_of_five_is_enough_and_three_of_fifteen_are_not() {
        let least = |all: u32| (0..=all).find(|above| is_significant(*above, all));
        // Tables of the sign test at 5 %: Dixon and Mood, "The statistical sign test", 1946.
        assert_eq!(
            [4, 5, 6, 7, 8, 9, 10, 15, 20].map(least),
            [None, Some(5), Some(6), Some(7), Some(7), Some(8), Some(9), Some(12), Some(15)]
        );
    }

    proptest! {
        #[test]
        fn the_tail_is_that_of_all_outcomes(all in 0..12_u32, above in 0..12_u32) {
            let outcomes = (0..1_u32 << all).filter(|signs| signs.count_ones() >= above).count();
            prop_assert_eq!(is_significant(above, all), (outcomes as f64) < 0.05 * f64::from(1_u32 << all));
        }

        #[test]
        fn pairs_are_judged_by_their_ratio_and_not_by_the_machines_speed(
            ratios in proptest::collection::vec((0.1..4.0_f64, 0.001..1000.0_f64), 5..20),
        ) {
            let mut taken = ratios.iter().map(|(ratio, speed)| (ratio * speed, *speed));
            let found = at_most(ratios.len() as u32, 2.0, || taken.next().unwrap());
            let above = ratios.iter().filter(|(ratio, speed)| ratio * speed > 2.0 * speed).count() as u32;
            prop_assert_eq!(found.is_err(), is_significant(above, ratios.len() as u32));
        }
    }
}
