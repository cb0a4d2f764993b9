//! The report of a load whose coordinator is gone, from the journals of its agents.
//!
//! The seconds are those that are there from all agents. A load that ended as planned has the same report as its coordinator would have
//! made; one that was cut off ends with the last whole second.

use super::super::{absent, conclude, observer::ON_AGENTS, output::Output, resolve, run::complete};
use super::sent_script::elsewhere;
use crate::cmd::fleet::Shipped;
use crate::cmd::stdout;
use brunt_fleet::nats::{Collected, now};
use brunt_load::remote::{Feed, Order, Others, coordinate};
use brunt_load::{LoadError, Options, Report, Silent};
use brunt_results::acceptance::Acceptance;
use brunt_results::{Error, ExitCode, drift};
use brunt_view::summary;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Reports the load that these parts have made.
///
/// # Errors
/// A part is missing, or nothing was measured by all of them.
pub(in crate::cmd) fn report(parts: &[Collected], out: Option<&Path>, json: Option<&Path>) -> Result<ExitCode, Error> {
    let options = whole(parts)?;
    let (seconds, is_complete) = seconds(parts);
    if Duration::from_secs(seconds) <= options.warmup && !is_complete {
        let ids: Vec<&str> = parts.iter().map(|part| part.agent.as_str()).collect();
        let window = options.warmup.as_secs_f64();
        return Err(Error::Failed(format!(
            "only {seconds} s are there from all agents ({}), and the window opened after {window:.1} s",
            ids.join(", ")
        )));
    }
    let mut output = Output::create(out, json)?;
    let made = made(parts, &options, seconds, is_complete)?;
    print(&mut output, &options, made)
}

/// The options of the whole load.
fn whole(parts: &[Collected]) -> Result<Options, Error> {
    let Some(first) = parts.first() else { return Err(Error::Failed("no agent has this run".to_owned())) };
    let mut next = 0;
    for part in parts {
        if part.task.first != next {
            return Err(missing(next, part.task.first));
        }
        next = part.task.end;
    }
    if next != first.task.threads {
        return Err(missing(next, first.task.threads));
    }
    let unreadable =
        |error| Error::Failed(format!("the journal of agent {} is of another version ({error})", first.agent));
    let Shipped { spec, script, .. } = serde_json::from_value(first.task.load.clone()).map_err(unreadable)?;
    let options = match script {
        None => resolve::resolved(&spec),
        Some(_) => elsewhere(&spec),
    };
    let options = options.map_err(Error::Failed)?;
    Ok(Options { threads: vec![None; first.task.threads], ..options })
}

fn missing(from: usize, to: usize) -> Error {
    let threads =
        if to == from + 1 { format!("thread {from}") } else { format!("threads {from} to {}", to.saturating_sub(1)) };
    Error::Failed(format!("no agent that is there has {threads} of this run: start the others, and try again"))
}

/// Seconds that are there from all, and whether the load ended as planned.
fn seconds(parts: &[Collected]) -> (u64, bool) {
    let ended = |part: &Collected| part.end.as_ref().filter(|end| end.why.is_none()).map(|end| end.seconds);
    let there = |part: &Collected| part.seconds.len() as u64;
    let is_complete = parts.iter().all(|part| ended(part).is_some_and(|seconds| seconds == there(part)));
    // The last second of one that has ended is not a whole one.
    let whole = |part: &Collected| there(part).saturating_sub(u64::from(part.end.is_some() && !is_complete));
    (parts.iter().map(whole).min().unwrap_or(0), is_complete)
}

fn made(parts: &[Collected], options: &Options, seconds: u64, is_complete: bool) -> Result<Report, Error> {
    let machines: Vec<(String, usize)> =
        parts.iter().map(|part| (format!("agent {}", part.agent), part.task.first)).collect();
    let end = SECOND * u32::try_from(seconds).unwrap_or(u32::MAX);
    let length = if is_complete { options.warmup + options.duration } else { end };
    let others = |feeds: Vec<Feed>, zero_ns: u64| {
        let start = (now() as u64).saturating_sub(zero_ns).saturating_sub(length.as_nanos() as u64).max(1);
        let mut told = Vec::new();
        for (feed, part) in feeds.into_iter().zip(parts) {
            // A load of a number of requests ends on each agent at its own time.
            let whole = if is_complete { part.seconds.len() } else { seconds as usize };
            let taken = part.seconds.iter().take(whole).map(Shipped::second);
            let taken = taken.collect::<Result<Vec<_>, _>>().map_err(LoadError::Process)?;
            told.push((feed, taken));
        }
        Ok(Past { told: Mutex::new(told), start, close: start + end.as_nanos() as u64, is_complete })
    };
    coordinate(options, &machines, others, &mut Silent).map_err(super::super::options::error_of)
}

/// Agents whose load is over.
struct Past {
    told: Mutex<Vec<(Feed, Vec<Vec<u8>>)>>,
    /// First request and end of the whole seconds, in nanoseconds of the clock of the load.
    start: u64,
    close: u64,
    is_complete: bool,
}

impl Others for Past {
    fn order(&self, order: Order) {
        if !matches!(order, Order::Begin { .. }) {
            return;
        }
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        for (mut feed, seconds) in told {
            let is_read = seconds.iter().all(|second| feed.take(second).is_ok());
            if !is_read || !self.is_complete {
                feed.lost();
            }
        }
    }

    fn agreed_start(&self) -> Option<u64> {
        Some(self.start)
    }

    fn close(&self, _: u64) -> u64 {
        self.close
    }

    fn notice(&self) -> Duration {
        Duration::ZERO
    }

    fn exit_reason(&self, _: usize) -> String {
        "the load was cut off".to_owned()
    }
}

fn print(output: &mut Output, options: &Options, report: Report) -> Result<ExitCode, Error> {
    let mut env = brunt_meter::environment::collect();
    let why = "collected after the load";
    let mut reasons: BTreeMap<String, String> = brunt_meter::generator::all_absent(ON_AGENTS);
    reasons.extend(brunt_meter::server::all_absent(why));
    complete(&mut env, &report, reasons);
    env.absent.extend(absent::of(&report.result));
    let drift = drift::check(&report.seconds).filter(|_| !options.is_changing());
    let (mut result, hlog) = (report.result, report.hlog);
    result.verdict = conclude::verdict(&result, None, drift, None, None);
    output.write_env(&env)?;
    if let Some(mut series) = output.series()? {
        report.seconds.iter().try_for_each(|second| series.push(second))?;
    }
    output.write(&env, &hlog, &result)?;
    if !output.has_taken_stdout() {
        let facts =
            summary::Facts { result: &result, env: &env, no_server: Some(why), percentiles: &options.percentiles };
        stdout::print(&summary::page(&facts))?;
    }
    let (code, reasons) = Acceptance::default().conclude(&result);
    for reason in reasons {
        let _ = writeln!(io::stderr(), "{reason}");
    }
    Ok(code)
}
