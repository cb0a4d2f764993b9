//! Offered rate over time: stages, in each of which it is constant or changes in a straight line; or recorded times. The
//! number of connections of a closed loop has stages of the same form.
//!
//! Request `k` of the run is due when the integral of the rate reaches `k`, so a Poisson process of rate 1 becomes one of
//! this rate (time rescaling; Cinlar 1975). The inverse of the integral is a closed form in each stage. Recorded times are
//! those of requests 0, 1, 2, ...

use std::{sync::Arc, time::Duration};

/// A part of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Requests per second, or connections, at its start and at its end; above 0.
    pub from: f64,
    pub to: f64,
    pub length: Duration,
}

impl Stage {
    /// The mean of stages one after another: requests per second, or connections.
    pub fn mean(stages: &[Self]) -> f64 {
        let seconds = |stage: &Self| stage.length.as_secs_f64();
        let total: f64 = stages.iter().map(|stage| (stage.from + stage.to) / 2.0 * seconds(stage)).sum();
        total / stages.iter().map(seconds).sum::<f64>()
    }
}

/// A part of a stage in which the rate, or the number of connections, changes little.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Counted from the start of the window.
    pub start: Duration,
    pub end: Duration,
    /// In requests per second, or connections.
    pub mean: f64,
}

/// Steps of a stage that is not constant.
const STEPS: u32 = 10;

impl Step {
    /// The steps of stages one after another.
    pub fn of(stages: &[Stage]) -> Vec<Self> {
        let mut start = Duration::ZERO;
        let mut steps = Vec::new();
        for Stage { from, to, length } in stages {
            let count = if from == to { 1 } else { STEPS };
            steps.extend((0..count).map(|number| {
                let at = |number: u32| start + *length * number / count;
                let mean = from + (to - from) * (f64::from(number) + 0.5) / f64::from(count);
                Self { start: at(number), end: at(number + 1), mean }
            }));
            start += *length;
        }
        steps
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Profile {
    /// At least one, in order; the last has no end.
    Stages(Arc<[Segment]>),
    /// In nanoseconds, in order; no request follows them.
    Recorded(Arc<[u64]>),
}

/// When the request behind the last recorded one is due, in nanoseconds: later than any load ends.
pub(super) const NEVER_NS: f64 = (1u64 << 62) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    start_s: f64,
    /// Requests due before it.
    before: f64,
    /// Requests per second at its start, and what they gain in a second.
    rate: f64,
    slope: f64,
}

/// Half up; `round` is a library call on baseline x86-64.
#[inline]
pub(crate) fn half_up(ns: f64) -> u64 {
    (ns + 0.5) as u64
}

impl Profile {
    pub fn constant(rate: f64) -> Self {
        Self::Stages(Arc::new([Segment { start_s: 0.0, before: 0.0, rate, slope: 0.0 }]))
    }

    /// The first rate of the first stage for `warmup`, then the stages; the last rate goes on.
    pub fn staged(warmup: Duration, stages: &[Stage]) -> Self {
        let (mut start_s, mut before) = (0.0, 0.0);
        let first = stages.first().map_or(0.0, |stage| stage.from);
        let last = stages.last().map_or(0.0, |stage| stage.to);
        let ends = [(first, first, warmup), (last, last, Duration::ZERO)];
        let stages = stages.iter().map(|stage| (stage.from, stage.to, stage.length));
        let all = [ends[0]].into_iter().chain(stages).chain([ends[1]]);
        let segments = all.map(|(rate, to, length)| {
            let seconds = length.as_secs_f64();
            let slope = if seconds > 0.0 { (to - rate) / seconds } else { 0.0 };
            let segment = Segment { start_s, before, rate, slope };
            (start_s, before) = (start_s + seconds, before + (rate + to) / 2.0 * seconds);
            segment
        });
        Self::Stages(segments.collect())
    }

    /// Requests due at these times, in nanoseconds since the load began, in order.
    pub fn recorded(times: Arc<[u64]>) -> Self {
        Self::Recorded(times)
    }

    /// When request number `request` is due, in nanoseconds.
    #[inline]
    pub fn due_ns(&self, request: f64) -> f64 {
        let segments = match self {
            Self::Stages(segments) => segments,
            Self::Recorded(times) => return times.get(request as usize).map_or(NEVER_NS, |at| *at as f64),
        };
        let Segment { start_s, before, rate, slope } = segment(segments, |segment| segment.before <= request);
        let count = request - before;
        let seconds = match slope {
            0.0 => count / rate,
            // The root of rate * t + slope / 2 * t^2 = count that does not cancel.
            _ => 2.0 * count / (rate + (rate * rate + 2.0 * slope * count).max(0.0).sqrt()),
        };
        (start_s + seconds) * 1e9
    }

    /// Number of the first request that is due at or after `ns`, rounded to a nanosecond as a schedule does.
    pub fn first_from(&self, ns: u64) -> f64 {
        let is_before = |request: &f64| half_up(self.due_ns(*request)) < ns;
        // The closed form may be off by a rounding error.
        let near = (self.requests(ns as f64) - 2.0).max(0.0).floor();
        std::iter::successors(Some(near), |request| Some(request + 1.0))
            .find(|request| !is_before(request))
            .unwrap_or(near)
    }

    /// Requests due in the first `ns` nanoseconds.
    pub fn requests(&self, ns: f64) -> f64 {
        let segments = match self {
            Self::Stages(segments) => segments,
            Self::Recorded(times) => return times.partition_point(|at| (*at as f64) < ns) as f64,
        };
        let Segment { start_s, before, rate, slope } = segment(segments, |segment| segment.start_s * 1e9 <= ns);
        let seconds = ns / 1e9 - start_s;
        before + (rate + slope / 2.0 * seconds) * seconds
    }
}

/// The last segment that has begun.
#[inline]
fn segment(segments: &[Segment], has_begun: impl Fn(&Segment) -> bool) -> Segment {
    match segments {
        [only] => *only,
        all => all[all.partition_point(has_begun).saturating_sub(1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stage(from: f64, to: f64, seconds: f64) -> Stage {
        Stage { from, to, length: Duration::from_secs_f64(seconds) }
    }

    #[test]
    fn a_ramp_offers_the_mean_of_its_rates() {
        let stages = [stage(100.0, 300.0, 2.0), stage(50.0, 50.0, 4.0)];
        let profile = Profile::staged(Duration::from_secs(1), &stages);
        for (seconds, requests) in
            [(0.5, 50.0), (1.0, 100.0), (2.0, 250.0), (3.0, 500.0), (5.0, 600.0), (7.0, 700.0), (9.0, 800.0)]
        {
            assert!((profile.requests(seconds * 1e9) - requests).abs() < 1e-6, "{seconds}");
            assert!((profile.due_ns(requests) - seconds * 1e9).abs() < 1.0, "{requests}");
        }
        assert_eq!(Stage::mean(&stages), 100.0);
    }

    #[test]
    fn a_ramp_has_steps_and_a_constant_stage_is_one() {
        let steps = Step::of(&[stage(100.0, 200.0, 1.0), stage(50.0, 50.0, 4.0)]);
        assert_eq!(steps.len(), 11);
        assert_eq!((steps[0].mean, steps[9].mean, steps[10].mean), (105.0, 195.0, 50.0));
        assert_eq!((steps[10].start, steps[10].end), (Duration::from_secs(1), Duration::from_secs(5)));
        assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(Step::of(&[]), []);
    }

    proptest! {
        #[test]
        fn requests_are_due_when_the_integral_of_the_rate_reaches_them(
            stages in proptest::collection::vec((0.1f64..1e6, 0.1f64..1e6, 0.001f64..100.0), 1..8),
            warmup in 0.0f64..5.0,
            at in 0.0f64..1.0,
        ) {
            let stages: Vec<_> = stages.into_iter().map(|(from, to, seconds)| stage(from, to, seconds)).collect();
            let profile = Profile::staged(Duration::from_secs_f64(warmup), &stages);
            let end_s = warmup + stages.iter().map(|stage| stage.length.as_secs_f64()).sum::<f64>();
            let ns = at * (end_s + 1.0) * 1e9;
            let requests = profile.requests(ns);
            let due = profile.due_ns(requests);
            prop_assert!((due - ns).abs() < 100.0 + ns * 1e-9, "{due} {ns}");
            prop_assert!(profile.due_ns(requests + 1.0) >= due);
        }
    }
}
