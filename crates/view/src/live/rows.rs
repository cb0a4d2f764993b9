//! The figures of a load so far, as rows of text: on the screen, in the page of SIGUSR1 and at the end of `brunt watch`.

use super::model::{Model, Phase};
use crate::format::{bytes, or_dash, percent, plural, rate, supported, three_digits, time};
use crate::summary::cpu;
use brunt_results::LatencySummary;
use brunt_results::result::Server;
use std::fmt::Write as _;

/// Name and text.
pub(super) type Row = (&'static str, String);

/// Figures of the window: of the result if there is one, else of the lines until now.
struct Figures<'a> {
    offered: Option<f64>,
    answered: Option<f64>,
    response: &'a LatencySummary,
    lag_p99_us: Option<f64>,
    server: Server,
    generator_percent: Option<f64>,
    completed: Option<u64>,
    length_s: f64,
    errors: String,
}

impl<'a> Figures<'a> {
    fn of(model: &'a Model) -> Self {
        let (window, so_far) = (&model.window, &model.so_far);
        if let Some(result) = &model.result {
            return Self {
                offered: result.requests.offered_rate,
                answered: Some(result.requests.rate),
                response: &result.latency.response,
                lag_p99_us: result.latency.lag.p99_us,
                server: result.server.clone(),
                generator_percent: result.generator.cpu_percent,
                completed: Some(result.requests.completed),
                length_s: result.load.measured_s,
                errors: result.failure_words(),
            };
        }
        let last = model.last.as_ref();
        let server = Server {
            cpu_user_percent: window.server_user.get(),
            cpu_system_percent: window.server_system.get(),
            rss_bytes: last.and_then(|last| last.server_rss_bytes),
            threads: last.and_then(|last| last.server_threads),
            ..Server::default()
        };
        Self {
            offered: window.per_second(window.offered),
            answered: window.per_second(window.completed),
            response: &so_far.response,
            lag_p99_us: so_far.lag_p99_us,
            generator_percent: window.generator.get(),
            completed: window.completed,
            length_s: window.length_s,
            errors: match so_far.errors.words() {
                words if words.is_empty() && window.failed > 0 => format!("{} failed", window.failed),
                words => words,
            },
            server,
        }
    }

    /// CPU time of a request, given the CPU of a process in percent of a core.
    fn per_request(&self, cpu_percent: Option<f64>) -> Option<f64> {
        let completed = self.completed.filter(|completed| *completed > 0)?;
        Some(cpu_percent? / 100.0 * self.length_s * 1e6 / completed as f64)
    }
}

/// Rates, times, server, generator and errors since the window opened.
pub(super) fn rows(model: &Model) -> Vec<Row> {
    let figures = Figures::of(model);
    let errors = if figures.errors.is_empty() { "none".to_owned() } else { figures.errors.clone() };
    vec![
        ("rate", rates(model, &figures)),
        ("response", response(&figures)),
        ("server", server(model, &figures)),
        ("generator", generator(model, &figures)),
        ("errors", errors),
    ]
}

fn rates(model: &Model, figures: &Figures) -> String {
    let answered = or_dash(figures.answered, rate);
    let mut text = match figures.offered.zip(figures.answered).filter(|(offered, _)| *offered > 0.0) {
        Some((offered, rate)) => {
            format!("{} offered, {answered} answered ({:.1} %)", three_digits(offered), rate / offered * 100.0)
        }
        None => format!("{answered} answered"),
    };
    let now = model.points.all().last().filter(|_| model.phase() != Phase::Ended);
    if let Some(now) = now.and_then(|point| point.per_second(point.completed)) {
        let _ = write!(text, "; {} now", three_digits(now));
    }
    text
}

fn response(figures: &Figures) -> String {
    let of = |name| format!("{name} {}", or_dash(supported(figures.response, name), time));
    ["p50", "p90", "p99", "p99.9", "max"].map(of).join(", ")
}

fn server(model: &Model, figures: &Figures) -> String {
    let server = &figures.server;
    let start = model.start.as_ref();
    let Some(mut text) = cpu(server) else {
        return match start.and_then(|start| start.no_server.as_deref()) {
            Some(why) => format!("not metered: {why}"),
            None => "-".to_owned(),
        };
    };
    let cost = server.cpu_us_per_request.or_else(|| figures.per_request(server.cpu_percent()));
    if let Some(cost) = cost {
        let _ = write!(text, ", {}/request", time(cost));
    }
    if let Some(rss) = server.rss_bytes {
        let _ = write!(text, ", RSS {}", bytes(rss as f64));
    }
    text
}

fn generator(model: &Model, figures: &Figures) -> String {
    let mut text = format!("CPU {}", or_dash(figures.generator_percent, percent));
    if let Some(cost) = figures.per_request(figures.generator_percent) {
        let _ = write!(text, ", {}/request", time(cost));
    }
    if figures.offered.is_some() {
        let _ = write!(text, ", lag p99 {}", or_dash(figures.lag_p99_us, time));
    }
    if let Some(connections) = model.last.as_ref().and_then(|last| last.connections) {
        let _ = write!(text, "; {}", plural(connections, "connection"));
    }
    text
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
