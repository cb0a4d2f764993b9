//! Output of `--dry-run`: cells with their cores, skipped cells with the reason, estimated duration.

use brunt_lab::format::plural;
use brunt_lab::run::Request;
use brunt_lab::run_directory::RunDirectory;
use brunt_lab::schedule::{Estimator, Machine, Schedule, ScheduledTrial, format_duration, skipped_lines};
use brunt_lab::slices::rounds::LEAST_RUN;
use brunt_results::Span;
use std::fmt::Write;

/// The preview, ending in a newline.
pub fn text(request: &Request, schedule: &Schedule, machine: &Machine) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}", request.plan.name, request.plan.description);
    for line in headlines(request, schedule, machine) {
        let _ = writeln!(out, "{line}");
    }
    let wanted = schedule.selected();
    let widest = wanted.iter().map(|cell| cell.id().len()).max().unwrap_or(0);
    if widest > 0 {
        out.push('\n');
    }
    for cell in wanted {
        let client = &cell.placement.client;
        let server = cell.placement.server_words();
        let is_replay = cell.settings.replay.is_some();
        let loop_name = if is_replay { "at its own times" } else { "closed loop" };
        let rate = cell.rate().map_or(loop_name.to_owned(), |rate| format!("{} req/s", brunt_results::Rate(rate)));
        let shown = |name| cell.value(name).unwrap_or_default();
        let what = match &cell.settings.path {
            Some(_) if cell.settings.replay.is_some() => format!("replay of {}", shown("replay")),
            Some(_) if cell.settings.request_file.is_some() => format!("requests of {}", shown("request_file")),
            Some(path) => format!("GET {path}"),
            None => cell.settings.size.to_string(),
        };
        let _ = writeln!(
            out,
            "{:widest$}  server on {server}, generator on {client}, {}, {what}, {rate}, {}",
            cell.id(),
            plural(cell.connections() as usize, "connection"),
            cell.settings.duration,
        );
    }
    let mut absent = skipped_lines(&schedule.skipped);
    absent.extend(schedule.filtered_line());
    if !absent.is_empty() {
        let _ = writeln!(out, "\n{}", absent.join("\n"));
    }
    out
}

/// Number of trials, duration, directory, warnings. With `--fresh`, results of an earlier run do not count.
pub(crate) fn headlines(request: &Request, schedule: &Schedule, machine: &Machine) -> Vec<String> {
    let directory = RunDirectory::at(&request.out);
    let is_done = |slot: &ScheduledTrial| !request.fresh && directory.is_done(schedule.cell(*slot).id(), slot.repeat);
    let todo: Vec<ScheduledTrial> =
        schedule.todo(is_done).into_iter().flat_map(|(_, start)| start.iter().copied()).collect();
    let (cells, total) = (schedule.selected().len(), schedule.order.len());
    let done = match total - todo.len() {
        0 => String::new(),
        done => format!(", {done} of them done already"),
    };
    let mut lines = vec![format!(
        "{} x {} = {}{done}; about {}; results in {}",
        plural(cells, "cell"),
        plural(schedule.repeats as usize, if request.is_sliced() { "start" } else { "repeat" }),
        plural(total, "trial"),
        format_duration(Estimator::default().time(schedule, &todo)),
        directory.path().display()
    )];
    if let Some(budget) = schedule.budget {
        let slicing = &request.plan.slicing;
        lines.push(format!(
            "by slices: the targets of a load take turns every {} until their ratios are known to {:.1} %, for at most {}",
            slicing.slice,
            slicing.precision() * 100.0,
            format_duration(budget)
        ));
        let mut testers: Vec<&str> = schedule
            .selected()
            .iter()
            .filter_map(|cell| cell.settings.external_tester().map(|tester| tester.name))
            .collect();
        testers.sort_unstable();
        testers.dedup();
        if !testers.is_empty() {
            let length = Span(slicing.slice.0.max(LEAST_RUN));
            lines.push(format!("a slice by {} is a run of its own of {length} or more", testers.join(", ")));
        }
    }
    if machine.cores.len() == 1 {
        lines.push("server and generator share the only core; figures include both".to_owned());
    }
    let wanted = schedule.selected();
    let mut targets = request.plan.targets.iter().filter(|target| wanted.iter().any(|cell| cell.target == target.name));
    lines.extend(targets.find_map(|target| brunt_lab::system::rlimits::memory_fallback_note(&target.limits)));
    lines
}
