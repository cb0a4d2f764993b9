//! Subcommands, one file each.

mod ci;
mod colocate;
mod compare;
mod compat;
mod cost;
mod doctor;
mod export;
mod find;
#[cfg(feature = "fleet")]
mod fleet;
pub mod hints;
mod install;
mod list;
mod load;
mod report;
mod run;
mod serve;
mod signals;
mod stdout;
mod stress;
mod ui;
mod watch;
mod worker;

use brunt_lab::history::{self, Index};
use brunt_lab::run_directory::default_directory;
use brunt_results::{Error, ExitCode, Span};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run a reference server
    Serve(serve::Args),
    /// Generate load and measure a server
    Load(Box<load::Args>),
    /// Follow a load or a run that writes to a directory
    Watch(watch::Args),
    /// Show past results, running loads and comparisons in the browser
    Ui(ui::Args),
    /// Run an experiment: every cell of a plan, repeated and interleaved
    Run(run::Args),
    /// Compare two sets of results: difference, confidence interval, conclusion
    Compare(compare::Args),
    /// Build this tree and another commit, compare them by slices, and fail on a bound
    Ci(ci::command::Args),
    /// Find the highest rate that meets an SLO
    Find(find::Args),
    /// Measure CPU time over the rate: what a server uses without requests, and what one more costs
    Cost(Box<cost::Args>),
    /// Best-effort jobs beside a latency-critical service
    Colocate(colocate::Args),
    /// Machines that make a load together: start, list, stop
    #[cfg(feature = "fleet")]
    Fleet(fleet::Args),
    /// Make loads on this machine for the operators of a fleet
    #[cfg(feature = "fleet")]
    Agent(fleet::agent::Args),
    /// List past results, newest first
    List(list::Args),
    /// Render the results in a directory again
    Report(report::Args),
    /// Convert results to the format of another program
    Export(export::Args),
    /// Run a wrk, ab or fortio command line and print that tool's output
    As(compat::Args),
    /// Check this machine for settings that distort results
    Doctor(doctor::Args),
    /// Work on one resource of the machine, as a co-runner of what is measured
    Stress(stress::Args),
    /// Print completions for a shell
    Completions(install::Completions),
    /// Write manual pages
    Man(install::Man),
    /// A process of a server or a load that needs several; started by brunt alone.
    #[command(hide = true, alias = "mate")]
    Worker(worker::Args),
}

impl Command {
    pub fn run(self) -> ExitCode {
        if self.may_be_disturbed() {
            for pid in brunt_colocate::controller::left_behind() {
                let what = "was killed with its guardians: its jobs and limits are left on this machine";
                let _ = writeln!(
                    io::stderr(),
                    "warning: brunt colocate run, process {pid}, {what}: brunt colocate recover"
                );
            }
        }
        let result = match self {
            Self::Serve(args) => return args.run(),
            Self::Worker(args) => return args.run(),
            Self::Load(args) => args.run(),
            Self::Watch(args) => args.run(),
            Self::Ui(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Compare(args) => args.run(),
            Self::Ci(args) => args.run(),
            Self::Find(args) => args.run(),
            Self::Cost(args) => args.run(),
            Self::Colocate(args) => args.run(),
            #[cfg(feature = "fleet")]
            Self::Fleet(args) => args.run(),
            #[cfg(feature = "fleet")]
            Self::Agent(args) => args.run(),
            Self::List(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Export(args) => args.run(),
            Self::As(args) => args.run(),
            Self::Doctor(args) => args.run(),
            Self::Stress(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        };
        result.unwrap_or_else(|error| report_error(&error))
    }
}

impl Command {
    /// Whether jobs that an earlier run has left concern it.
    fn may_be_disturbed(&self) -> bool {
        match self {
            Self::Colocate(args) => args.may_be_disturbed(),
            Self::Load(_) | Self::Run(_) | Self::Compare(_) | Self::Find(_) | Self::Cost(_) | Self::Doctor(_) => true,
            _ => false,
        }
    }
}

/// This binary, which is also the server and the generator of experiments.
fn current_binary() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|error| Error::Failed(format!("cannot find the brunt binary: {error}")))
}

/// The directory of `--out`, or the default one of this name.
fn out_directory(out: Option<&PathBuf>, name: &str) -> io::Result<PathBuf> {
    out.cloned().map_or_else(|| default_directory(Path::new("runs"), name), Ok)
}

/// Adds `dir` to the index of results, runs `work`, then adds the results of `dir`. Index errors are warnings and never end
/// a measurement.
fn registered<T>(dir: &Path, work: impl FnOnce() -> T) -> T {
    let folder = history::folder().and_then(|folder| history::register(&folder, dir).map(|()| folder));
    let done = work();
    let added = folder.and_then(|folder| Index::open(&folder)?.add(dir));
    if let Err(Error::Usage(why) | Error::Failed(why)) = added {
        let _ = writeln!(io::stderr(), "warning: {} is missing from brunt list: {why}", dir.display());
    }
    done
}

/// Arguments that another command makes, as the user would type them.
fn parsed<L: clap::Parser>(words: impl IntoIterator<Item: AsRef<str>>) -> Result<L, Error> {
    let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect::<Vec<String>>();
    L::try_parse_from(words).map_err(|error| Error::Usage(error.render().to_string()))
}

/// Prints crossed `--fail-if` bounds. Returns whether there are any.
fn report_crossed(crossed: impl Iterator<Item = String>) -> bool {
    crossed.inspect(|sentence| _ = writeln!(io::stderr(), "threshold crossed: {sentence}")).count() > 0
}

fn share(text: &str, is_valid: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| is_valid(*percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("expected a percentage {expected}, for example 3%"))
}

/// The value of --fail-if.
fn bounds<B: FromStr<Err = String>>(text: &str) -> Result<Vec<B>, String> {
    brunt_results::bounds(text).map(str::parse).collect()
}

/// Checks the value of --slice.
fn check_slice(slice: Span) -> Result<(), Error> {
    let [least, most] = [10, 10_000].map(|ms| Span(Duration::from_millis(ms)));
    match least <= slice && slice <= most {
        true => Ok(()),
        false => Err(Error::Usage(format!("--slice {slice}: it must be from {least} to {most}"))),
    }
}

/// The value of --margin and --precision.
fn percent(text: &str) -> Result<f64, String> {
    share(text, |percent| (0.1..=50.0).contains(&percent), "from 0.1% to 50%")
}

fn report_error(error: &Error) -> ExitCode {
    let text = brunt_results::secrets::without_users(&error.to_string());
    // Errors of clap begin with the word already.
    let prefix = if text.starts_with("error:") { "" } else { "error: " };
    let _ = writeln!(io::stderr(), "{prefix}{}", text.trim_end());
    match error {
        Error::Usage(_) => ExitCode::Usage,
        Error::Failed(_) => ExitCode::Failed,
    }
}
