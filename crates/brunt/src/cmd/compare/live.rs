//! Measures two targets of a plan in turns with `brunt run`, as a child process. The result is an ordinary run
//! directory that can be compared again.

use super::Args;
use crate::cmd::run::{self, pair::Pair};
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use crate::cmd::{current_binary, out_directory};
use brunt_lab::system::process_group::{Launch, ProcessGroup};
use brunt_lab::system::process_registry::ProcessRegistry;
use brunt_meter::poll::{every, poll};
use brunt_results::{Error, ExitCode};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Timeout for the run to end its trial and write its report after a signal.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the trials; returns their directory and the exit status of the run.
pub(super) fn run(args: &Args, plan: &str, (a, b): &(String, String)) -> Result<(PathBuf, ExitCode), Error> {
    let out = out_directory(args.out.as_ref(), "compare")?;
    let (targets, margin, flags) = ([a.as_str(), b.as_str()], args.judging.margin, args.run.as_slice());
    let pair = Pair { plan, targets, out: &out, repeat: args.repeat, margin, quiet: args.quiet, flags };
    let mut words = pair.words(run::is_sliced(plan, &args.run)?);
    run::check(&words)?;
    words.insert(0, "run".to_owned());
    fs::create_dir_all(&out)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot write to {}: {e}", out.display())))?;
    let launch = Launch {
        program: current_binary()?,
        args: words,
        dir: None,
        env: BTreeMap::new(),
        cores: None,
        // The table of both targets; report.md has it too.
        stdout: File::options().write(true).open("/dev/null")?,
        stderr: File::from(io::stderr().as_fd().try_clone_to_owned()?),
    };
    let stop = signals::flag(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore)?;
    // The child's own process registry is separate: the child opens it to end leftovers.
    let registry_file = out.join("comparing.json");
    let (registry, _) = ProcessRegistry::open(&registry_file)?;
    let mut run = ProcessGroup::start(launch, &Arc::new(registry))?;
    let ended_or_stopped = || {
        let status = run.ended();
        (status.is_some() || stop.load(Ordering::Relaxed)).then_some(status)
    };
    let mut status = poll(Duration::MAX, every(20), ended_or_stopped).flatten();
    if status.is_none() {
        run.stop(STOP_TIMEOUT);
        status = run.ended();
    }
    drop(run);
    let _ = fs::remove_file(registry_file);
    // Remove the directory of a rejected run; a directory with contents is kept.
    let _ = fs::remove_dir(&out);
    let ending = match status.and_then(|status| status.code()) {
        Some(0) => ExitCode::Good,
        Some(2) => ExitCode::Usage,
        _ => ExitCode::Failed,
    };
    Ok((out, ending))
}
