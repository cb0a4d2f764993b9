//! What the samples of one rate say together: the SLO holds there, breaks there, or neither is certain. Pure.

use super::bounds::{Bound, Sample};
use brunt_statistics::student::two_sided;

/// Confidence of each answer; an answer is wrong on its side with half of the rest.
pub const CONFIDENCE: f64 = 0.98;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Holds,
    Unclear,
    Breaks,
}

/// The answer of these samples of one rate.
pub fn standing(bounds: &[Bound], samples: &[&Sample]) -> Standing {
    let each = bounds.iter().enumerate().map(|(index, bound)| {
        let parts = samples.iter().map(|sample| sample.parts[index]);
        let excess: Vec<f64> = parts.map(|part| part.over - bound.limit * part.of).collect();
        if bound.is_rare { rare(bound, samples, index) } else { on_average(&excess) }
    });
    each.max().unwrap_or(Standing::Unclear)
}

/// By the total of rare events.
fn rare(bound: &Bound, samples: &[&Sample], index: usize) -> Standing {
    let over = || samples.iter().map(|sample| sample.parts[index].over);
    match () {
        () if over().sum::<f64>() <= bound.limit => Standing::Holds,
        () if over().filter(|over| *over > 0.0).count() > 1 => Standing::Breaks,
        () => Standing::Unclear,
    }
}

/// By the mean excess (Student's test): samples are alternated with those of other rates in random order, so that
/// they do not depend on each other.
fn on_average(excess: &[f64]) -> Standing {
    let n = excess.len() as f64;
    if excess.len() < 2 {
        return Standing::Unclear;
    }
    let mean = excess.iter().sum::<f64>() / n;
    let variance = excess.iter().map(|excess| (excess - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let is_certain = variance == 0.0 || two_sided(mean / (variance / n).sqrt(), n - 1.0) <= 1.0 - CONFIDENCE;
    match is_certain {
        true if mean <= 0.0 => Standing::Holds,
        true => Standing::Breaks,
        false => Standing::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::{Part, run};
    use super::*;

    fn of(bound: Bound, over: &[f64]) -> Standing {
        let of = |over: &f64| Sample { parts: vec![Part { over: *over, of: 100.0 }], ..run(1.0, 1.0, true) };
        let samples: Vec<Sample> = over.iter().map(of).collect();
        standing(&[bound], &samples.iter().collect::<Vec<_>>())
    }

    #[test]
    fn certain_answers_need_agreeing_samples() {
        let share = Bound { limit: 0.01, in_one: 0.01, slack: 0.0, is_rare: false };
        assert_eq!(of(share, &[0.0, 0.0, 0.0]), Standing::Holds);
        assert_eq!(of(share, &[0.0]), Standing::Unclear);
        assert_eq!(of(share, &[5.0, 4.0, 6.0, 5.0]), Standing::Breaks);
        // One bad moment makes no certainty.
        assert_eq!(of(share, &[0.0, 0.0, 0.0, 0.0, 9.0]), Standing::Unclear);
        assert_eq!(of(share, &[vec![0.0; 200], vec![9.0]].concat()), Standing::Holds);
        let none = Bound { limit: 0.0, in_one: 0.0, slack: 0.0, is_rare: true };
        assert_eq!(of(none, &[0.0, 0.0]), Standing::Holds);
        assert_eq!(of(none, &[0.0, 3.0]), Standing::Unclear);
        assert_eq!(of(none, &[1.0, 3.0]), Standing::Breaks);
    }
}
