//! Progress on stderr during an experiment: a live line on a terminal, a line per trial elsewhere, or nothing.
//!
//! Write errors on stderr are ignored.

use super::preview::headlines;
use brunt_lab::{
    format::time,
    run::{
        experiment::Request,
        observer::{Event, Observer, TrialProgress},
        trial::TrialStatus,
    },
    run_directory::RunDirectory,
    schedule::{Machine, Schedule, busy, format_duration, skipped_lines},
};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};

#[derive(Debug)]
enum Display {
    Live(ProgressBar),
    Plain,
    Quiet,
}

#[derive(Debug)]
pub(super) struct Progress {
    display: Display,
}

impl Progress {
    /// Prints the announcement of the experiment.
    pub(super) fn new(request: &Request, schedule: &Schedule, machine: &Machine, quiet: bool) -> Self {
        let display = match () {
            () if quiet => Display::Quiet,
            () if io::stderr().is_terminal() => Display::Live(live_line()),
            () => Display::Plain,
        };
        let progress = Self { display };
        let mut lines = headlines(&request.plan, schedule, machine, &RunDirectory::at(&request.out), request.fresh);
        lines.extend(skipped_lines(&schedule.skipped));
        lines.extend(busy().map(|load| {
            format!("note: this machine is busy (load average {load:.1}); other work affects the figures")
        }));
        for line in lines {
            progress.say(&line);
        }
        progress
    }

    /// Removes the live line before the result is printed.
    pub(super) fn end(&mut self) {
        if let Display::Live(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    /// Prints a permanent line.
    fn say(&self, line: &str) {
        match &self.display {
            Display::Live(bar) => bar.suspend(|| drop(writeln!(io::stderr(), "{line}"))),
            Display::Plain => drop(writeln!(io::stderr(), "{line}")),
            Display::Quiet => {}
        }
    }

    /// Sets the current activity.
    fn show(&self, line: String) {
        // Redrawn only on change, to leave the CPU to the trial.
        if let Display::Live(bar) = &self.display
            && bar.message() != line
        {
            bar.set_message(line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Observer for Progress {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::OrphansKilled(groups) => {
                self.say(&format!("killed {groups} process groups left over from an earlier run"));
            }
            Event::Building { target, command } => {
                if let Display::Plain = self.display {
                    self.say(&format!("building {target}: {command}"));
                }
                self.show(format!("building {target}: {command}"));
            }
            Event::BuildFailed { target, why } => self.say(&format!("{target}: {why}")),
            Event::Retrying(trials) => {
                let many = if *trials == 1 { "1 trial was".to_owned() } else { format!("{trials} trials were") };
                self.say(&format!("{many} disturbed: once more"));
            }
            Event::TrialStarted(trial) => self.show(line(trial, "begins")),
            Event::TrialRunning { trial, activity } => self.show(line(trial, activity)),
            Event::TrialFinished { trial, status, took } => {
                let what = match status {
                    TrialStatus::Interrupted => return,
                    TrialStatus::Failed(failure) => format!("FAILED: {}", failure.line()),
                    TrialStatus::Done(result) => {
                        let p99 = result.latency.response.p99_us;
                        let p99 = p99.map_or(String::new(), |us| format!(", p99 {}", time(Some(us))));
                        format!("{:.1}k req/s{p99}, {}", result.requests.rate / 1e3, result.verdict.kind.word())
                    }
                };
                let failed = matches!(status, TrialStatus::Failed(_));
                if failed || matches!(self.display, Display::Plain) {
                    self.say(&line(trial, &format!("{what} ({:.1} s)", took.as_secs_f64())));
                }
            }
        }
    }
}

fn line(trial: &TrialProgress, what: &str) -> String {
    let width = trial.total.to_string().len();
    format!(
        "[{:width$}/{}] {} repeat {}: {what}; {} left",
        trial.number,
        trial.total,
        trial.cell.id(),
        trial.repeat,
        format_duration(trial.left)
    )
}

/// A progress bar of one text line, cut to the width of the terminal.
fn live_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}").expect("a constant that indicatif accepts");
    ProgressBar::new_spinner().with_style(style)
}
