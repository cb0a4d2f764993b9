//! `brunt cost`: CPU time of servers over their rate. The result goes to stdout, everything else to stderr.

use super::load::{self, Costed, Described, MOST_RATE, MeteredServer, ServerFlags};
use super::signals::{self, Repeated, SIGINT, SIGTERM};
use super::{check_slice, out_directory, percent, registered, stdout};
use brunt_lab::cost::{self, CostReport, Rates, Request, State, Target};
use brunt_results::{Error, ExitCode, Rate, Span, env::Env};
use brunt_view::live::clock;
use brunt_view::status_line::StatusLine;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::rc::Rc;

const HEADING: &str = "Cost";

#[derive(Debug, clap::Args)]
#[command(mut_args = load::flag_of_cost, after_help = "\
Measures CPU time a request at each rate, in slices of load that take turns over targets and rates in random order on \
connections that stay open. CPU time a second is nearly a line over the rate: the standing cost, which a server uses without \
any request, and the marginal cost of one request more. Both have intervals; where the points are on no line, the result \
says so, and at which rate it bends. Targets that cannot be told apart are ties. All slices have one length, 1.5 s or as long \
as it takes until twice the length changes CPU time a request by less than 1 %. No server is stopped between its slices. -d is \
the time for all of it, by default 42 s for each target at each rate.

Examples:
  brunt cost tcp://127.0.0.1:7100 --rates 1k,5k,20k,50k -c 20 --cores 0
  brunt cost http://127.0.0.1:8080/ http://127.0.0.1:8081/ --rates auto --precision 3%

Exit status: 0 every target has both terms, within --precision; 1 a target does not answer, requests failed, or Ctrl-C came \
before the first round; 2 wrong usage; 3 intervals are wider, or a target has no line.")]
pub struct Args {
    #[command(flatten)]
    spec: Described,
    /// Rates to measure at, in requests a second: 1k,5k,20k. auto: 5, 10, 25, 50 and 75 % of what the slowest target
    /// answers in a closed loop
    #[arg(long, value_name = "RATES|auto", value_parser = rates, help_heading = HEADING)]
    rates: Rates,
    /// Half width of the intervals at which to stop
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5%", help_heading = HEADING)]
    precision: f64,
    /// Length of a slice [default: 1.5s, longer where twice as long changes CPU time a request by 1 %]
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    slice: Option<Span>,
    /// Directory for the slices and the result [default: runs/cost, or runs/cost-2 and so on]
    #[arg(long, value_name = "DIR", help_heading = "Result")]
    out: Option<PathBuf>,
    /// Write the result as one self-contained HTML page, as report.html in the directory
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    html: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Result")]
    json: bool,
    /// No progress on stderr
    #[arg(long, help_heading = "Result")]
    quiet: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// The value of --rates.
fn rates(text: &str) -> Result<Rates, String> {
    if text.trim() == "auto" {
        return Ok(Rates::Auto);
    }
    let mut rates: Vec<f64> = Vec::new();
    for word in text.split(',') {
        match word.trim().parse::<Rate>() {
            Ok(rate) if rate <= MOST_RATE => rates.push(rate.0),
            Ok(rate) => return Err(format!("{rate}: at most {MOST_RATE} requests a second")),
            Err(why) => return Err(format!("{why}; or auto")),
        }
    }
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    match rates.len() {
        0 | 1 => Err("a line takes two different rates, such as 1k,10k".to_owned()),
        _ => Ok(Rates::List(rates)),
    }
}

impl Args {
    pub fn run(self) -> Result<ExitCode, Error> {
        self.slice.map_or(Ok(()), check_slice)?;
        stdout::check_writable(self.html.as_deref())?;
        let costed = load::costed(&self.spec, &self.server)?;
        let out = out_directory(self.out.as_ref(), "cost")?;
        let stop = signals::flag(&[SIGINT, SIGTERM], Repeated::Kill)?;
        let processes: Vec<(String, Option<u32>)> =
            costed.iter().map(|one| (one.name.clone(), one.server.process)).collect();
        let mut notes: Vec<String> =
            (1..=processes.len()).filter_map(|count| load::one_server(&processes[..count])).collect();
        let mut before = Vec::new();
        let target =
            |Costed { name, words, closed_words, server: MeteredServer { process, account, moved_from } }: Costed| {
                notes.extend(account.as_ref().err().map(|why| format!("no CPU a request of {name}: {why}")));
                before.extend(moved_from);
                Target { name, words, closed_words, process, server: account.ok() }
            };
        let targets = costed.into_iter().map(target).collect();
        notes.extend(load::placed(&self.server, before));
        let request = Request {
            targets,
            rates: self.rates.clone(),
            slice: self.slice,
            precision: self.precision,
            budget: self.spec.duration,
            seed: self.spec.seed.unwrap_or(1),
            out: out.clone(),
            env: Env { command: super::run::command(), ..brunt_meter::environment::collect() },
            generator: Rc::new(load::session::Sessions { stop: stop.clone() }),
            notes,
        };
        let line = StatusLine::new(self.quiet);
        let mut observe = |state: &State| line.set(words(state, self.precision));
        let measured = registered(&out, || cost::run(request, &stop, &mut observe));
        drop(line);
        let Some(report) = measured? else {
            let _ = writeln!(io::stderr(), "interrupted before the first round was complete");
            return Ok(ExitCode::Failed);
        };
        stdout::write_page(self.html.as_deref(), || Ok(fs::read_to_string(out.join("report.html"))?))?;
        stdout::print_as(self.json, &report, cost::text)?;
        if !self.quiet {
            let out = out.display();
            let _ = writeln!(io::stderr(), "results: {out}, the page {out}/report.html");
        }
        Ok(code(&report))
    }
}

/// What is going on, for the status line.
fn words(state: &State, precision: f64) -> String {
    match state {
        State::Peaks => "closed loops, to find the rates".to_owned(),
        State::Rounds { made, needed, half, slice, left } => {
            let (slice, left) = (Span(*slice), clock(left.as_secs_f64()));
            let rounds = cost::progress(*made, *needed, *half, precision);
            format!("{rounds}; slices of {slice}; at most {left} left")
        }
    }
}

fn code(report: &CostReport) -> ExitCode {
    let failed = |target: &brunt_slices::cost::TargetCost| {
        target.points.is_empty() || target.points.iter().any(|point| point.failed > 0)
    };
    match () {
        () if report.targets.iter().any(failed) => ExitCode::Failed,
        () if report.is_precise && report.targets.iter().all(|target| target.line.is_some()) => ExitCode::Good,
        () => ExitCode::Untrusted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_sorted_and_wrong_ones_refused_with_a_remedy() {
        assert_eq!(rates("auto"), Ok(Rates::Auto));
        assert_eq!(rates("20k, 1k,5k,1000"), Ok(Rates::List(vec![1e3, 5e3, 20e3])));
        for (text, says) in [
            ("1k", "two different rates"),
            ("1k,1000", "two different rates"),
            ("", "is not a rate per second"),
            ("1k,x", "'x' is not a rate per second"),
            ("0,1k", "'0' is not a rate"),
            ("1k,11M", "at most 10M requests a second"),
        ] {
            let said = rates(text).unwrap_err();
            assert!(said.contains(says) && said.lines().count() == 1, "{text}: {said}");
        }
    }
}
