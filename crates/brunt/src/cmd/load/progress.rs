//! Progress of a load on stderr: every second on a terminal, every five seconds elsewhere.

use super::{format, live::Line};
use crate::cmd::status_line::StatusLine;
use brunt_load::Options;
use brunt_results::Span;
use std::io::{self, Write as _};
use std::time::Instant;

/// Seconds between two lines without a terminal.
const PLAIN_EVERY: f64 = 5.0;

#[derive(Debug)]
pub(super) struct Progress {
    line: StatusLine,
    describer: Describer,
    started: Instant,
    /// Time of the next permanent line: since the start while connecting, in seconds of the run after that.
    next_line_s: f64,
}

impl Progress {
    pub(super) fn new(options: &Options, processes: usize, quiet: bool) -> Self {
        let line = StatusLine::new(quiet);
        line.print(&announcement(options, processes));
        let total = options.warmup + options.duration;
        let total_s = (options.requests.is_none() && !options.steady).then_some(total.as_secs_f64());
        Self {
            line,
            describer: Describer { total_s, warmup_s: Some(options.warmup.as_secs_f64()), ..Describer::default() },
            started: Instant::now(),
            next_line_s: PLAIN_EVERY,
        }
    }

    pub(super) fn connecting(&mut self, opened: u64, of: u64) {
        let since_s = self.started.elapsed().as_secs_f64();
        let text = format!("{since_s:>4.1} s  {opened} of {} opened", format::plural(of, "connection"));
        self.show(text, since_s);
    }

    pub(super) fn second(&mut self, second: &Line) {
        if self.describer.last_s == 0.0 {
            self.next_line_s = PLAIN_EVERY;
        }
        let text = self.describer.describe(second);
        self.show(text, second.at_s + 0.5);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.line.is_quiet()
    }

    /// Prints a line above the progress.
    pub(super) fn line(&self, text: &str) {
        self.line.print(text);
    }

    /// Prints lines above the progress, with --quiet too.
    pub(super) fn print(&self, text: &str) {
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
    pub(super) fn end(&mut self) {
        self.line.clear();
    }
}

/// Describes seconds of a load, one line each.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Describer {
    /// End of the load, if a time ends it.
    total_s: Option<f64>,
    /// Longest warm-up, where known.
    warmup_s: Option<f64>,
    last_s: f64,
    failed: u64,
}

impl Describer {
    /// Describes a load from `last_s` on, with failures until then.
    pub(in crate::cmd) fn from(total_s: Option<f64>, (last_s, failed): (f64, u64)) -> Self {
        Self { total_s, last_s, failed, ..Self::default() }
    }

    /// Describes the second that follows.
    pub(in crate::cmd) fn describe(&mut self, second: &Line) -> String {
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
        line += &format!("  p50 {}", format::or_dash(second.p50_us, format::time));
        line += &format!("  p99 {}", format::or_dash(second.p99_us, format::time));
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

fn announcement(options: &Options, processes: usize) -> String {
    let messages = options.target.request_bytes().map_or(String::new(), |size| format!(" of {size} B"));
    let end = match options.requests {
        Some(requests) => format::plural(requests, "request"),
        None => Span(options.duration).to_string(),
    };
    let rate = match options.rate {
        Some(rate) if options.stages.is_empty() => format!("open loop at {}", format::rate(rate)),
        Some(rate) => format!("open loop at {} on average", format::rate(rate)),
        None => "closed loop".to_owned(),
    };
    let threads = match processes {
        1 => format!("on {}", format::plural(options.threads.len() as u64, "thread")),
        more => format!("in {more} processes"),
    };
    format!(
        "{}: {}{messages} {threads}, {rate}; {}{} of warm-up, then {end}",
        options.target.addresses().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        format::connections(options.connections as u64, !options.connection_stages.is_empty()),
        if options.steady { "at most " } else { "" },
        Span(options.warmup),
    )
}
