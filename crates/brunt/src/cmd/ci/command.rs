//! `brunt ci`: is this tree slower than another commit? Builds both, runs them as two targets of a plan in one run by slices,
//! and compares. The table goes to stdout, everything else to stderr.

use crate::cmd::compare::judging::Judging;
use crate::cmd::out_directory;
use crate::cmd::run::pair::{Pair, compared};
use crate::cmd::run::{find_plan, versions};
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use brunt_lab::plan::versions::NAMES;
use brunt_lab::tree::{Builder, Differing, Repository, Worktree};
use brunt_results::{Error, ExitCode};
use brunt_view::status_line::StatusLine;
use clap::value_parser;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

const MEASURING: &str = "Measuring";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plan has a target whose command begins with a program of this git work tree, such as \"../target/release/server\" from the \
plan's folder. REF is checked out beside the tree and built there; the tree itself, with changes that are in no commit, is \
built in place. Both run as targets 'base' and 'head': arguments, folder and environment are those of the plan.

Examples:
  brunt ci bench/ci.toml --base origin/main --fail-if 'cost>5%&1us' --fail-if 'p99>10%&1ms'
  brunt ci ci.toml --base HEAD~1 --build 'make server' --binary out/server --fail-if 'rate<-3%' -- --budget 30s

Exit status: 0 no bound was crossed, 1 a build or a trial failed, or interrupted, 2 wrong usage, 3 the comparison is not \
trustworthy (unless --allow-untrusted) or, with --strict, cannot tell whether a bound was crossed, 99 a --fail-if bound was crossed.")]
pub struct Args {
    /// TOML file, or name of a plan in ./experiments
    #[arg(value_name = "PLAN")]
    plan: String,
    /// Commit, branch or tag to compare this tree with
    #[arg(long, value_name = "REF")]
    base: String,
    #[command(flatten)]
    judging: Judging,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,

    /// Command of the shell that builds either version in its tree [default: cargo build --release --locked]
    #[arg(long, value_name = "COMMAND", help_heading = MEASURING)]
    build: Option<String>,
    /// The target, if several run programs of the tree
    #[arg(long, value_name = "NAME", help_heading = MEASURING)]
    target: Option<String>,
    /// The binary or script that differs, if the target's command does not begin with it
    #[arg(long, value_name = "PATH", help_heading = MEASURING)]
    binary: Option<PathBuf>,
    /// Folder for the other commit's tree, which is removed afterwards, and what its builds keep [default: one of
    /// ~/.cache/brunt/ci]
    #[arg(long, value_name = "DIR", help_heading = MEASURING)]
    build_dir: Option<PathBuf>,
    /// Starts of each version [default: 5 by slices, else 16 trials]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), help_heading = MEASURING)]
    repeat: Option<u32>,
    /// Run directory [default: runs/ci, or runs/ci-2 and so on if that one is finished]
    #[arg(long, value_name = "DIR", help_heading = MEASURING)]
    out: Option<PathBuf>,
    /// Flags for brunt run
    #[arg(last = true, value_name = "RUN FLAGS", help_heading = MEASURING)]
    run: Vec<String>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let begun = Instant::now();
        if self.judging.fail_if.is_empty() {
            let message = "no bound: say what fails, as --fail-if 'cost>5%&1us' or --fail-if 'p99>10%&1ms'";
            return Err(Error::Usage(message.to_owned()));
        }
        self.judging.check()?;
        let repository = Repository::of(&env::current_dir()?)?;
        let commit = repository.commit(&self.base)?;
        // Errors of the plan come before the builds.
        let (plan, _, folder) = find_plan(&self.plan)?;
        let differing = Differing::find(&plan, &folder, &repository, self.target.as_deref(), self.binary.as_deref())?;
        let out = out_directory(self.out.as_ref(), "ci")?;
        let pair = Pair {
            plan: &self.plan,
            targets: NAMES,
            out: &out,
            repeat: self.repeat,
            margin: self.judging.margin,
            quiet: self.quiet,
            flags: &self.run,
        };
        versions::check(&pair)?;
        let stop = signals::flag(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore)?;
        let build_dir = self.build_dir.clone().map_or_else(|| default_folder(&repository.root), Ok)?;
        let builder = Builder::new(&repository, build_dir.clone(), self.build.as_deref(), &stop)?;
        // Until both have been measured: programs read files beside them.
        let worktree = Worktree::add(&repository, &commit, &build_dir)?;
        let [base, head] = self.built(&repository, &commit, &builder, &worktree, &differing)?;
        let is_good = versions::measure(&pair, |plan| differing.versions(plan, &base, &head), &stop)?;
        drop(worktree);
        let comparison = match compared(&out, NAMES, self.judging.margin, &self.judging.asked()) {
            // A line has said why.
            Err(_) if !is_good => return Ok(ExitCode::Failed),
            comparison => comparison?,
        };
        let code = if is_good { ExitCode::Good } else { ExitCode::Failed };
        self.judging.conclude("brunt ci", &comparison, &[out], begun.elapsed(), code)
    }

    /// Builds both versions; returns their binaries.
    fn built(
        &self,
        repository: &Repository,
        commit: &str,
        builder: &Builder,
        worktree: &Worktree,
        differing: &Differing,
    ) -> Result<[PathBuf; 2], Error> {
        let line = StatusLine::new(self.quiet);
        let command = builder.command();
        line.print(&format!("base: {} ({}), built by '{command}'", self.base, repository.short(commit)));
        builder.base(worktree)?;
        let base = differing.built(worktree.path(), NAMES[0], command)?;
        let changes = if repository.is_dirty() { " with changes that are in no commit" } else { "" };
        let head = repository.commit("HEAD")?;
        line.print(&format!("head: {}{changes}, built in place", repository.short(&head)));
        builder.head()?;
        Ok([base, differing.built(&repository.root, NAMES[1], command)?])
    }
}

/// A folder of its own for each tree, so that two can be compared at once.
fn default_folder(root: &Path) -> Result<PathBuf, Error> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|cache| cache.is_absolute());
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.ok_or_else(|| {
        Error::Usage("neither XDG_CACHE_HOME nor HOME is set: say where to build by --build-dir".to_owned())
    })?;
    let name: String = root.to_string_lossy().trim_start_matches('/').replace('/', "-");
    Ok(cache.join("brunt/ci").join(name))
}
