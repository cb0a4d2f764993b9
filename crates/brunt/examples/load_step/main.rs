//! Measures how a controller of co-location answers a step of load: `load_step [--steps N] [--policy NAME] [--brunt PATH]
//! [--every TIME] [--ready TIME] [--hold TIME] [--out DIR]`.
//!
//! A service on the last core gets 2,000 requests a second, a fifth of its peak, until the jobs beside it have all that they can
//! get; then 8,000 at once, for 8 s. Each step is made three times: without jobs, with jobs that nothing controls (`none`),
//! and under the policy. docs/reference/load-step.md says what each column is.
//!
//! ```text
//! cargo build --release -p brunt --bins --examples
//! target/release/examples/load_step --steps 10
//! ```

mod child;
mod figures;
mod scene;
mod table;
mod watch;

use brunt_colocate::policy::choice::Choice;
use brunt_results::Span;
use scene::{Scene, Settings};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{env, fs, io, process};

const USAGE: &str = "usage: load_step [--steps N] [--policy NAME] [--brunt PATH] [--every TIME] [--ready TIME] [--hold TIME] \
    [--out DIR]";
/// What has no jobs, in a table.
const ALONE: &str = "alone";

struct Arguments {
    steps: u32,
    policy: String,
    out: Option<PathBuf>,
    settings: Settings,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>, examples: &Path) -> Result<Self, String> {
        let settings = Settings {
            brunt: examples.join("../brunt"),
            ready: Duration::from_secs(30),
            hold: Duration::from_secs(8),
            every: Duration::from_millis(100),
        };
        let mut own = Self { steps: 10, policy: "graded".to_owned(), out: None, settings };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or(USAGE)?;
            let time = || value.parse::<Span>().map(|span| span.0).map_err(|why| format!("{flag}: {why}"));
            match flag.as_str() {
                "--steps" => {
                    own.steps = value.parse().map_err(|_| format!("--steps '{value}' is not a whole number"))?
                }
                "--policy" => own.policy = value.parse::<Choice>().map_err(|why| why.to_string())?.to_string(),
                "--brunt" => own.settings.brunt = value.into(),
                "--out" => own.out = Some(value.into()),
                "--ready" => own.settings.ready = time()?,
                "--hold" => own.settings.hold = time()?,
                "--every" => own.settings.every = time()?,
                _ => return Err(format!("'{flag}' is unknown; {USAGE}")),
            }
        }
        let most = Duration::from_secs(1);
        match (Duration::from_millis(10)..=most).contains(&own.settings.every) && own.settings.hold >= most {
            true => Ok(own),
            false => Err("--every is from 10ms to 1s, and --hold at least 1s".to_owned()),
        }
    }
}

fn main() {
    if let Err(message) = run() {
        eprintln!("error: {message}");
        process::exit(2);
    }
}

fn run() -> Result<(), String> {
    let program = env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    let mut arguments = Arguments::parse(env::args().skip(1), program.parent().unwrap_or(Path::new(".")))?;
    let brunt = &mut arguments.settings.brunt;
    *brunt = fs::canonicalize(&*brunt).map_err(|e| {
        format!("{}: {e}; cargo build --release -p brunt --bins --examples, or --brunt PATH", brunt.display())
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| format!("signals: {e}"))?;
    }
    let temporary = tempfile::tempdir().map_err(|e| format!("a temporary directory: {e}"))?;
    let base = arguments.out.clone().unwrap_or_else(|| temporary.path().to_owned());
    let mut policies = vec![None, Some("none")];
    if arguments.policy != "none" {
        policies.push(Some(arguments.policy.as_str()));
    }
    say(&table::head())?;
    let mut rows = Vec::new();
    for step in 1..=arguments.steps {
        for policy in &policies {
            let name = policy.unwrap_or(ALONE);
            let home = base.join(format!("{step}-{}", name.replace('/', "-")));
            fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
            let home = fs::canonicalize(&home).map_err(|e| format!("{}: {e}", home.display()))?;
            let figures = Scene::new(&arguments.settings, &home, &stop)?.step(*policy)?;
            say(&table::line(&step.to_string(), name, &figures))?;
            rows.push((name, figures));
        }
    }
    for policy in policies {
        let name = policy.unwrap_or(ALONE);
        let of: Vec<_> = rows.iter().filter(|(of, _)| *of == name).map(|(_, figures)| figures.clone()).collect();
        table::summary(name, &of).iter().try_for_each(|line| say(line))?;
    }
    Ok(())
}

/// An error once nothing reads the table any more.
fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{line}").map_err(|e| format!("stdout: {e}"))
}
