//! Progress on stderr during a load: a live line on a terminal, a line every five seconds elsewhere, or nothing.
//!
//! Write errors on stderr are ignored.

use super::format;
use brunt_load::Options;
use brunt_results::{Span, series::Second};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal, Write},
    time::Instant,
};

/// Seconds between two lines without a terminal.
const PLAIN_EVERY: f64 = 5.0;

#[derive(Debug)]
enum Display {
    Live(ProgressBar),
    Plain { next_s: f64 },
    Quiet,
}

#[derive(Debug)]
pub(super) struct Progress {
    display: Display,
    total_s: Option<f64>,
    warmup_s: f64,
    last_s: f64,
    errors: u64,
    /// Start of the connection phase and time of its next line.
    connecting: Connecting,
}

#[derive(Debug)]
struct Connecting {
    since: Instant,
    next_s: f64,
}

impl Progress {
    /// Prints the announcement of the load.
    pub(super) fn new(options: &Options, processes: usize, quiet: bool) -> Self {
        let display = match () {
            () if quiet => Display::Quiet,
            () if io::stderr().is_terminal() => Display::Live(live_line()),
            () => Display::Plain { next_s: PLAIN_EVERY },
        };
        if !quiet {
            let _ = writeln!(io::stderr(), "{}", announcement(options, processes));
        }
        let warmup_s = options.warmup.as_secs_f64();
        Self {
            display,
            total_s: ends_by_time(options).then_some(warmup_s + options.duration.as_secs_f64()),
            warmup_s,
            last_s: 0.0,
            errors: 0,
            connecting: Connecting { since: Instant::now(), next_s: PLAIN_EVERY },
        }
    }

    /// Shows the number of open connections.
    pub(super) fn connecting(&mut self, opened: u64, of: u64) {
        let since_s = self.connecting.since.elapsed().as_secs_f64();
        let line = format!("{since_s:>4.1} s  {opened} of {} opened", format::plural(of, "connection"));
        match &mut self.display {
            Display::Live(bar) => bar.set_message(line),
            Display::Plain { .. } if since_s >= self.connecting.next_s => {
                let _ = writeln!(io::stderr(), "{line}");
                self.connecting.next_s += PLAIN_EVERY;
            }
            Display::Plain { .. } | Display::Quiet => (),
        }
    }

    /// Shows one second of the series.
    pub(super) fn second(&mut self, second: &Second) {
        self.errors += second.failed;
        let line = self.line(second);
        self.last_s = second.at_s;
        match &mut self.display {
            Display::Live(bar) => bar.set_message(line),
            Display::Plain { next_s } if second.at_s + 0.5 >= *next_s => {
                let _ = writeln!(io::stderr(), "{line}");
                *next_s += PLAIN_EVERY;
            }
            Display::Plain { .. } | Display::Quiet => (),
        }
    }

    /// Removes the live line before the result is printed.
    pub(super) fn end(&mut self) {
        if let Display::Live(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn line(&self, second: &Second) -> String {
        let tenths = |s: f64| (s * 10.0).round() / 10.0;
        let total = self.total_s.map_or(String::new(), |total| format!("/{}", tenths(total)));
        let mut line = format!("{:>4}{total} s", tenths(second.at_s));
        if second.warmup && second.at_s <= self.warmup_s + 0.5 {
            line += "  warm-up";
        }
        // The last interval of a phase may be shorter than a second.
        let length = (second.at_s - self.last_s).max(1e-3);
        line += &format!("  {}", format::rate(second.completed as f64 / length));
        line += &format!("  p50 {}", format::or_dash(second.p50_us, format::time));
        line += &format!("  p99 {}", format::or_dash(second.p99_us, format::time));
        line += &format!("  {}", format::plural(second.connections, "connection"));
        if self.errors > 0 {
            line += &format!("  {}", format::plural(self.errors, "failure"));
        }
        let server = second.server_cpu_user_percent.zip(second.server_cpu_system_percent);
        if let Some((user, system)) = server {
            line += &format!("  server CPU {}", format::percent(user + system));
        }
        line
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// A progress bar of one text line, cut to the width of the terminal.
fn live_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}").expect("a constant that indicatif accepts");
    ProgressBar::new_spinner().with_style(style)
}

fn ends_by_time(options: &Options) -> bool {
    options.requests.is_none()
}

fn announcement(options: &Options, processes: usize) -> String {
    let messages = options.target.request_bytes().map_or(String::new(), |size| format!(" of {size} B"));
    let end = match options.requests {
        Some(requests) => format::plural(requests, "request"),
        None => Span(options.duration).to_string(),
    };
    let rate = match options.rate {
        Some(rate) => format!("open loop at {}", format::rate(rate)),
        None => "closed loop".to_owned(),
    };
    let threads = match processes {
        1 => format!("on {}", format::plural(options.threads.len() as u64, "thread")),
        more => format!("in {more} processes"),
    };
    format!(
        "{}: {}{messages} {threads}, {rate}; {} of warm-up, then {end}",
        options.target.endpoints().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        format::plural(options.connections as u64, "connection"),
        Span(options.warmup),
    )
}
