//! `brunt load A B --compare`: which of several running servers is faster, by slices of the same load on each in turn.

use super::participants::{names, one_server, placed, server};
use super::service::MeteredServer;
use super::{Args, options, requests, session::Sessions, usage};
use crate::cmd::signals::{self, Repeated, SIGINT, SIGTERM};
use crate::cmd::stdout;
use brunt_lab::compare;
use brunt_lab::plan::slicing::Slicing;
use brunt_lab::report::page_of_load_comparison as page_of_load;
use brunt_lab::slices::participant::Participant;
use brunt_lab::slices::rounds::Rounds;
use brunt_lab::slices::session::session;
use brunt_lab::slices::text;
use brunt_results::comparison::Verdict;
use brunt_results::figure::{COST, RATE};
use brunt_results::{Error, ExitCode, Span, directory::Directory};
use brunt_slices::{LoadComparison, Progress, Settings, Slice, SlicedLoad, record};
use brunt_spec::LoadSpec;
use brunt_view::status_line::StatusLine;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

const ONE_START: &str =
    "one start of each server: the answer is about these processes; another start may differ by a percent or more";
const WARMUP: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub(super) struct Comparison {
    /// Compare the URLs, each a server of its own, with the first: slices of the load on each in turn, in random order,
    /// until the ratios are precise or -d is over [default: 60s]
    #[arg(long, help_heading = HEADING)]
    pub(super) compare: bool,
    /// Differences below it do not matter [default: 3%]
    #[arg(long, value_name = "PERCENT", value_parser = crate::cmd::percent, requires = "compare", help_heading = HEADING)]
    margin: Option<f64>,
    /// Half width of the intervals at which to stop [default: half the margin]
    #[arg(long, value_name = "PERCENT", value_parser = crate::cmd::percent, requires = "compare", help_heading = HEADING)]
    precision: Option<f64>,
    /// Length of a slice; longer where replies are few [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "compare", help_heading = HEADING)]
    slice: Option<Span>,
}

const HEADING: &str = "Comparison";

/// Flags that mean nothing in a comparison.
fn unused(args: &Args) -> Option<&'static str> {
    super::first_given(&[
        ("-n", requests::count(&args.spec).is_ok_and(|count| count.is_some())),
        ("--steady", args.spec.steady),
        ("--server-pid", args.server.service.pid.is_some()),
        ("--server-cgroup", args.server.service.server_cgroup.is_some()),
        ("--latency", args.latency),
        ("--calibrate", args.calibrate),
        ("--counts", args.counting.counts.is_some()),
        ("--metrics", args.metrics.metrics.is_some()),
        ("--probe", args.server.there.has_probe()),
        ("--push", args.metrics.push.is_some()),
        ("--fail-if", !args.fail_if.is_empty()),
    ])
}

impl Args {
    /// Compares the servers and prints the answer.
    pub(super) fn compare(&self) -> Result<ExitCode, Error> {
        if self.spec.urls.len() < 2 {
            return usage("--compare needs at least two URLs: the first is the baseline");
        }
        if let Some(flag) = unused(self) {
            return usage(format!("{flag} and --compare: leave one of them out"));
        }
        self.comparison.slice.map_or(Ok(()), crate::cmd::check_slice)?;
        stdout::check_writable(self.html.as_deref())?;
        let stop = signals::flag(&[SIGINT, SIGTERM], Repeated::Kill)?;
        let sessions = Sessions { stop: stop.clone() };
        let allowed = brunt_meter::environment::cpus_allowed();
        let (mut participants, mut notes): (Vec<Participant>, Vec<String>) = (Vec::new(), Vec::new());
        let (mut seed, mut is_open) = (1, false);
        let (names, mut before) = (names(&self.spec.urls), Vec::new());
        for (url, name) in self.spec.urls.iter().zip(&names) {
            let spec = LoadSpec { urls: vec![url.clone()], ..self.spec.clone() };
            let (options, _) = options::options_of(self, &spec, allowed.as_deref())?;
            (seed, is_open) = (self.spec.seed.unwrap_or(options.seed), options.rate.is_some());
            self.server.wait(&options, &stop, self.quiet)?;
            let MeteredServer { process, account, moved_from } = server(&options.target, &self.server)?;
            before.extend(moved_from);
            notes.extend(account.as_ref().err().map(|why| format!("no CPU a request of {name}: {why}")));
            let loader = Box::new(sessions.connect(&options).map_err(Error::Failed)?);
            // Not ours to freeze.
            let server = account.ok();
            let participant = Participant { name: name.clone(), loader, process, server, freezable: None };
            participants.push(participant);
            let all: Vec<_> = participants.iter().map(|one| (one.name.clone(), one.process)).collect();
            notes.extend(one_server(&all));
        }
        notes.extend(placed(&self.server, before));
        notes.push(ONE_START.to_owned());
        let out = self.out.as_ref().map(Directory::create).transpose()?;
        let mut file = out.as_ref().map(|out| File::create(out.path().join(record::FILE))).transpose()?;
        let slicing = self.slicing();
        let precision = slicing.precision();
        let line = StatusLine::new(self.quiet);
        line.set(format!("warming up {} servers", self.spec.urls.len()));
        let begun = Rounds::begin(participants, 1, seed, slicing.slice.0, WARMUP, &[]);
        let mut rounds = begun.map_err(Error::Failed)?;
        let mut slices = Vec::new();
        session(&mut rounds, &stop, Error::Failed, |_, round, made| {
            if let Some(file) = &mut file {
                file.write_all(&round.iter().flat_map(Slice::line).collect::<Vec<u8>>())?;
            }
            slices.extend(round);
            let progress = Progress::of(&slices, &names[0], precision, is_open);
            line.set(text::running(&progress));
            Ok(progress.is_enough() || made.time >= slicing.budget.0)
        })?;
        notes.extend_from_slice(rounds.notes());
        drop(rounds);
        drop(line);
        let load = SlicedLoad { open_loop: is_open, slices, ..SlicedLoad::default() };
        let settings = Settings { margin: slicing.margin, precision };
        let compared = brunt_slices::compare(&[load], &names, &names[0], settings);
        let comparison = compared.into_iter().next().ok_or_else(|| Error::Failed("there was no round".to_owned()))?;
        let comparison = LoadComparison { notes, ..comparison };
        self.show(&comparison)?;
        let code = conclusion(&comparison);
        for target in &comparison.targets {
            if let Some(failures) = target.failures() {
                let name = &target.target;
                let _ = writeln!(io::stderr(), "error: {name}: {failures}; a load of it alone says what to do");
            }
        }
        Ok(code)
    }

    /// The flags; the rest as in a plan that says nothing.
    fn slicing(&self) -> Slicing {
        let (flags, default) = (&self.comparison, Slicing::default());
        Slicing {
            slice: flags.slice.unwrap_or(default.slice),
            margin: flags.margin.unwrap_or(default.margin),
            precision: flags.precision,
            budget: self.spec.duration.unwrap_or(default.budget),
        }
    }

    fn show(&self, comparison: &LoadComparison) -> Result<(), Error> {
        let page = || {
            let words = brunt_meter::environment::command();
            let command = format!("brunt {}", words.get(1..).unwrap_or_default().join(" "));
            page_of_load(&compare::of_load(comparison), vec![("measured by".to_owned(), command)])
        };
        stdout::write_page(self.html.as_deref(), page)?;
        match &self.json {
            Some(path) if path.as_os_str() == "-" => return stdout::print_as(true, comparison, |_| String::new()),
            Some(path) => {
                let json = serde_json::to_string_pretty(comparison).map_err(io::Error::other)?;
                stdout::write_file(path, &(json + "\n"))?;
            }
            None => {}
        }
        Ok(stdout::print(&text::text(comparison))?)
    }
}

/// 0 if every target has an answer; 1 if requests failed; 3 otherwise.
fn conclusion(comparison: &LoadComparison) -> ExitCode {
    let verdicts = || {
        let ratios = comparison.targets.iter().flat_map(|target| &target.ratios);
        ratios.filter(|ratio| [&RATE, &COST].contains(&ratio.figure)).map(|ratio| &ratio.verdict)
    };
    match () {
        () if comparison.targets.iter().any(|target| target.failed > 0) => ExitCode::Failed,
        () if verdicts().count() > 0 && verdicts().all(Verdict::is_answer) => ExitCode::Good,
        () => ExitCode::Untrusted,
    }
}
