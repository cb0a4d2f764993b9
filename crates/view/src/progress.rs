//! Progress of a load on stderr: every second on a terminal, every five seconds elsewhere.

use crate::format;
use crate::status_line::StatusLine;
use brunt_results::series::Line;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// Seconds between two lines without a terminal.
const PLAIN_EVERY: f64 = 5.0;

#[derive(Debug)]
pub struct Progress {
    line: StatusLine,
    describer: Describer,
    started: Instant,
    /// Time of the next permanent line: since the start while connecting, in seconds of the run after that.
    next_line_s: f64,
}

impl Progress {
    /// Prints `announcement`. `total` is the length of the load, if a time ends it; the warm-up lasts `warmup` at most.
    pub fn new(announcement: &str, total: Option<Duration>, warmup: Duration, quiet: bool) -> Self {
        let line = StatusLine::new(quiet);
        line.print(announcement);
        Self { line, describer: Describer::new(total, warmup), started: Instant::now(), next_line_s: PLAIN_EVERY }
    }

    pub fn connecting(&mut self, opened: u64, of: u64) {
        let since_s = self.started.elapsed().as_secs_f64();
        let text = format!("{since_s:>4.1} s  {opened} of {} opened", format::plural(of, "connection"));
        self.show(text, since_s);
    }

    pub fn second(&mut self, second: &Line) {
        if self.describer.last_s == 0.0 {
            self.next_line_s = PLAIN_EVERY;
        }
        let text = self.describer.describe(second);
        self.show(text, second.at_s + 0.5);
    }

    pub fn is_quiet(&self) -> bool {
        self.line.is_quiet()
    }

    /// Prints a line above the progress.
    pub fn line(&self, text: &str) {
        self.line.print(text);
    }

    /// Prints lines above the progress, with --quiet too.
    pub fn print(&self, text: &str) {
        self.line.above(|| drop(write!(io::stderr(), "{text}")));
    }

    fn show(&mut self, text: String, now_s: f64) {
        if self.line.is_plain() && now_s >= self.next_line_s {
            self.line.print(&text);
            self.next_line_s += PLAIN_EVERY;
        }
        self.line.set(text);
    }

    /// Removes the live line before the result is printed.
    pub fn end(&mut self) {
        self.line.clear();
    }
}

/// Describes seconds of a load, one line each.
#[derive(Debug, Default)]
pub struct Describer {
    /// End of the load, if a time ends it.
    total_s: Option<f64>,
    /// Longest warm-up, where known.
    warmup_s: Option<f64>,
    last_s: f64,
    failed: u64,
}

impl Describer {
    /// Describes a load from its start on; `total` and `warmup` as in [`Progress::new`].
    pub fn new(total: Option<Duration>, warmup: Duration) -> Self {
        let [total_s, warmup_s] = [total, Some(warmup)].map(|time| time.map(|time| time.as_secs_f64()));
        Self { total_s, warmup_s, ..Self::default() }
    }

    /// Describes a load from `last_s` on, with failures until then.
    pub fn from(total_s: Option<f64>, (last_s, failed): (f64, u64)) -> Self {
        Self { total_s, last_s, failed, ..Self::default() }
    }

    /// Describes the second that follows.
    pub fn describe(&mut self, second: &Line) -> String {
        self.failed += second.failed.unwrap_or(0);
        let tenths = |s: f64| (s * 10.0).round() / 10.0;
        let total = self.total_s.map_or(String::new(), |total| format!("/{}", tenths(total)));
        let mut line = format!("{:>4}{total} s", tenths(second.at_s));
        if second.warmup && self.warmup_s.is_none_or(|warmup_s| second.at_s <= warmup_s + 0.5) {
            line += "  warm-up";
        }
        // The last interval of a phase may be shorter than a second.
        let length = (second.at_s - self.last_s).max(1e-3);
        self.last_s = second.at_s;
        line += &format!("  {}", format::or_dash(second.completed.map(|count| count as f64 / length), format::rate));
        line += &format!("  p50 {}", format::or_dash(second.p50_us, |us| format::at_least(us, second.is_bound(0.5))));
        line += &format!("  p99 {}", format::or_dash(second.p99_us, |us| format::at_least(us, second.is_bound(0.99))));
        if let Some(connections) = second.connections {
            line += &format!("  {}", format::plural(connections, "connection"));
        }
        if self.failed > 0 {
            line += &format!("  {}", format::plural(self.failed, "failure"));
        }
        if let Some(percent) = second.server_cpu_percent() {
            line += &format!("  server CPU {}", format::percent(percent));
        }
        line
    }
}
