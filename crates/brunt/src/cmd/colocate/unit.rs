//! `brunt colocate unit`: a systemd unit that runs a plan.

use super::open;
use crate::cmd::{current_binary, stdout};
use brunt_results::{Error, ExitCode};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  brunt colocate unit nightly.toml > /etc/systemd/system/nightly.service && systemctl enable --now nightly

Relative paths of the plan, and its results in runs/colocate, runs/colocate-2 ..., are below the current directory. A stop ends the jobs and undoes every change; after a kill of everything at once, \
brunt colocate recover does so.

Exit status: 0 printed, 1 the plan cannot be read, 2 wrong usage or plan.")]
pub struct Args {
    /// TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let plan = open::plan(&self.plan)?;
        let named = |error| Error::Failed(format!("{}: {error}", self.plan.display()));
        let path = self.plan.canonicalize().map_err(named)?;
        let base = std::env::current_dir()?;
        let grace = plan.jobs.iter().filter_map(|job| job.term_grace).map(|grace| grace.0.as_secs()).max();
        stdout::print(&unit(&current_binary()?, &path, &base, grace.unwrap_or(0)))?;
        Ok(ExitCode::Good)
    }
}

/// `grace`: the longest time in seconds that a job has between SIGTERM and SIGKILL.
fn unit(brunt: &Path, plan: &Path, base: &Path, grace: u64) -> String {
    let [brunt, plan, base] = [brunt, plan, base].map(quoted);
    let stop = grace + 30;
    format!(
        "[Unit]\n\
         Description=Best-effort jobs beside a service: {plan}\n\
         After=network.target\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={brunt} colocate run {plan} --quiet\n\
         ExecStopPost={brunt} colocate recover\n\
         # Relative paths of the plan, and the results, are below this directory.\n\
         WorkingDirectory={base}\n\
         StateDirectory=brunt\n\
         Environment=BRUNT_STATE_DIR=/var/lib/brunt\n\
         # The jobs are told to end by the run; its guardians end after it.\n\
         KillMode=mixed\n\
         TimeoutStopSec={stop}\n\
         Delegate=yes\n\
         Restart=on-failure\n\
         RestartSec=10\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// As a word of a unit file.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string().replace('%', "%%").replace('$', "$$");
    match text.chars().any(|c| c.is_whitespace() || "\"'\\;".contains(c)) {
        true => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_need_it() {
        let text = unit(Path::new("/usr/bin/brunt"), Path::new("/etc/my plans/50%.toml"), Path::new("/srv"), 10);
        assert!(
            text.contains("\nExecStart=/usr/bin/brunt colocate run \"/etc/my plans/50%%.toml\" --quiet\n"),
            "{text}"
        );
        assert!(text.contains("\nTimeoutStopSec=40\n") && text.contains("\nWorkingDirectory=/srv\n"), "{text}");
    }
}
