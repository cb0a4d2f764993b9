//! `brunt find`: finds the highest rate that meets an SLO. The result goes to stdout, everything else to stderr.

mod planned;

use super::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use super::{current_binary, load, out_directory, registered, share, stdout};
use brunt_lab::Error;
use brunt_lab::format::time;
use brunt_lab::slo_search::{self, Attempt, LoadSource, Range, Request, SloOutcome, Step};
use brunt_results::{ExitCode, Rate, Slo, Span};
use std::io::{self, Write as _};
use std::path::PathBuf;

const PLANNED: &str = "Target of a plan";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "brunt find [OPTIONS] --slo SLO URL [LOAD FLAGS]\n       \
                      brunt find [OPTIONS] --slo SLO --plan PLAN --target NAME",
    after_help = "\
Doubles the rate until the SLO is violated, then bisects until the gap is at most --precision, and confirms the highest \
rate that held with a longer load. A rate is rejected after two violations. Each load is a brunt load with the flags after \
the URL; or, with --plan, a load of the plan on a target that is started anew for it, as a trial of brunt run.

Examples:
  brunt find --slo 'p99<6ms,errors<0.1%' tcp://127.0.0.1:7100 -c 100 --cores 0
  brunt find --slo 'p99.9<2ms' --from 10k --to 80k --step 5s tcp://127.0.0.1:7100 --arrival poisson
  brunt find --slo 'p99<2ms' --plan quick --target epoll
  brunt find --slo 'p99<20ms' --plan web.toml --target nginx --only connections=100 --tester oha

Exit status: 0 the rate was found and confirmed, 1 a load failed, all its requests failed, or the search was interrupted, \
2 wrong usage, 3 no rate holds, or the generator was the limit."
)]
pub struct Args {
    /// Bounds to meet: FIGURE<BOUND,... with p50, p99, p99.9, errors (errors<0.1%) and the other figures of
    /// --fail-if. Without a bound on errors, none are allowed
    #[arg(long, value_name = "SLO")]
    slo: Slo,
    /// First rate to try
    #[arg(long, value_name = "RATE", default_value = "1k")]
    from: Rate,
    /// Highest rate to try
    #[arg(long, value_name = "RATE")]
    to: Option<Rate>,
    /// Largest gap between the highest rate that holds and the lowest that does not
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "3%")]
    precision: f64,
    /// Measured window of each load; longer where a percentile needs more requests
    #[arg(long, value_name = "TIME", default_value = "3s")]
    step: Span,
    /// Measured window of the confirming load
    #[arg(long, value_name = "TIME", default_value = "15s")]
    confirm: Span,
    /// Seed of the first load; incremented for each further one
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Directory for the result of each load [default: runs/find, or runs/find-2 and so on]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,

    /// TOML file, or name of a built-in plan, with the target and its load
    #[arg(long, value_name = "PLAN", help_heading = PLANNED, requires = "target", conflicts_with = "url")]
    plan: Option<String>,
    /// Target of the plan
    #[arg(long, value_name = "NAME", help_heading = PLANNED, requires = "plan")]
    target: Option<String>,
    /// The load, if the plan has several: NAME=VALUE,...
    #[arg(long, value_name = "CELLS", help_heading = PLANNED, requires = "plan")]
    only: Vec<String>,
    /// Makes the load: brunt, fortio, hey, h2load, oha [default: the plan's]
    #[arg(long, value_name = "TESTER", help_heading = PLANNED, requires = "plan")]
    tester: Option<String>,

    /// Target, as for brunt load
    #[arg(value_name = "URL", required_unless_present = "plan")]
    url: Option<String>,
    /// Flags for brunt load: connections, cores, size, ...
    #[arg(value_name = "LOAD FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    load: Vec<String>,
}

fn precision(text: &str) -> Result<f64, String> {
    share(text, |percent| (1.0..=100.0).contains(&percent), "from 1% to 100%")
}

/// Flags of brunt load that the search sets.
const LONG_FLAGS: [&str; 8] =
    ["--rate", "--qps", "--rate-per-core", "--duration", "--requests", "--out", "--json", "--fail-if"];
const SHORT_FLAGS: [&str; 5] = ["-R", "-q", "-d", "-z", "-n"];

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        self.check()?;
        let out = out_directory(self.out.as_ref(), "find")?;
        let source = match (&self.plan, &self.url) {
            (Some(plan), _) => LoadSource::Planned(Box::new(planned::target(self, plan, &out)?)),
            (None, url) => LoadSource::Url {
                brunt: current_binary()?,
                url: url.clone().unwrap_or_default(),
                flags: self.load.clone(),
            },
        };
        if let LoadSource::Planned(planned) = &source
            && let [_, ..] = planned.target().build.as_slice()
            && !self.quiet
        {
            let _ = writeln!(io::stderr(), "building {}: {}", planned.target().name, planned.target().build.join(" "));
        }
        let request = Request {
            source,
            slo: self.slo.clone(),
            range: Range { from: self.from.0, to: self.to.map(|to| to.0), precision: self.precision },
            step: self.step,
            confirm: self.confirm,
            seed: self.seed,
            out,
        };
        // A second signal is ignored: exiting at once would leave a load running.
        let stop = signals::flag(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore)?;
        let found = registered(&request.out, || {
            slo_search::run(&request, &stop, &mut |next, step| self.report_step(next, step))
        })?;
        let Some(found) = found else {
            let _ = writeln!(io::stderr(), "interrupted; the loads so far are in {}", request.out.display());
            return Ok(ExitCode::Failed);
        };
        stdout::print_as(self.json, &found, slo_search::text)?;
        Ok(found.end.confirmed().map_or(ExitCode::Untrusted, |_| ExitCode::Good))
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(to) = self.to.filter(|to| to.0 < self.from.0) {
            let from = self.from;
            return Err(Error::Usage(format!(
                "--to {to} is below --from {from}: the search starts there and increases"
            )));
        }
        let is_set_by_search = |word: &&String| {
            let name = word.split('=').next().unwrap_or(word);
            // A short flag may have its value attached.
            LONG_FLAGS.contains(&name)
                || !name.starts_with("--") && SHORT_FLAGS.iter().any(|short| name.starts_with(short))
        };
        match self.load.iter().find(is_set_by_search) {
            Some(word) => Err(Error::Usage(format!(
                "{word} after the URL: the search sets rate, duration and files of each load (--from, --to, --step, \
                 --confirm, --out, before the URL)"
            ))),
            None => {
                let rate = ["-R".to_owned(), self.from.to_string()];
                let words = |url| std::iter::once(url).chain(&rate).chain(&self.load).cloned().collect::<Vec<String>>();
                self.url.as_ref().map_or(Ok(()), |url| load::check(&words(url)))
            }
        }
    }

    fn report_step(&self, next: &Attempt, step: Option<&Step>) {
        if self.quiet {
            return;
        }
        let rate = Rate(next.rate);
        let _ = match step {
            None if next.confirms => writeln!(io::stderr(), "{rate} requests/s, to confirm it"),
            None => writeln!(io::stderr(), "{rate} requests/s"),
            Some(step) => {
                let word = match step.outcome {
                    SloOutcome::Holds => "holds",
                    SloOutcome::Breaks => "breaks",
                    SloOutcome::GeneratorLimited => "the generator was the limit",
                };
                let why: String = step.broken.iter().map(|why| format!("; {why}")).collect();
                writeln!(io::stderr(), "  {word}: p50 {}, p99 {}{why}", time(step.p50_us), time(step.p99_us))
            }
        };
    }
}
