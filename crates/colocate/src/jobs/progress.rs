//! Progress of an attempt: the figure that it prints, or its CPU time, and how fast it grows.

use crate::queue::{Pattern, Progress, Source};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The rate is over this time.
const WINDOW: Duration = Duration::from_secs(5);
/// Shortest time that gives a rate.
const SHORTEST: Duration = Duration::from_millis(500);
/// Bytes kept of a line, its last ones.
const LINE: usize = 4 << 10;
/// Lines searched after each read, the last ones: a job that prints much costs no more than that.
const SEARCHED: usize = 64;

/// Output that has not been searched.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: Vec<u8>,
}

impl Lines {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Ends a last line without a line feed.
    pub(super) fn end(&mut self) {
        self.text.push(b'\n');
    }

    /// The figure of the last complete line that has one; a carriage return ends a line too. Searched lines are dropped.
    pub(super) fn figure(&mut self, pattern: &Pattern) -> Option<f64> {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let complete = self.text.iter().rposition(is_end).map_or(0, |last| last + 1);
        let lines = self.text[..complete].rsplit(is_end).filter(|line| !line.is_empty()).take(SEARCHED);
        let figure = lines.map(|line| String::from_utf8_lossy(last_part(line))).find_map(|line| pattern.figure(&line));
        self.text.drain(..complete);
        let excess = self.text.len().saturating_sub(LINE);
        self.text.drain(..excess);
        figure
    }
}

fn last_part(line: &[u8]) -> &[u8] {
    &line[line.len().saturating_sub(LINE)..]
}

/// Figures over time.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    printed: Option<f64>,
    latest: Option<(f64, Source)>,
    samples: VecDeque<(Instant, f64)>,
}

impl Tracker {
    pub(super) fn print(&mut self, figure: Option<f64>) {
        self.printed = figure.or(self.printed);
    }

    /// Takes a sample: of the printed figure if there is one, else of the CPU time.
    pub(super) fn sample(&mut self, now: Instant, cpu_seconds: Option<f64>) {
        let printed = self.printed.map(|figure| (figure, Source::Output));
        let sample = printed.or(cpu_seconds.map(|cpu| (cpu, Source::CpuTime)));
        if sample.map(|(_, source)| source) != self.latest.map(|(_, source)| source) {
            self.samples.clear();
        }
        self.latest = sample;
        self.samples.extend(sample.map(|(figure, _)| (now, figure)));
        // The oldest sample is the last one from before the window.
        while self.samples.get(1).is_some_and(|(time, _)| now.duration_since(*time) >= WINDOW) {
            self.samples.pop_front();
        }
    }

    pub(super) fn progress(&self) -> Option<Progress> {
        let (value, source) = self.latest?;
        let rate = self.samples.front().zip(self.samples.back()).and_then(|((began, from), (ended, to))| {
            let time = ended.duration_since(*began);
            // A figure that falls has no rate: the job counts something else by now.
            (time >= SHORTEST && to >= from).then(|| (to - from) / time.as_secs_f64())
        });
        Some(Progress { value, rate, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_figure_counts_and_lines_may_arrive_in_parts() {
        let pattern: Pattern = r"n=(\d+)".parse().unwrap();
        let mut lines = Lines::default();
        let mut after = |text: &str| {
            lines.add(text.as_bytes());
            lines.figure(&pattern)
        };
        assert_eq!(after("n=1\nn=2\rother\nn="), Some(2.0));
        assert_eq!(after("3"), None);
        assert_eq!(after("4\n"), Some(34.0));
        assert_eq!(after(&format!("{}n=5\n", "x".repeat(3 * LINE))), Some(5.0));
        assert_eq!(after(&"x".repeat(3 * LINE)), None);
        assert_eq!(after(" n=6\n"), Some(6.0));
        assert!(lines.text.is_empty());
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds_and_of_one_source() {
        let (start, mut tracker) = (crate::clock::now(), Tracker::default());
        let mut at = |seconds: u64, printed: Option<f64>, cpu: f64| {
            tracker.print(printed);
            tracker.sample(start + Duration::from_secs(seconds), Some(cpu));
            tracker.progress().unwrap()
        };
        let progress = |value, rate, source| Progress { value, rate, source };
        assert_eq!(at(0, None, 0.0), progress(0.0, None, Source::CpuTime));
        assert_eq!(at(1, None, 0.5), progress(0.5, Some(0.5), Source::CpuTime));
        assert_eq!(at(2, Some(100.0), 1.0), progress(100.0, None, Source::Output));
        assert_eq!(at(3, Some(300.0), 1.5), progress(300.0, Some(200.0), Source::Output));
        // Nothing new is printed.
        assert_eq!(at(4, None, 2.0), progress(300.0, Some(100.0), Source::Output));
        assert_eq!(at(20, Some(800.0), 2.0).rate, Some(500.0 / 16.0));
        assert_eq!(at(21, Some(900.0), 2.0).rate, Some(600.0 / 17.0));
        assert_eq!(at(25, Some(1000.0), 2.0).rate, Some(40.0));
        assert_eq!(at(26, Some(5.0), 2.0), progress(5.0, None, Source::Output));
    }
}
