//! The figures of a load so far, as rows of text: on the screen, in the page of SIGUSR1 and at the end of `brunt watch`.

use super::model::{Model, Phase};
use crate::format::{or_dash, percent, plural, rate, shown, three_digits, time};
use crate::summary::cpu;
use crate::told;
use brunt_results::RunResult;
use brunt_results::agents::{self, AgentNow};
use brunt_results::figure::{COST, OFFERED_RATE, RATE};
use std::fmt::Write as _;

/// Name and text.
pub(super) type Row = (&'static str, String);

/// Rates, times, server, generator and errors since the window opened.
pub(super) fn rows(model: &Model) -> Vec<Row> {
    let result = model.result();
    let with_told = |name: &'static str, text: String| (name, text + &told::known(&result, name));
    let mut rows = vec![
        with_told("rate", rates(model, &result)),
        with_told("response", response(&result)),
        ("server", server(model, &result)),
        with_told("generator", generator(model, &result)),
    ];
    rows.extend((!model.agents.is_empty()).then(|| ("agents", of_agents(&model.agents))));
    rows.push(with_told("errors", errors(&result)));
    rows
}

/// One line, however many there are: those that are lost or late, and the slowest and the fastest.
fn of_agents(agents: &[AgentNow]) -> String {
    let concerns = agents::concerns(agents);
    let state = if concerns.is_empty() { "all in time".to_owned() } else { concerns.join(", ") };
    let mut text = format!("{}: {state}", agents.len());
    let mut by_p99: Vec<(f64, &str)> = agents.iter().filter_map(|one| Some((one.p99_us?, one.id.as_str()))).collect();
    by_p99.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    if let [(least, fastest), .., (most, slowest)] = by_p99[..] {
        let _ = write!(text, "; p99 {} ({fastest}) to {} ({slowest})", time(least), time(most));
    }
    if let Some(busiest) = agents.iter().filter_map(|agent| agent.thread_cpu_percent).reduce(f64::max) {
        let _ = write!(text, "; busiest thread {}", percent(busiest));
    }
    text
}

fn rates(model: &Model, result: &RunResult) -> String {
    let [offered, answered] = [OFFERED_RATE.of, RATE.of].map(|of| of(result));
    let mut text = match offered.zip(answered).filter(|(offered, _)| *offered > 0.0) {
        Some((offered, answered)) => {
            let share = answered / offered * 100.0;
            format!("{} offered, {} answered ({share:.1} %)", three_digits(offered), rate(answered))
        }
        None => format!("{} answered", or_dash(answered, rate)),
    };
    let now = model.points.all().last().filter(|_| model.phase() != Phase::Ended);
    if let Some(now) = now.and_then(|point| point.per_second(point.completed)) {
        let _ = write!(text, "; {} now", three_digits(now));
    }
    text
}

fn response(result: &RunResult) -> String {
    let of = |name| format!("{name} {}", shown(&result.latency.response, name));
    ["p50", "p90", "p99", "p99.9", "max"].map(of).join(", ")
}

fn server(model: &Model, result: &RunResult) -> String {
    let Some(mut text) = cpu(&result.server) else {
        return match model.start.as_ref().and_then(|start| start.no_server.as_deref()) {
            Some(why) => format!("not metered: {why}"),
            None => "-".to_owned(),
        };
    };
    if let Some(cost) = (COST.of)(result) {
        let _ = write!(text, ", {}/request", time(cost));
    }
    text + &told::known(result, "server")
}

fn generator(model: &Model, result: &RunResult) -> String {
    let cpu_percent = result.generator.cpu_percent;
    let mut text = format!("CPU {}", or_dash(cpu_percent, percent));
    if let Some(cost) = result.us_per_request(cpu_percent) {
        let _ = write!(text, ", {}/request", time(cost));
    }
    if (OFFERED_RATE.of)(result).is_some() {
        let _ = write!(text, ", lag p99 {}", or_dash(result.latency.lag.p99_us, time));
    }
    if let Some(connections) = model.last.as_ref().and_then(|last| last.connections) {
        let _ = write!(text, "; {}", plural(connections, "connection"));
    }
    text
}

fn errors(result: &RunResult) -> String {
    match (result.failure_words(), result.requests.failed) {
        (words, 0) if words.is_empty() => "none".to_owned(),
        // Of a kind that is not known yet.
        (words, failed) if words.is_empty() => format!("{failed} failed"),
        (words, _) => words,
    }
}

/// What is loaded, and how.
pub(super) fn headline(model: &Model) -> String {
    let Some(start) = &model.start else {
        let name = model.result.as_ref().map(|result| result.load.url.clone()).or_else(|| model.name.clone());
        return name.unwrap_or_else(|| "a load".to_owned());
    };
    let mode = match start.rate {
        Some(offered) if start.rate_changes => format!("open loop {}/s on average", three_digits(offered)),
        Some(offered) => format!("open loop {}/s", three_digits(offered)),
        None => "closed loop".to_owned(),
    };
    let name = model.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
    format!("{name}{}, {}, {mode}", start.url, plural(start.connections, "connection"))
}

/// Where the load is in its course, and what is left of it.
pub(super) fn state(model: &Model) -> String {
    let at = model.last.as_ref().map_or(0.0, |last| last.at_s);
    if let Some(result) = &model.result {
        let how = if result.interrupted { "interrupted" } else { "ended" };
        return format!("{how} after {}", clock(at.max(result.load.measured_s)));
    }
    if let Some(silence) = model.silence {
        let what = match silence.is_running {
            Some(true) => "it still runs",
            Some(false) => "ended without a result",
            None => "killed, or stopped?",
        };
        return format!("no new line for {} s: {what}", silence.seconds);
    }
    if model.is_stopping {
        return "stopping".to_owned();
    }
    let phase = match model.phase() {
        Phase::Connecting => return "opening connections".to_owned(),
        Phase::WarmUp => "warm-up, ",
        Phase::Window | Phase::Ended => "",
    };
    match model.end_s() {
        Some(end) => format!("{phase}{} of {} left", clock(end - at), clock(end)),
        None => format!("{phase}{}", clock(at)),
    }
}

/// Minutes and seconds, or hours too.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Verdict, and for each issue its evidence and its remedy.
pub(super) fn verdict(model: &Model) -> (String, Vec<[String; 2]>) {
    let so_far = if model.is_ended() { "" } else { " so far" };
    match model.verdict() {
        None => (format!("verdict{so_far}: none, the window has not begun"), Vec::new()),
        Some(verdict) => {
            let word = verdict.kind.word();
            (format!("verdict{so_far}: {word}"), verdict.why.into_iter().zip(verdict.remedy).map(Into::into).collect())
        }
    }
}

/// The page so far, ending in a newline.
pub fn page(model: &Model) -> String {
    let mut page = format!("{}\n{}\n\n", headline(model), state(model));
    for (name, text) in rows(model) {
        let _ = writeln!(page, "  {name:<11} {text}");
    }
    let (verdict, issues) = verdict(model);
    let _ = writeln!(page, "  {verdict}");
    for [why, remedy] in issues {
        let _ = writeln!(page, "  {:<11} {why}; {remedy}", "");
    }
    page
}

#[cfg(test)]
mod tests;
