//! `brunt colocate run`: best-effort jobs beside a service, until a signal, the plan's time or the end of the jobs.

use super::{dry_run, metrics, open};
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use crate::cmd::{current_binary, out_directory, stdout};
use brunt_colocate::clock;
use brunt_colocate::controller::{Controller, End};
use brunt_colocate::objective;
use brunt_colocate::plan::Plan;
use brunt_colocate::policy::Decision;
use brunt_colocate::policy::choice::Choice;
use brunt_colocate::readings::Readings;
use brunt_lab::format::{number, plural};
use brunt_results::colocation::Summary;
use brunt_results::{Error, ExitCode, Span};
use brunt_view::metrics::{Listen, TextPage};
use brunt_view::status_line::StatusLine;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Time between two updates of the status line.
const SHOW: Duration = Duration::from_millis(250);
/// Jobs that take less to end are not spoken of.
const SOON: Duration = Duration::from_secs(1);
/// A warning that has not come for so long is news.
const AGAIN: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plan names the service, the source of its latency, and the jobs, or a queue of jobs. Keys and a first plan are in \
docs/guide/colocate.md. The service is never limited; the jobs run in control groups of their own, at the idle class, and get \
what the policy allots them whenever counts of the service's requests come, and at least 10 times a second. Where counts are \
missing or old, jobs get the floor, then are frozen.

The directory of the run gets summary.json, audit.jsonl (every decision with its readings, see brunt colocate replay) and \
the output of the jobs. At the end, also after Ctrl-C, jobs are ended and every change of this machine is undone; if this \
process is killed, its guardian does so.

Exit status: 0 the run ended as planned or by a signal, 1 the service or the source of its latency ended, or something \
failed, 2 wrong usage or plan.")]
pub struct Args {
    /// TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Policy, instead of the plan's: graded, heracles, heracles/N, heracles-prototype, koordinator, parties, static=CORES,
    /// none
    #[arg(long)]
    policy: Option<Choice>,
    /// End after this time
    #[arg(long, value_name = "TIME")]
    time: Option<Span>,
    /// Check the plan, say what would be limited, and watch for --time, a minute by default, what the policy would give the
    /// jobs; nothing is started or changed
    #[arg(long)]
    dry_run: bool,
    /// Directory of the results [default: runs/colocate]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Serve what the controller does in Prometheus' format: GET /metrics on HOST:PORT, or on :PORT, which is every address of
    /// this machine
    #[arg(long, value_name = "ADDR")]
    metrics: Option<Listen>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing on stderr but errors
    #[arg(short, long)]
    quiet: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let mut plan = open::plan(&self.plan)?;
        plan.policy = self.policy.unwrap_or(plan.policy);
        if let Some(time) = self.time.filter(|time| time.0.is_zero()) {
            return Err(Error::Usage(format!("--time {time}: a run has to last")));
        }
        open::check(&self.plan, &plan)?;
        if self.dry_run {
            // A plan's is that of a night.
            plan.time = self.time;
            let stop = signals::flag(&[SIGINT, SIGTERM, SIGHUP], Repeated::Ignore)?;
            return dry_run::run(&plan, self.json, &StatusLine::new(self.quiet), || stop.load(Ordering::Relaxed));
        }
        plan.time = self.time.or(plan.time);
        let out = self.out.as_ref().or(plan.out.as_ref());
        let out = out_directory(out, "colocate")?;
        let is_new = !out.exists();
        fs::create_dir_all(&out).map_err(|error| Error::Failed(format!("{}: {error}", out.display())))?;
        let asked = signals::count(&[SIGINT, SIGTERM, SIGHUP])?;
        let asked = || asked.load(Ordering::Relaxed);
        let line = StatusLine::new(self.quiet);
        let page = self.metrics.as_ref().map(|listen| TextPage::start(listen, &[])).transpose()?;
        // A run that has not begun leaves nothing.
        let undo = |_: &io::Error| {
            if is_new {
                let _ = fs::remove_dir_all(&out);
            }
        };
        let opened = Controller::open(&current_binary()?, &plan, &out).inspect_err(undo);
        let mut controller = opened.map_err(open::failed)?;
        line.print(&format!("results: {}", out.display()));
        if let Some(page) = &page {
            line.print(&format!("metrics at http://{}/metrics", page.address()));
        }
        let end = follow(&mut controller, &plan, &line, page.as_ref(), || asked() > 0);
        line.clear();
        let (before, mut is_said) = (asked(), false);
        let (summary, problems) = controller.close(&out, &mut |ending| {
            if ending.left >= SOON && !std::mem::replace(&mut is_said, true) {
                line.print(&format!("{ending}; Ctrl-C kills them"));
            }
            asked() > before
        })?;
        stdout::print_as(self.json, &summary, text)?;
        problems.iter().for_each(|problem| line.print(&format!("warning: {problem}")));
        match end? {
            Some(End::Lost(why)) => Err(Error::Failed(why)),
            Some(End::NoMoreJobs) | None if problems.is_empty() => Ok(ExitCode::Good),
            _ => Err(Error::Failed(format!(
                "{} at the end; see brunt colocate recover",
                plural(problems.len(), "problem")
            ))),
        }
    }
}

/// Ticks until the end; why it came, unless by time or signal.
fn follow(
    controller: &mut Controller,
    plan: &Plan,
    line: &StatusLine,
    page: Option<&TextPage>,
    stop: impl Fn() -> bool,
) -> io::Result<Option<End>> {
    let begin = clock::now();
    let end = plan.time.map(|time| begin + time.0);
    let (mut show, mut said) = (begin, Said::default());
    loop {
        let now = clock::now();
        if stop() || end.is_some_and(|end| now >= end) {
            return Ok(None);
        }
        let told = controller.tick(now)?;
        let warnings = told.warnings.iter().filter(|warning| said.is_new(warning, now));
        warnings.for_each(|warning| line.print(&format!("warning: {warning}")));
        if told.end.is_some() {
            return Ok(told.end);
        }
        if now >= show
            && let Some((decision, readings)) = controller.last()
        {
            show = now + SHOW;
            line.set(shown(decision, &readings, controller.running()));
            if let Some(page) = page
                && let Some(status) = controller.status(now)
            {
                page.set(metrics::text(&status));
            }
        }
        controller.wait();
    }
}

/// Warnings of the last minute: what lasts is said once.
#[derive(Debug, Default)]
struct Said(HashMap<String, Instant>);

impl Said {
    fn is_new(&mut self, warning: &str, now: Instant) -> bool {
        self.0.retain(|_, at| now < *at + AGAIN);
        // Said again and again, it lasts.
        self.0.insert(warning.to_owned(), now).is_none()
    }
}

/// The status line.
fn shown(decision: Decision, readings: &Readings, running: usize) -> String {
    let service = match readings.requests {
        Some(reading) => {
            let requests = reading.value;
            format!(
                "{} req/s, {} ms, {} slow",
                number(Some(requests.rate()), 0),
                number(Some(requests.latency_ms), 2),
                requests.slow
            )
        }
        None => "no requests seen".to_owned(),
    };
    let cores = number(Some(decision.allotment.cores), 2);
    format!("{service} | {} on {cores} cores ({})", plural(running, "job"), decision.reason)
}

fn text(summary: &Summary) -> String {
    let percent = |part: u64, of: u64| number((of > 0).then(|| 100.0 * part as f64 / of as f64), 2);
    let Summary { service, jobs, allotment, machine, controller, .. } = summary;
    let objective = objective::words(service.quantile, service.limit_ms);
    let load = service.load.map_or(String::new(), |load| format!(", load {} %", number(Some(100.0 * load), 1)));
    let progress = jobs.progress.map_or(String::new(), |done| {
        format!(", progress {} ({} per s)", number(Some(done), 0), number(Some(done / summary.seconds), 1))
    });
    let used = |label: &str, cores: Option<f64>| {
        cores.map_or(String::new(), |cores| format!("{label} {}  ", number(Some(cores), 2)))
    };
    format!(
        "policy     {}, {} s\n\
         service    {objective}: {} requests, {} % slow, {} of {} s bad ({} %){load}\n\
         jobs       {} attempts, {} done, {} failed, {} preempted, {} s of CPU time{progress}\n\
         allotment  {} cores in the mean, frozen for {} s, {} emergencies, {} changes\n\
         cores      {}{}{}\n\
         controller {} % of a core, {} MiB\n",
        summary.policy,
        number(Some(summary.seconds), 1),
        service.requests,
        percent(service.slow, service.requests),
        service.bad_seconds,
        service.seconds,
        percent(service.bad_seconds, service.seconds),
        jobs.attempts,
        jobs.done,
        jobs.failed,
        jobs.preempted,
        number(Some(jobs.cpu_seconds), 1),
        number(Some(allotment.cores), 2),
        number(Some(allotment.frozen_seconds), 1),
        allotment.emergencies,
        allotment.changes,
        used("service", machine.service_cores),
        used("jobs", machine.job_cores),
        used("all", machine.total_cores),
        number(Some(100.0 * controller.cpu), 2),
        number(Some(controller.memory_bytes as f64 / f64::from(1 << 20)), 1),
    )
}
