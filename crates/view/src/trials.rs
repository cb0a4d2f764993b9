//! Progress of an experiment on stderr: the current trial on a terminal, a line per finished trial elsewhere.

use crate::preview::headlines;
use crate::status_line::StatusLine;
use brunt_lab::format::time;
use brunt_lab::run::Request;
use brunt_lab::run::trial::TrialStatus;
use brunt_lab::run::{Event, Observer, TrialProgress};
use brunt_lab::schedule::{Machine, Schedule, busy, format_duration, skipped_lines};

/// Prints what will run, and returns the line that shows its progress.
pub fn status_line(request: &Request, schedule: &Schedule, machine: &Machine, quiet: bool) -> StatusLine {
    let line = StatusLine::new(quiet);
    let mut lines = headlines(request, schedule, machine);
    lines.extend(skipped_lines(&schedule.skipped));
    let note = |load| format!("note: this machine is busy (load average {load:.1}); other work affects the figures");
    lines.extend(busy().map(note));
    lines.iter().for_each(|text| line.print(text));
    line
}

impl Observer for StatusLine {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::OrphansKilled(groups) => {
                self.print(&format!("killed {groups} process groups left over from an earlier run"));
            }
            Event::Building { target, command } => {
                let text = format!("building {target}: {command}");
                if self.is_plain() {
                    self.print(&text);
                }
                self.set(text);
            }
            Event::BuildFailed { target, why } => self.print(&format!("{target}: {why}")),
            Event::TrialStarted(trial) => self.set(running(trial, "begins")),
            Event::TrialRunning { trial, activity } => self.set(running(trial, activity)),
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
                if failed || self.is_plain() {
                    self.print(&describe(trial, trial.cell.id(), &format!("{what} ({:.1} s)", took.as_secs_f64())));
                }
            }
        }
    }
}

/// By slices, all targets of a load run at once.
fn running(trial: &TrialProgress, what: &str) -> String {
    let name = match trial.cell.combination() {
        _ if !trial.by_slices => trial.cell.id(),
        "" => "all targets",
        load => load,
    };
    describe(trial, name, what)
}

fn describe(trial: &TrialProgress, name: &str, what: &str) -> String {
    let width = trial.total.to_string().len();
    format!(
        "[{:width$}/{}] {name} {} {}: {what}; {} left",
        trial.number,
        trial.total,
        if trial.by_slices { "start" } else { "repeat" },
        trial.repeat,
        format_duration(trial.left)
    )
}
