//! `brunt find`: finds the highest rate that meets an SLO. The result goes to stdout, everything else to stderr.

mod planned;

use super::load::session::Sessions;
use super::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use super::{check_slice, current_binary, load, out_directory, registered, share, stdout};
use brunt_inputs::address;
use brunt_lab::slices::Generator;
use brunt_lab::slo_search::{self, CommandedLoads, LoadSource, Metered, Range, Request, State};
use brunt_results::{Error, ExitCode, Rate, Slo, Span};
use brunt_view::live::clock;
use brunt_view::status_line::StatusLine;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

const PLANNED: &str = "Target of a plan";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "brunt find [OPTIONS] --slo SLO URL [LOAD FLAGS]\n       \
                      brunt find [OPTIONS] --slo SLO --plan PLAN --target NAME",
    after_help = "\
Doubles the rate until the SLO is violated twice, then alternates rates between there and the last one that held, in \
random order, a slice of load each, on connections that stay open. So a slow spell of the machine hits all rates alike. The \
slices of a rate together say whether the SLO holds there; the search ends when the highest rate that holds and the lowest \
that breaks are within --precision and measured for --confirm each. The flags after the URL are those of brunt load; with \
--plan, a target of the plan is started. Other testers than brunt make whole runs, each on a target started anew; so do agents \
of a fleet (--on after the URL).

Examples:
  brunt find --slo 'p99<6ms,errors<0.1%' tcp://127.0.0.1:7100 -c 100 --cores 0
  brunt find --slo 'p99.9<2ms' --from 10k --to 80k --step 5s tcp://127.0.0.1:7100 --arrival poisson
  brunt find --slo 'p99<2ms' --plan quick --target epoll
  brunt find --slo 'p99<20ms' --plan web.toml --target nginx --only connections=100 --tester oha

Exit status: 0 the rate was found, 1 a load failed, all its requests failed, or the search was interrupted, 2 wrong usage, \
3 no rate holds, the generator was the limit, or the time was over before an answer."
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
    /// Measured time at a rate before it counts as held or broken; the window of a whole run, longer where a
    /// percentile needs more requests [default: 1s; 3s with whole runs]
    #[arg(long, value_name = "TIME")]
    step: Option<Span>,
    /// Measured time at both rates of the result [default: 5s; 15s with whole runs]
    #[arg(long, value_name = "TIME")]
    confirm: Option<Span>,
    /// Shortest slice of load at one rate
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    slice: Span,
    /// Time for the search [default: 60s; 5m with whole runs]
    #[arg(long, value_name = "TIME")]
    budget: Option<Span>,
    /// Seed of the order and of the arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Directory for the slices and the result of each rate [default: runs/find, or runs/find-2 and so on]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the result as one self-contained HTML page, as report.html in the directory
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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

/// A limit that is known to less than so many times the precision asked for is no answer.
const COARSE: f64 = 2.0;

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        self.check()?;
        stdout::check_writable(self.html.as_deref())?;
        let out = out_directory(self.out.as_ref(), "find")?;
        // A second signal is ignored: exiting at once would leave a target running.
        let stop = signals::flag(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore)?;
        let generator: Rc<dyn Generator> = Rc::new(Sessions { stop: stop.clone() });
        let source = match (&self.plan, &self.url) {
            (Some(plan), _) => LoadSource::Planned(Box::new(planned::target(self, plan, &out, generator)?)),
            (None, url) => {
                let (url, words) = (url.clone().unwrap_or_default(), self.words());
                match load::is_on_agents(&words)? {
                    true => self.on_agents(&url)?,
                    false => {
                        let (server, account) = load::metered(&words)?;
                        let account = Metered::new(account);
                        LoadSource::Url { url: address::shown(&url), words, server, account, generator }
                    }
                }
            }
        };
        if let LoadSource::Planned(planned) = &source
            && let [_, ..] = planned.target().build.as_slice()
            && !self.quiet
        {
            let _ = writeln!(io::stderr(), "building {}: {}", planned.target().name, planned.target().build.join(" "));
        }
        let defaults = if source.is_by_runs() { [3, 15, 300] } else { [1, 5, 60] };
        let [step, confirm, budget] = defaults.map(|seconds| Span(Duration::from_secs(seconds)));
        let request = Request {
            source,
            slo: self.slo.clone(),
            range: Range { from: self.from.0, to: self.to.map(|to| to.0), precision: self.precision },
            step: self.step.unwrap_or(step),
            confirm: self.confirm.unwrap_or(confirm),
            slice: self.slice,
            budget: self.budget.unwrap_or(budget),
            seed: self.seed,
            out,
            command: super::run::command(),
        };
        let line = StatusLine::new(self.quiet);
        let mut known = (None, None);
        let found = registered(&request.out, || {
            slo_search::run(&request, &stop, &mut |state| known = report_state(&line, state, known))
        });
        drop(line);
        let Some(found) = found? else {
            let _ = writeln!(io::stderr(), "interrupted; the loads so far are in {}", request.out.display());
            return Ok(ExitCode::Failed);
        };
        stdout::write_page(self.html.as_deref(), || Ok(fs::read_to_string(request.out.join("report.html"))?))?;
        stdout::print_as(self.json, &found, slo_search::text)?;
        if !self.quiet {
            let out = request.out.display();
            let _ = writeln!(
                io::stderr(),
                "results: {out}, the page {out}/report.html, a directory for each rate in {out}/steps"
            );
        }
        let is_precise = found.end.gap().is_none_or(|gap| gap <= COARSE * self.precision);
        Ok(if is_precise && found.end.confirmed().is_some() { ExitCode::Good } else { ExitCode::Untrusted })
    }

    /// Agents of a fleet make whole loads.
    fn on_agents(&self, url: &str) -> Result<LoadSource, Error> {
        let words = ["load".to_owned(), url.to_owned()].into_iter().chain(self.load.iter().cloned());
        let (url, program) = (address::shown(url), current_binary()?);
        Ok(LoadSource::Command(Box::new(CommandedLoads { url, program, words: words.collect() })))
    }

    /// Arguments of `brunt load`.
    fn words(&self) -> Vec<String> {
        let rate = ["-R".to_owned(), self.from.to_string()];
        self.url.iter().chain(&rate).chain(&self.load).cloned().collect()
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(to) = self.to.filter(|to| to.0 < self.from.0) {
            let from = self.from;
            return Err(Error::Usage(format!(
                "--to {to} is below --from {from}: the search starts there and increases"
            )));
        }
        check_slice(self.slice)?;
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
            None => self.url.as_ref().map_or(Ok(()), |_| load::check(&self.words())),
        }
    }
}

/// Ends of the result so far.
type Ends = (Option<f64>, Option<f64>);

/// Shows the rates that were just tried and the time left; a line stays where the ends have changed from `known`. Returns the
/// ends.
fn report_state(line: &StatusLine, state: &State, known: Ends) -> Ends {
    let tried = state.rates.iter().map(|rate| Rate(*rate).to_string()).collect::<Vec<_>>().join(", ");
    let left = match state.expected {
        Some(expected) => format!("about {} left", clock(expected.as_secs_f64())),
        None => format!("at most {} left", clock(state.at_most.as_secs_f64())),
    };
    if state.is_ascending {
        line.print(&format!("{tried} requests/s; {left}"));
        return known;
    }
    line.set(format!("round {}: {tried} requests/s; {left}", state.rounds));
    if state.bracket != known {
        let end = |word: &str, rate: Option<f64>| rate.map(|rate| format!("{word} {}", Rate(rate)));
        let ends = [end("holds at", state.bracket.0), end("breaks at", state.bracket.1)];
        let ends: Vec<String> = ends.into_iter().flatten().collect();
        line.print(&format!("round {}: {}; {left}", state.rounds, ends.join(", ")));
    }
    state.bracket
}
