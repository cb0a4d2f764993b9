//! Time that the machine takes from all processes: pauses, seen by a thread that sleeps and wakes too late, and steal.
//!
//! What is slow then is not the doing of BE jobs: waiting for a core that others have is not in it.

use super::signal::{Capability, Signal};
use crate::readings::Reading;
use brunt_meter::host::HostCpu;
use brunt_meter::slice::Gaps;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Pauses of this long count: requests that were delayed by one end within that time.
const PAUSES: Duration = Duration::from_millis(200);

/// Of the thread that looks for pauses: it misses up to that much of each.
const SLEEP: Duration = Duration::from_millis(10);

/// Steal is accounted in ticks of 10 ms.
const STEAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Lost {
    gaps: Gaps,
    /// Pauses since the begin, newest last.
    paused: VecDeque<(Instant, Duration)>,
    host: VecDeque<(Instant, HostCpu)>,
    mean: Mean,
}

/// The sum of what each second lost: the one of both that lost more, as one pause shows in both.
#[derive(Debug, Default)]
struct Mean {
    begin: Option<(Instant, Duration)>,
    lost: f64,
    seconds: f64,
}

impl Lost {
    /// Watches the cores that the thread `beside` may use.
    pub(super) fn watch(beside: Option<u32>) -> Self {
        Self { gaps: Gaps::watch(beside, SLEEP), paused: VecDeque::new(), host: VecDeque::new(), mean: Mean::default() }
    }

    /// Pauses, in every tick.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.gaps.is_watching() {
            push(&mut self.paused, now, self.gaps.read(), PAUSES);
        }
    }

    /// Steal, less often.
    pub(super) fn sample(&mut self, now: Instant, host: Option<HostCpu>) {
        if let Some(host) = host {
            push(&mut self.host, now, host, STEAL);
        }
        let paused = self.gaps.read();
        let (begin, before) = *self.mean.begin.get_or_insert((now, paused));
        let seconds = now.saturating_duration_since(begin).as_secs_f64();
        if seconds >= STEAL.as_secs_f64() {
            let stolen = self.stolen().unwrap_or(0.0) * seconds;
            self.mean.lost += stolen.max((paused - before).as_secs_f64().min(seconds));
            self.mean.seconds += seconds;
            self.mean.begin = Some((now, paused));
        }
    }

    /// Of the last 0.2 s, or steal of the last second, whichever is more.
    pub(super) fn reading(&self, now: Instant) -> Option<Reading<f64>> {
        let share = [paused(&self.paused), self.stolen()].into_iter().flatten().reduce(f64::max)?;
        let end = self.paused.back().map(|(end, _)| *end).max(self.host.back().map(|(end, _)| *end))?;
        Some(Reading::until(end, share, now))
    }

    pub(super) fn begin_mean(&mut self) {
        self.mean = Mean::default();
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.mean.seconds > 0.0 && self.sees()).then(|| self.mean.lost / self.mean.seconds)
    }

    fn sees(&self) -> bool {
        self.gaps.is_watching() || !self.host.is_empty()
    }

    pub(super) fn capability(&self) -> Capability {
        let blind = "what a slow machine does is taken for the doing of BE jobs: they get less";
        let name = Signal::LostTime;
        match (self.gaps.is_watching(), self.host.is_empty()) {
            (true, false) => Capability::available(name, "a thread that wakes every 10 ms, and steal in /proc/stat"),
            (true, true) => Capability::available(name, "a thread that wakes every 10 ms"),
            (false, false) => {
                Capability::available(name, "steal in /proc/stat").but("pauses that are no steal are not seen")
            }
            (false, true) => Capability::missing(name, "neither schedstat nor /proc/stat can be read", blind),
        }
    }

    fn stolen(&self) -> Option<f64> {
        let ((_, first), (_, last)) = (self.host.front()?, self.host.back()?);
        last.steal_percent_since(first).map(|percent| percent / 100.0)
    }
}

/// Share of the time that pauses took.
fn paused(series: &VecDeque<(Instant, Duration)>) -> Option<f64> {
    let ((begin, before), (end, paused)) = (series.front()?, series.back()?);
    let seconds = end.saturating_duration_since(*begin).as_secs_f64();
    (seconds > 0.0).then(|| ((*paused - *before).as_secs_f64() / seconds).min(1.0))
}

/// Adds to a series of at least this length, as far as it goes back.
fn push<T>(series: &mut VecDeque<(Instant, T)>, now: Instant, value: T, length: Duration) {
    series.push_back((now, value));
    while series.get(1).is_some_and(|(second, _)| now.saturating_duration_since(*second) >= length) {
        series.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_for_as_long_as_what_it_delayed() {
        let (mut series, begin) = (VecDeque::new(), crate::clock::now());
        let mut shares = Vec::new();
        for tick in 0..50_u64 {
            // 10 ms of the eleventh tick.
            let paused = Duration::from_millis(if tick > 10 { 10 } else { 0 });
            push(&mut series, begin + Duration::from_millis(20 * tick), paused, PAUSES);
            shares.push(super::paused(&series).unwrap_or(0.0));
        }
        for (tick, share) in shares.into_iter().enumerate() {
            let expected = if (11..=20).contains(&tick) { 0.05 } else { 0.0 };
            assert!((share - expected).abs() < 1e-9, "tick {tick}: {share}");
        }
    }
}
