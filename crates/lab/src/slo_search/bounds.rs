//! An SLO as bounds on sums, so that evidence adds up over slices: `p99<6ms` is "of the requests, at most 1 % took 6 ms or
//! longer". Pure.

use brunt_results::latency::{MAX_LATENCY_NS, share_beyond};
use brunt_results::{Slo, Threshold};
use brunt_slices::Slice;

/// Share of the offered requests that a rate may leave unanswered at the end of each slice.
pub const LEFT: f64 = 0.01;
/// The same for a single slice, of which the end is a larger part.
const LEFT_IN_ONE: f64 = 0.05;

/// A bound: the sum of [`Part::over`] must not exceed `limit` times the sum of [`Part::of`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    pub limit: f64,
    /// The limit of a single sample.
    pub in_one: f64,
    /// What chance adds to a single sample, in square roots of [`Part::of`].
    pub slack: f64,
    /// Whether few of them decide, such as failed requests of which none is allowed: a single sample is not evidence.
    pub is_rare: bool,
}

/// What a sample contributes to a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    pub over: f64,
    pub of: f64,
}

/// One load at one rate: a slice, or a whole run of a tester.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub rate: f64,
    /// Length of the measured window, in seconds.
    pub measured_s: f64,
    /// Whether the machine took so much time that it does not count, nor the other samples of its round.
    pub is_void: bool,
    /// One for each bound.
    pub parts: Vec<Part>,
}

impl Sample {
    /// Whether it violates a bound by itself.
    pub fn violates(&self, bounds: &[Bound]) -> bool {
        bounds
            .iter()
            .zip(&self.parts)
            .any(|(bound, part)| part.over > bound.in_one * part.of + bound.slack * part.of.sqrt())
    }
}

fn share(limit: f64) -> Bound {
    Bound { limit, in_one: limit, slack: 0.0, is_rare: false }
}

const LONGEST_NS: f64 = MAX_LATENCY_NS as f64;

const NONE: Bound = Bound { limit: 0.0, in_one: 0.0, slack: 0.0, is_rare: true };

/// Whether the SLO says how many requests may fail.
fn limits_failures(slo: &Slo) -> bool {
    slo.conditions().iter().any(Threshold::counts_failures)
}

/// The bounds of slices: that the rate is reached, that no request fails unless the SLO allows it, and the SLO's own.
pub fn bounds(slo: &Slo) -> Vec<Bound> {
    let own = slo.conditions().iter().map(|condition| match condition.figure.as_str() {
        "mean" | "cost" => share(condition.bound),
        "rate" => share(-condition.bound),
        "errors" => share(condition.bound / 100.0),
        "failed" => Bound { is_rare: true, ..share(condition.bound) },
        figure => share_beyond(figure).map_or(NONE, share),
    });
    let failures = (!limits_failures(slo)).then_some(NONE);
    let left = Bound { limit: LEFT, in_one: LEFT_IN_ONE, slack: 3.0, is_rare: false };
    std::iter::once(left).chain(failures).chain(own).collect()
}

/// What a slice contributes to each bound; the error names a figure that it does not have.
pub fn parts(slo: &Slo, slice: &Slice) -> Result<Vec<Part>, String> {
    let response = slice.response()?;
    let censored = slice.censored()?.map_or(0, |waits| waits.len()) as f64;
    let answered = response.len() as f64;
    let due = answered + censored;
    let failed = slice.errors.total().max(slice.failed) as f64;
    // One request may be under way at the end.
    let left = Part { over: (due - slice.completed as f64).max(-due) - 1.0, of: due };
    let own = |condition: &Threshold| {
        Ok(match condition.figure.as_str() {
            // A request without a complete reply is above every limit.
            "mean" => Part { over: (response.mean() * answered + LONGEST_NS * censored) / 1e3, of: due },
            "cost" => {
                let cpu = slice.server_cpu_us.ok_or_else(|| format!("{condition}: the target is not metered"))?;
                Part { over: cpu, of: slice.replies as f64 }
            }
            "rate" => Part { over: -(slice.completed as f64), of: slice.window_us as f64 / 1e6 },
            "errors" => Part { over: failed, of: failed + slice.replies as f64 },
            "failed" => Part { over: failed, of: 1.0 },
            figure if figure != "max" && condition.percentile().is_none() => {
                return Err(format!("{condition}: slices do not have it"));
            }
            _ => {
                let late = response.count_between((condition.bound * 1e3).max(0.0) as u64, u64::MAX);
                Part { over: late as f64 + censored, of: due }
            }
        })
    };
    let failures = (!limits_failures(slo)).then_some(Ok(Part { over: failed, of: 1.0 }));
    std::iter::once(Ok(left)).chain(failures).chain(slo.conditions().iter().map(own)).collect()
}

/// The bound of whole runs, of which a tester tells only whether the SLO held: it holds in most of them.
pub const RUNS: Bound = Bound { limit: 0.5, in_one: 0.5, slack: 0.0, is_rare: false };

/// A sample that tells only whether the SLO held.
pub fn run(rate: f64, measured_s: f64, holds: bool) -> Sample {
    let over = if holds { 0.0 } else { 1.0 };
    Sample { rate, measured_s, is_void: false, parts: vec![Part { over, of: 1.0 }] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::hlog::encode;
    use brunt_results::latency::new_histogram;

    /// A slice of 0.1 s with 1,000 requests due, of which `late` took 10 ms and the others 1 ms.
    fn slice(late: u64, failed: u64, unanswered: u64) -> Slice {
        let mut response = new_histogram();
        response.record_n(1_000_000, 1000 - late).unwrap();
        response.record_n(10_000_000, late).unwrap();
        Slice {
            completed: 1000 - unanswered,
            replies: 1000,
            failed,
            window_us: 100_000,
            server_cpu_us: Some(5_000.0),
            response: encode(&response),
            ..Slice::default()
        }
    }

    #[test]
    fn a_slice_violates_what_its_sums_exceed() {
        let violates = |slo: &str, slice: &Slice| {
            let slo: Slo = slo.parse().unwrap();
            let parts = parts(&slo, slice).unwrap();
            Sample { rate: 1.0, measured_s: 0.1, is_void: false, parts }.violates(&bounds(&slo))
        };
        for (slo, good, bad) in [
            ("p99<6ms", (10, 0), (11, 0)),
            ("p50<6ms", (500, 0), (501, 0)),
            ("max<6ms", (0, 0), (1, 0)),
            ("max<20ms", (900, 0), (0, 1)),
            ("mean<2ms", (100, 0), (120, 0)),
            ("p99<6ms,errors<1%", (0, 5), (0, 20)),
            ("p99<6ms,failed<5", (0, 5), (0, 6)),
        ] {
            assert!(!violates(slo, &slice(good.0, good.1, 0)), "{slo}");
            assert!(violates(slo, &slice(bad.0, bad.1, 0)), "{slo}");
        }
        assert!(violates("p50<9s", &slice(0, 0, 200)) && !violates("p50<9s", &slice(0, 0, 100)));
        assert!(violates("rate>11k", &slice(0, 0, 0)) && !violates("rate>9k", &slice(0, 0, 0)));
        assert!(violates("cost<4us", &slice(0, 0, 0)) && !violates("cost<6us", &slice(0, 0, 0)));
        let unmetered = Slice { server_cpu_us: None, ..slice(0, 0, 0) };
        let error = parts(&"cost<4us".parse().unwrap(), &unmetered).unwrap_err();
        assert_eq!(error, "cost<4us: the target is not metered");
    }
}
