//! `brunt run`: reads a plan, runs the experiment and prints its table. The table goes to stdout, everything else to
//! stderr.

mod checks;
#[cfg(not(feature = "fleet"))]
mod hosts_none;
pub(in crate::cmd) mod pair;
pub(in crate::cmd) mod versions;

use super::ci::{CiFlags, Outcome};
#[cfg(feature = "fleet")]
pub(super) use super::fleet::HostsFlag;
use super::load::session::Sessions;
use super::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use super::{current_binary, out_directory, parsed, percent, registered, stdout};
use brunt_lab::plan::{Plan, Style, builtin, read, slicing};
use brunt_lab::report;
use brunt_lab::run::Request;
use brunt_lab::run::experiment::{self, Summary};
use brunt_lab::run::preflight;
use brunt_lab::run_directory::{RunDirectory, last_directory};
use brunt_lab::schedule::{Machine, Schedule};
use brunt_lab::slices::Generator;
use brunt_lab::testers::Tester;
use brunt_results::{Error, ExitCode, Span};
use brunt_view::{preview, trials};
use clap::value_parser;
#[cfg(not(feature = "fleet"))]
pub(super) use hosts_none::HostsFlag;
use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::AtomicBool};
use std::{collections::BTreeSet, fs, io, io::Write as _, rc::Rc, time::Duration, time::Instant};

const OVERRIDES: &str = "Plan overrides";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Built-in plans: quick (under 90 s, needs nothing but this binary), ping-pong-peak, ping-pong-fixed-rate, \
ping-pong-scaling (these compare with other runtimes when run inside a clone of brunt), http-upstreams (with nginx, wrk, \
ab and fortio, where installed), stall (with oha, fortio, hey, h2load, wrk and ab, where installed).

Where possible all targets of a load are up at once and get slices of it in turn, in random order, until their ratios are \
precise; else each trial starts its target anew, shuffled with the plan's seed and interleaved, repeat by repeat. The same \
command continues an interrupted run and retries failed trials; with --resume it never starts a new one.

Examples:
  brunt run quick
  brunt run ping-pong-peak --dry-run
  brunt run ping-pong-peak --only target=brunt-uring,target=monoio --repeat 1 --duration 1s
  brunt run mine.toml --set size=4KiB --out runs/4k

Exit status: 0 every trial has a result, 1 a trial failed, most requests of a trial failed, or the run was ended early, \
2 wrong usage or plan, 3 with --strict, if some comparison has no answer or, by trials, if most results of some cell are not \
trustworthy (see the verdicts).")]
pub struct Args {
    /// TOML file, or name of a built-in plan or of one in ./experiments
    #[arg(value_name = "PLAN")]
    plan: String,

    /// Run directory [default: runs/NAME, or runs/NAME-2 and so on if that one is finished]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only continue an existing run: an error if there is none, nothing to do if it is finished
    #[arg(long, conflicts_with = "fresh")]
    resume: bool,
    /// Discard an unfinished run in the directory and start over
    #[arg(long)]
    fresh: bool,
    /// Show cells, skipped cells with the reason, and the estimated duration; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Exit with 3 if a comparison has no answer or, by trials, if most results of any cell are not trustworthy
    #[arg(long)]
    strict: bool,
    /// How targets take turns: slices, every tenth of a second; trials, one after the other, shuffled; abba, trials of
    /// each load forwards and backwards [default: the plan's, else slices where targets can be compared]
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<Order>,
    /// Table layout: plain, ping-pong, upstreams, interference, heracles; see brunt report --help. Default: the plan's
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// Print every figure, however wide the table is
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    ci: CiFlags,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,

    /// Run only these cells: NAME=VALUE,...; repeating a name adds a value, another name narrows
    #[arg(long, value_name = "CELLS", help_heading = OVERRIDES)]
    only: Vec<String>,
    /// Trials per cell; by slices, fewest starts of each target
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), help_heading = OVERRIDES)]
    repeat: Option<u32>,
    /// Accepted from earlier versions, without effect
    #[arg(long, alias = "again", value_name = "N", value_parser = value_parser!(u32).range(0..=100), hide = true)]
    retries: Option<u32>,
    /// Measured window of every trial; by slices, the time for each target and each start of --repeat
    #[arg(long, short, value_name = "TIME", help_heading = OVERRIDES)]
    duration: Option<Span>,
    /// By slices: longest time for each load
    #[arg(long, value_name = "TIME", conflicts_with = "duration", help_heading = OVERRIDES)]
    budget: Option<Span>,
    /// By slices: a load is done when its intervals are this narrow, as half their width
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = OVERRIDES)]
    precision: Option<f64>,
    /// Differences below it do not matter
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = OVERRIDES)]
    margin: Option<f64>,
    /// Any other setting, for every cell, for example connections=500
    #[arg(long, value_name = "NAME=VALUE", help_heading = OVERRIDES)]
    set: Vec<String>,
    /// Seed of the trial order and of the loads
    #[arg(long, value_name = "N", help_heading = OVERRIDES)]
    seed: Option<u64>,

    #[command(flatten)]
    hosts: HostsFlag,

    /// Program that accepts the arguments of `brunt load`, in place of this binary
    #[arg(long, value_name = "PROGRAM", hide = true)]
    tester: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    Slices,
    #[value(alias = "shuffled")]
    Trials,
    #[value(alias = "mirrored")]
    Abba,
}

/// A plan with the overrides of the command line, and what of it runs here.
struct Planned {
    plan: Plan,
    text: String,
    base: PathBuf,
    machine: Machine,
    schedule: Schedule,
}

/// What is to be run.
struct Prepared {
    request: Request,
    schedule: Schedule,
    machine: Machine,
}

/// Arguments of `brunt run` without the name of the command.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// Refuses arguments of `brunt run` that it would refuse; writes nothing.
pub(super) fn check(words: &[String]) -> Result<(), Error> {
    parsed::<Line>(words)?.args.planned(|plan| plan).map(drop)
}

/// Whether `brunt run` of this plan with these flags compares by slices.
pub(super) fn is_sliced(plan: &str, flags: &[String]) -> Result<bool, Error> {
    let line: Line = parsed([plan].into_iter().chain(flags.iter().map(String::as_str)))?;
    let plan = line.args.overridden(find_plan(plan)?.0)?;
    Ok(line.args.tester.is_none() && plan.is_sliced())
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let planned = self.planned(|plan| plan)?;
        if self.retries.is_some() && !self.quiet {
            let _ =
                writeln!(io::stderr(), "note: --retries has no effect: disturbed trials are marked, and not run again");
        }
        let out = match self.out {
            None if self.resume => last_directory(Path::new("runs"), &planned.plan.name),
            _ => out_directory(self.out.as_ref(), &planned.plan.name)?,
        };
        if self.resume && RunDirectory::at(&out).experiment()?.is_none() {
            let place = out.display();
            let message = format!("--resume: there is no run in {place} to continue; leave --resume out to start one");
            return Err(Error::Usage(message));
        }
        // A second signal is ignored: exiting at once would leave the target running.
        let stop = signals::flag(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore)?;
        let prepared = self.prepared(planned, out, &stop)?;
        if self.dry_run {
            stdout::print(&preview::text(&prepared.request, &prepared.schedule, &prepared.machine))?;
            return Ok(ExitCode::Good);
        }
        let begun = Instant::now();
        let summary = self.measured(&prepared, &stop)?;
        self.conclude(&prepared.request, &summary, begun.elapsed())
    }

    fn prepared(&self, planned: Planned, out: PathBuf, stop: &Arc<AtomicBool>) -> Result<Prepared, Error> {
        let Planned { plan, text: plan_text, base, machine, mut schedule } = planned;
        let brunt = current_binary()?;
        let mut tester = Tester::brunt(&brunt);
        if let Some(program) = &self.tester {
            tester.program = program.clone();
        }
        let request = Request {
            plan,
            plan_text,
            base,
            out,
            fresh: self.fresh,
            tester,
            // Only this program's own load can be cut into slices.
            generator: self.tester.is_none().then(|| Rc::new(Sessions { stop: stop.clone() }) as Rc<dyn Generator>),
            brunt,
            fleet: self.hosts.file()?,
            command: command(),
        };
        if request.is_sliced() {
            schedule.budget = Some(self.slices_budget(&request.plan, &schedule));
        }
        Ok(Prepared { request, schedule, machine })
    }

    fn measured(&self, prepared: &Prepared, stop: &AtomicBool) -> Result<Summary, Error> {
        let Prepared { request, schedule, machine } = prepared;
        let progress = trials::status_line(request, schedule, machine, self.quiet);
        let mut observers = (progress, report::LivePage::new(RunDirectory::at(&request.out)));
        registered(&request.out, || {
            let summary = experiment::run(request, schedule, &mut observers, stop);
            drop(observers);
            summary
        })
    }

    /// Reads the plan, changes it, and schedules it; writes nothing.
    fn planned(&self, change: impl FnOnce(Plan) -> Plan) -> Result<Planned, Error> {
        let (plan, text, base) = find_plan(&self.plan)?;
        let plan = self.overridden(change(plan))?;
        let machine = Machine::here()?;
        if let Some(why) = preflight::missing_file(&plan, &base) {
            return Err(Error::Usage(why));
        }
        let mut unavailable = preflight::unavailable(&plan, &base, no_uring().as_deref());
        unavailable.extend(self.hosts.unavailable(&plan)?);
        let mut schedule = Schedule::new(&plan, &machine, &unavailable, &self.only)?;
        if self.order == Some(Order::Abba) {
            schedule.reorder_abba(plan.seed);
        }
        Ok(Planned { plan, text, base, machine, schedule })
    }

    fn overridden(&self, mut plan: Plan) -> Result<Plan, Error> {
        for pair in &self.set {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Error::Usage(format!("--set '{pair}' is not NAME=VALUE, such as connections=500")));
            };
            plan.set(name.trim(), value).map_err(|e| Error::Usage(format!("--set {e}")))?;
        }
        if let Some(duration) = &self.duration {
            plan.set("duration", &duration.to_string()).map_err(|e| Error::Usage(format!("--{e}")))?;
        }
        plan.order = match self.order {
            Some(Order::Slices) => Some(slicing::Order::Slices),
            Some(Order::Trials | Order::Abba) => Some(slicing::Order::Trials),
            None => plan.order,
        };
        if let (Some(Order::Slices), Some(why)) = (self.order, plan.unsliceable()) {
            return Err(Error::Usage(format!("--order slices: the plan cannot run by slices: {why}")));
        }
        let slicing = &mut plan.slicing;
        slicing.budget = self.budget.unwrap_or(slicing.budget);
        slicing.margin = self.margin.unwrap_or(slicing.margin);
        slicing.precision = self.precision.or(slicing.precision);
        plan.seed = self.seed.unwrap_or(plan.seed);
        plan.repeats = self.repeat.unwrap_or(plan.repeats);
        Ok(plan)
    }

    /// Time for the slices of one load, over all its starts.
    fn slices_budget(&self, plan: &Plan, schedule: &Schedule) -> Duration {
        match self.duration {
            None => plan.slicing.budget.0,
            Some(each) => {
                let targets = schedule.selected().iter().map(|cell| &cell.target).collect::<BTreeSet<_>>().len();
                each.0 * targets as u32 * schedule.repeats
            }
        }
    }

    fn conclude(&self, request: &Request, summary: &Summary, took: Duration) -> Result<ExitCode, Error> {
        let report = report::read(&request.out)?;
        let place = report::write(&report, &RunDirectory::at(&request.out))?;
        let text = report::text(&report, self.style.unwrap_or(report.style()), report::width(self.wide));
        stdout::print(&text)?;
        let mut checks = checks::bounds(&request.plan, &request.out)?;
        let crossed = checks.iter().filter_map(|check| match &check.outcome {
            Outcome::Failed(how) => Some(how.clone()),
            _ => None,
        });
        let crossed: Vec<String> = crossed.collect();
        checks.extend(checks::checks(&report));
        self.ci.report("brunt run", took.as_secs_f64(), &checks, || text)?;
        let mut stderr = io::stderr();
        if !self.quiet {
            let _ = writeln!(stderr, "report: {} and {}", place.display(), brunt_lab::run_directory::PAGE_FILE);
            if summary.run == 0 && !summary.interrupted {
                let _ = writeln!(stderr, "nothing to run: every trial has a result; use --fresh to measure again");
            }
        }
        if summary.interrupted {
            let command = request.command.join(" ");
            let _ = writeln!(stderr, "interrupted; finished trials are kept; continue with: {command}");
        }
        for bound in &crossed {
            let _ = writeln!(stderr, "{bound}");
        }
        let failing = report.failing();
        if let Some(line) = &failing {
            let _ = writeln!(stderr, "error: {line}");
        }
        Ok(match () {
            () if failing.is_some() || summary.interrupted || report.failed() > 0 || report.not_run > 0 => {
                ExitCode::Failed
            }
            () if !crossed.is_empty() => ExitCode::Threshold,
            () if self.strict && !report.is_trusted() => ExitCode::Untrusted,
            () => ExitCode::Good,
        })
    }
}

/// The built-in plan of this name, a file, or a plan of this name in `experiments`; its text, and the folder that its relative
/// paths start from.
pub(super) fn find_plan(name: &str) -> Result<(Plan, String, PathBuf), Error> {
    let folder = Path::new("experiments");
    let in_folder = folder.join(format!("{name}.toml"));
    let file = if !Path::new(name).exists() && in_folder.is_file() { in_folder } else { PathBuf::from(name) };
    let (name, text, base) = match builtin::text(name) {
        // Built-in plans are also files in this folder of a clone; their relative paths are the same either way.
        Some(text) => (format!("{name}.toml"), text.to_owned(), folder),
        None => (file.display().to_string(), plan_file(&file)?, file.parent().unwrap_or(Path::new(""))),
    };
    let plan = read(&name, &text).map_err(|error| Error::Usage(error.to_string()))?;
    Ok((plan, text, base.to_owned()))
}

fn plan_file(path: &Path) -> Result<String, Error> {
    let name = &*path.to_string_lossy();
    fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Usage(format!(
            "there is no plan '{name}': no such file, and the built-in plans are {}{}",
            builtin::names().join(", "),
            brunt_diagnostic::suggest::closest(name, builtin::names())
                .map_or(String::new(), |near| format!("; did you mean '{near}'?")),
        )),
        io::ErrorKind::InvalidData => Error::Usage(format!("{name} is not a plan: it is not text in UTF-8")),
        io::ErrorKind::IsADirectory => {
            Error::Usage(format!("{name} is a directory; name the plan in it, such as {name}/plan.toml"))
        }
        _ => Error::Failed(format!("cannot read {name}: {error}")),
    })
}

/// Reason why io_uring is unavailable; `None` if it is available.
pub(super) fn no_uring() -> Option<String> {
    match brunt_runtime::Runtime::builder().env_prefix("BRUNT").build() {
        Ok(probe) if probe.backend() == brunt_runtime::BackendKind::Uring => None,
        Ok(probe) => Some(probe.fallback_reason().unwrap_or("no reason was given").to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// This command line, with the bare name of the program.
pub(super) fn command() -> Vec<String> {
    let mut words: Vec<String> = brunt_meter::environment::command();
    if let Some(program) = words.first_mut() {
        let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
        *program = name.unwrap_or("brunt".to_owned());
    }
    words
}
