//! Text around the table: common settings, explanations, failures, validity issues, machine.

use super::charts::load;
use super::tables::columns::{names, spaced, varying};
use super::{Figures, Report, Row, alarms, answers};
use crate::format::{date, plural};
use crate::run_directory::Experiment;
use crate::schedule::skipped_lines;
use brunt_results::figure::{self, Figure};
use brunt_results::{env::Env, units::trimmed, verdict::Kind};
use brunt_statistics::{CONFIDENCE, permutation};
use std::collections::{BTreeMap, BTreeSet};

pub fn common(report: &Report) -> String {
    let Some(row) = report.rows.first() else { return String::new() };
    let varying = varying(&report.rows);
    // By slices, a load ends when its ratios are precise.
    let is_length = |name: &str| name == "duration" && !report.comparisons.is_empty();
    let names = names(&report.rows).into_iter().filter(|name| !varying.contains(name) && !is_length(name));
    let mut words: Vec<String> = names.filter_map(|name| phrase(row, &name)).collect();
    // Runs shown together may differ in repeats.
    if report.experiment.repeats > 0 {
        let word = if report.comparisons.is_empty() { "repeat" } else { "start" };
        words.push(plural(report.experiment.repeats as usize, word));
    }
    words.join(", ")
}

fn phrase(row: &Row, name: &str) -> Option<String> {
    let placement = &row.cell.placement;
    match name {
        // Of a load without --cores, or a server elsewhere.
        "server_cores" if placement.server.count() == 0 => None,
        "client_cores" if placement.client.count() == 0 => None,
        "server_cores" if placement.elsewhere => Some(format!("server on {}", placement.server_words())),
        "server_cores" if placement.server.count() == 1 => Some(format!("server on core {}", placement.server)),
        "server_cores" => Some(format!("server on cores {}", placement.server)),
        "client_cores" if placement.client.count() == 1 => Some(format!("generator on core {}", placement.client)),
        "client_cores" => Some(format!("generator on cores {}", placement.client)),
        "tester" if row.cell.settings.tester.is_none() => None,
        "warmup" => Some(format!("after {} of warm-up", spaced(&row.cell.settings.warmup.to_string()))),
        name => load::phrase(&[row], name),
    }
}

/// What the figures of a table mean; of the default table if not `wide`.
pub fn legend(report: &Report, wide: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        [answers::basis(report), answers::answered(report), answers::legend(report)].into_iter().flatten().collect();
    let is_sliced = !report.comparisons.is_empty();
    if is_sliced {
        lines.push("Other figures: median over the starts. Percentiles are never averaged.".to_owned());
        let merged = report.rows.iter().filter_map(|row| row.compared.as_ref()).flat_map(|compared| &compared.merged);
        lines.extend(merged.flatten().next().filter(|_| wide).map(|_| MERGED.to_owned()));
    } else if report.rows.iter().any(|row| row.done > 1) {
        let is_sure = report.rows.iter().filter(|row| row.done > 0).all(|row| row.figures.rate_interval.is_some());
        let range = if is_sure { "95 %: interval of that median" } else { "range: lowest..highest" };
        let over = if wide { format!("n repeats ({range})") } else { "the repeats".to_owned() };
        lines.push(format!(
            "Each figure is the median of that figure over {over}. Percentiles are never averaged: with an \
             even count, the higher of the two middle values is shown."
        ));
        lines.extend(too_few_to_compare(report));
    }
    if wide && report.rows.iter().any(|row| row.figures.p99_interval.is_some()) {
        lines.push(
            "p99 range: the wider of the range over the repeats and the 95 % interval within the median repeat."
                .to_owned(),
        );
    }
    let repeated = !is_sliced && report.rows.iter().any(|row| row.done > 1);
    if let Some(baseline) = report.experiment.baseline.as_ref().filter(|_| repeated) {
        lines.push(format!(
            "x baseline: throughput relative to {baseline} in the same repeat, median over the repeats. Disturbances longer \
             than a round of targets cancel out."
        ));
    }
    if wide || !report.is_colocated() {
        lines.push(if wide { EVERY_FIGURE } else { FEW_FIGURES }.to_owned());
    }
    lines.extend(colocated(report));
    if wide {
        lines.extend(http_legend(&report.rows));
        lines.extend(kernel_memory(report));
    }
    lines.extend(foreign_warmup(&report.rows));
    lines.extend(absent(report));
    if report.rows.iter().any(|row| row.cell.rate().is_none()) {
        lines.push(
            "Closed loop (offered: max): at saturation latency is connections / throughput (Little's law).".to_owned(),
        );
    }
    if report.rows.iter().any(|row| row.cell.placement.free) {
        lines.push("pin = false: the target may run on the generator's cores; they may slow each other.".to_owned());
    }
    if report.rows.iter().any(|row| row.cell.placement.shared()) {
        lines.push("Server and generator share the machine's only core: they slow each other, so no figure is a property of the server alone.".to_owned());
    }
    lines
}

/// Repeats that no comparison can tell apart, and how many it could.
fn too_few_to_compare(report: &Report) -> Option<String> {
    let (most, fewest) = (report.rows.iter().map(|row| row.done).max()?, permutation::fewest(1.0 - CONFIDENCE));
    (most < fewest).then(|| {
        format!(
            "{most} repeats are too few for brunt compare to call two results different, however far they are apart: \
             --repeat {fewest} is enough for a clear difference; slices need fewer (order = \"slices\")."
        )
    })
}

/// What the figures of services with best-effort jobs mean.
fn colocated(report: &Report) -> Option<String> {
    let objective = &report.rows.iter().find_map(|row| row.colocated.as_ref())?.objective;
    Some(format!(
        "LC: the service; BE: the jobs beside it. bad s: seconds in which more responses than {} allows took longer than {} ms, \
         or none came. BE rate: work of the jobs, of what they do on the same cores without load and without bounds. EMU: rate \
         of the service, of its peak, plus BE rate.",
        objective.figure,
        trimmed(objective.limit_ms)
    ))
}

const MERGED: &str = "merged p99, p99.9: of all counted slices together, with the ratio to the baseline's. \"the machine's\": it took more \
     of the slices' time than lies beyond the percentile.";
const EVERY_FIGURE: &str = "response = done - intended, service = done - sent. server: CPU in user mode and in total, 100 % is one core; \
     resident memory; CPU time for a request.";
const FEW_FIGURES: &str =
    "p50, p99: response time, done - intended. CPU: time of the server for a request. memory: resident, of the server.";

fn http_legend(rows: &[Row]) -> Option<String> {
    rows.iter().any(|row| row.figures.get(&figure::SERVICE_P50).is_some()).then(|| {
            "HTTP: ratios such as p90/p50 are of service time within each trial. Sockets are counted by the tester, else by \
             this machine's kernel; bytes per reply include the head unless the tester counts bodies only."
                .to_owned()
    })
}

fn foreign_warmup(rows: &[Row]) -> Option<String> {
    let is_foreign =
        rows.iter().any(|row| row.cell.settings.external_tester().is_some() && !row.cell.settings.warmup.0.is_zero());
    is_foreign.then(|| "Only brunt load has a warm-up: figures of other testers include their start.".to_owned())
}

/// Figures missing from all trials, with reasons, and the meaning of a dash.
fn absent(report: &Report) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let figures: Vec<&Figures> = report.rows.iter().filter(|row| row.done > 0).map(|row| &row.figures).collect();
    let (mut nowhere, mut somewhere) = (0, false);
    for one in missed("server.") {
        let missing = figures.iter().filter(|figures| figures.get(one).is_none()).count();
        if missing > 0 && missing == figures.len() {
            nowhere += 1;
            let why = report.envs.iter().find_map(|env| env.absent.get(one.path));
            reasons.entry(why.map_or("no reason was given", String::as_str)).or_default().push(one.missing);
        } else {
            somewhere |= missing > 0;
        }
    }
    let mut lines: Vec<String> = reasons.into_iter().map(without).collect();
    let percentiles = |figures: &&Figures| figures.get(&figure::P99).is_none() || figures.get(&figure::P999).is_none();
    if somewhere || (nowhere < missed("server.").count() && figures.iter().any(percentiles)) {
        let dash = "A dash: unavailable (see the trial's env.json), or too few requests for that percentile.";
        lines.push(dash.to_owned());
    }
    lines
}

fn without((why, names): (&str, Vec<&str>)) -> String {
    format!("No {} here: {why}.", names.join(", no "))
}

/// What memory per connection is, and which parts of the kernel's are unknown for every connection.
fn kernel_memory(report: &Report) -> Vec<String> {
    let figures = report.rows.iter().map(|row| &row.figures);
    let figures: Vec<&Figures> =
        figures.filter(|figures| figures.get(&figure::SLAB_PER_CONNECTION).is_some()).collect();
    if figures.is_empty() {
        return Vec::new();
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in missed("host.").filter(|one| figures.iter().all(|of| of.get(one).is_none())) {
        if let Some(why) = report.envs.iter().find_map(|env| env.absent.get(one.path)) {
            reasons.entry(why).or_default().push(one.missing);
        }
    }
    [KERNEL_MEMORY.to_owned()].into_iter().chain(reasons.into_iter().map(without)).collect()
}

const KERNEL_MEMORY: &str = "Bytes per connection: growth of the server's anonymous memory; kernel: growth of slab memory for both ends, \
     and what of it are sockets with their files, requests of io_uring, and entries of epoll sets.";

/// The figures that readers are told about where no trial has them, of the server or of the host.
fn missed(whose: &str) -> impl Iterator<Item = &'static Figure> + Clone {
    figure::all().filter(move |one| !one.missing.is_empty() && one.path.starts_with(whose))
}

/// Failed trials, validity issues, outliers, trials not run, skipped cells.
pub fn concerns(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &report.rows {
        if let Some((repeat, failure)) = row.failures.first() {
            let count = row.failures.len();
            lines.push(format!(
                "failed: {count} of {} of {}; repeat {repeat}: {}",
                row.done + count,
                row.cell.id(),
                failure.line()
            ));
        }
    }
    lines.extend(alarms::alarms(report));
    lines.extend(alarms::idling(report));
    lines.extend(doubts(report));
    lines.extend(outliers(report));
    if report.not_run > 0 {
        lines.push(format!("not run: {} of {}", report.not_run, plural(report.experiment.order.len(), "trial")));
    }
    lines.extend(skipped_lines(&report.skipped));
    lines
}

fn outliers(report: &Report) -> Option<String> {
    let named = report.rows.iter().flat_map(|row| {
        let middle = row.figures.rate.map_or(0.0, |rate| rate.median);
        let line = move |(repeat, rate): (u32, f64)| {
            format!("{} repeat {repeat} ({rate:.0} req/s, the median is {middle:.0})", row.cell.id())
        };
        row.outliers().into_iter().map(line)
    });
    let named: Vec<String> = named.collect();
    let first = named.first()?;
    let such = if named.len() > 1 { ", such as " } else { ": " };
    Some(format!("outliers (included in all figures): {}{such}{first}", plural(named.len(), "repeat")))
}

fn doubts(report: &Report) -> Vec<String> {
    let done: usize = report.rows.iter().map(|row| row.done).sum();
    let mut kinds: BTreeMap<Kind, Vec<(&Row, u32, &str, &str)>> = BTreeMap::new();
    for row in &report.rows {
        for (repeat, verdict) in &row.doubts {
            let why = verdict.why.first().map_or("no reason was given", String::as_str);
            let remedy = verdict.remedy.first().map_or("", String::as_str);
            kinds.entry(verdict.kind).or_default().push((row, *repeat, why, remedy));
        }
    }
    let line = |(kind, trials): (Kind, Vec<(&Row, u32, &str, &str)>)| {
        let (row, repeat, why, remedy) = trials[0];
        let remedy = if remedy.is_empty() { String::new() } else { format!("; remedy: {remedy}") };
        format!(
            "{}: {} of {done} trials, such as {} repeat {repeat}: {why}{remedy}",
            kind.word(),
            trials.len(),
            row.cell.id()
        )
    };
    kinds.into_iter().map(line).collect()
}

/// Machine, start and command; one line for each distinct environment.
pub fn circumstances(report: &Report) -> Vec<String> {
    let machines: BTreeSet<String> = report.envs.iter().map(machine).collect();
    let hashes: BTreeSet<String> = report.envs.iter().filter_map(|env| sources(env, report.is_colocated())).collect();
    let are_alike = machines.len() < 2;
    let mut lines: Vec<String> = machines.into_iter().chain(hashes).collect();
    if !are_alike {
        lines.push("The trials were NOT all run under the same conditions: compare the lines above.".to_owned());
    }
    let Experiment { command, started_unix_s, seed, plan_hash, .. } = &report.experiment;
    // A single load has no plan.
    let plan = if plan_hash.is_empty() { String::new() } else { format!(", plan {plan_hash}") };
    lines.push(format!("Started {} as `{}`, seed {seed}{plan}", date(*started_unix_s), command.join(" ")));
    lines
}

/// The crates that were measured or did measure, with the hashes of their sources.
fn sources(env: &Env, is_colocated: bool) -> Option<String> {
    const OF_JOBS: [&str; 2] = ["colocate", "stress"];
    let named = env.source_hashes.as_ref()?.iter().filter(|(name, _)| is_colocated || !OF_JOBS.contains(&&***name));
    let words: Vec<String> = named.map(|(name, hash)| format!("{name} {hash}")).collect();
    (!words.is_empty()).then(|| format!("Source hashes: {}", words.join(", ")))
}

pub fn machine(env: &Env) -> String {
    let mut words = vec![env.cpu.clone().unwrap_or("unknown CPU".to_owned())];
    words.extend(env.cpus_online.map(|n| plural(n as usize, "processor")));
    words.extend(env.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)));
    words.push(env.kernel.clone().unwrap_or("unknown kernel".to_owned()));
    words.extend(env.governor.as_ref().map(|governor| format!("governor {governor}")));
    words.extend(env.clock_source.as_ref().map(|clock| format!("clock {clock}")));
    let hash = env.binary_hash.as_ref().map_or(String::new(), |hash| format!(" ({hash})"));
    words.push(format!("brunt {}{hash}", env.brunt));
    words.join("; ")
}
