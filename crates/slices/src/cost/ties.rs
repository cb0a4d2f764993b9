//! Which targets can be told apart. Two are compared by the slices of the same rounds and rates, so that a slow spell of the machine
//! hits both: by the mean over rates of the logarithm of their ratio, and by its difference between the highest and the lowest
//! rate, which shows curves that cross. p values are adjusted for all of these (Holm 1979).

use super::record::CostSlice;
use super::rounds::Rounds;
use brunt_statistics::hodges_lehmann::estimate;
use brunt_statistics::ratio::holm;
use brunt_statistics::student::{mean, two_sided};

/// Targets are different below this adjusted p value.
const LEVEL: f64 = 0.05;
/// A smaller logarithm is one of equal costs that were rounded.
const ROUNDING: f64 = 1e-6;

/// Groups of targets, the cheapest first. No target of a group can be told from the cheapest one of it. `held` are the targets
/// with their rates that count; those without any are in no group.
pub(super) fn groups(rounds: &Rounds, held: &[(&str, Vec<f64>)]) -> Vec<Vec<String>> {
    let held: Vec<&(&str, Vec<f64>)> = held.iter().filter(|(_, rates)| !rates.is_empty()).collect();
    let pairs: Vec<(usize, usize)> =
        (0..held.len()).flat_map(|one| (one + 1..held.len()).map(move |other| (one, other))).collect();
    let compared: Vec<Pair> = pairs.iter().map(|(one, other)| Pair::of(rounds, held[*one], held[*other])).collect();
    let adjusted = holm(&compared.iter().flat_map(|pair| pair.p).collect::<Vec<f64>>());
    let differ = |one: usize, other: usize| {
        let wanted = (one.min(other), one.max(other));
        let pair = pairs.iter().position(|pair| *pair == wanted);
        pair.is_some_and(|pair| adjusted[2 * pair..2 * pair + 2].iter().any(|p| *p <= LEVEL))
    };
    // By how much each is above the mean of all.
    let mut level = vec![0.0; held.len()];
    for ((one, other), pair) in pairs.iter().zip(&compared) {
        level[*one] -= pair.level / 2.0;
        level[*other] += pair.level / 2.0;
    }
    let mut left: Vec<usize> = (0..held.len()).collect();
    left.sort_by(|a, b| level[*a].total_cmp(&level[*b]));
    let mut groups = Vec::new();
    while let Some(first) = left.first().copied() {
        let (tied, others) = left.into_iter().partition(|one| *one == first || !differ(first, *one));
        let tied: Vec<usize> = tied;
        groups.push(tied.into_iter().map(|index| held[index].0.to_owned()).collect());
        left = others;
    }
    groups
}

/// Two targets at the rates that both hold.
struct Pair {
    /// Logarithm of the ratio of the second to the first, over all rates; 0 without a common rate.
    level: f64,
    /// Of the level, and of its change over the rates.
    p: [f64; 2],
}

impl Pair {
    fn of(rounds: &Rounds, one: &(&str, Vec<f64>), other: &(&str, Vec<f64>)) -> Self {
        let rates: Vec<f64> = one.1.iter().copied().filter(|rate| other.1.contains(rate)).collect();
        let ln = |slice: &CostSlice| slice.slice.cpu_us_per_request().map(f64::ln).filter(|ln| ln.is_finite());
        let differences = |rate: &f64| -> Vec<Option<f64>> {
            let (one, other) = (rounds.of_point(one.0, *rate), rounds.of_point(other.0, *rate));
            one.iter().zip(&other).map(|(one, other)| Some(other.mean(ln)? - one.mean(ln)?)).collect()
        };
        let by_rate: Vec<Vec<Option<f64>>> = rates.iter().map(differences).collect();
        let complete: Vec<Vec<f64>> = (0..rounds.count())
            .filter_map(|round| by_rate.iter().map(|of| of[round]).collect::<Option<Vec<f64>>>())
            .filter(|row| !row.is_empty())
            .collect();
        let means: Vec<f64> = complete.iter().map(|row| row.iter().sum::<f64>() / row.len() as f64).collect();
        let changes: Vec<f64> = complete.iter().map(|row| row[row.len() - 1] - row[0]).collect();
        Self { level: estimate(&means).unwrap_or(0.0), p: [p(&means), p(&changes)] }
    }
}

/// Two-sided p value of Student's paired test that the mean is 0. A test by ranks cannot reach the level with few rounds and many
/// pairs: its least p value with eight is 0.008 before it is adjusted.
fn p(values: &[f64]) -> f64 {
    // A mean of next to nothing is one of equal costs.
    let Some((mean, square)) = mean(values).filter(|(mean, _)| mean.abs() > ROUNDING) else { return 1.0 };
    two_sided(mean / square.sqrt().max(ROUNDING * ROUNDING), values.len() as f64 - 1.0)
}
