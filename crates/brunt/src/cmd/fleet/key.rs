//! `brunt fleet key`: the key of an agent, with which it joins the fleet.

use super::access::{directory, failed};
use super::files::Files;
use crate::cmd::stdout;
use brunt_fleet::nats::{self, Access, Holder};
use brunt_results::{Error, ExitCode};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The server reads its configuration within a fraction of a second.
const RELOADED: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A key is that of one agent, which can speak and hear as no other. NAME-* makes one for the agents that a launcher starts from one file \
(brunt fleet launch): their names are NAME- and a number. A fleet that is up knows the key at once; a key that is there is kept.

Exit status: 0 written, 1 there is no fleet in the directory or its server does not take the key, 2 wrong usage.")]
pub struct Args {
    /// Names of agents, or NAME-* of a launch
    #[arg(value_name = "NAME", required = true)]
    holders: Vec<Holder>,
    /// Take these keys away: agents that have them are cut off
    #[arg(long)]
    revoke: bool,
    /// The directory of brunt fleet up [default: ~/.local/state/brunt/fleet]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let directory = self.dir.clone().map_or_else(directory, Ok)?;
        let directory = directory.canonicalize().unwrap_or(directory);
        let files = Files::there(&directory)?;
        if self.revoke {
            return self.revoke(&files);
        }
        files.write(&self.holders)?;
        if files.reload() {
            self.holders.iter().try_for_each(|holder| wait(&files.of(holder)))?;
        } else {
            not_up(&directory);
        }
        stdout::print(&self.holders.iter().map(|holder| joining(holder, &files.of(holder))).collect::<String>())?;
        Ok(ExitCode::Good)
    }

    fn revoke(&self, files: &Files) -> Result<ExitCode, Error> {
        for holder in &self.holders {
            if !files.revoke(holder)? {
                return Err(Error::Failed(format!("{holder} has no key: see {}", files.of(holder).display())));
            }
        }
        files.reload();
        Ok(ExitCode::Good)
    }
}

fn not_up(directory: &Path) {
    let shown = directory.display();
    let _ = writeln!(io::stderr(), "note: no fleet is up in {shown}: it knows the key when brunt fleet up runs");
}

/// Waits until the server takes the key of a file.
fn wait(path: &Path) -> Result<(), Error> {
    let access = Access::read(path).map_err(failed)?;
    let began = Instant::now();
    while !nats::is_known(&access).map_err(failed)? {
        if began.elapsed() > RELOADED {
            let shown = path.display();
            return Err(Error::Failed(format!("the server does not take the key of {shown}: see nats.log beside it")));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// How the holder of a key joins.
pub(super) fn joining(holder: &Holder, path: &Path) -> String {
    let (shown, name) = (path.display(), path.file_name().unwrap_or_default().to_string_lossy());
    match holder {
        Holder::Launch(name) => {
            format!(
                "{shown}\n  for the agents {name}-0, {name}-1 and so on, which brunt fleet launch --name {name} starts\n"
            )
        }
        _ => format!("{shown}\n  copy it to the machine of {holder}, and run there: brunt agent --fleet {name}\n"),
    }
}
