//! `brunt colocate recover`: undoes the changes of runs that were killed together with their guardians.

use crate::cmd::stdout;
use brunt_colocate::journal::{self, Recovered};
use brunt_lab::format::plural;
use brunt_meter::cgroup::{Linux, remove_orphans};
use brunt_results::{Error, ExitCode};
use std::io::{self, Write as _};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A run of brunt colocate writes every change of this machine to a journal before it makes it, and undoes them at its end; if \
it is killed, its guardian does so. This command is for a run whose guardian was killed too. It kills the jobs that are left, \
removes their control groups, and restores every other setting to the value in the journal. Run it as often as you like: \
runs that are alive are left alone.

Journals are in the directory colocate of $BRUNT_STATE_DIR, $XDG_STATE_HOME/brunt or ~/.local/state/brunt.

Exit status: 0 all is undone, or nothing was left, 1 something could not be undone, 2 wrong usage.")]
pub struct Args {
    /// Journals; by default all of this user
    #[arg(value_name = "JOURNAL")]
    journals: Vec<PathBuf>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let journals = match &self.journals[..] {
            [] => journal::all(&journal::folder()?),
            named => named.to_vec(),
        };
        let (mut text, mut problems) = (String::new(), Vec::new());
        for path in &journals {
            let shown = path.display();
            let said = match journal::recover(&Linux, path) {
                Ok(Recovered::InUse { pid }) => format!("{shown}: in use by process {pid} or its guardian, left alone"),
                Ok(Recovered::EarlierBoot) => format!("{shown}: of an earlier boot, nothing is left of it"),
                Ok(Recovered::Undone { changes, problems: left }) if left.is_empty() => {
                    format!("{shown}: {} undone", plural(changes, "change"))
                }
                Ok(Recovered::Undone { problems: left, .. }) => {
                    problems.extend(left.into_iter().map(|problem| format!("{shown}: {problem}")));
                    continue;
                }
                // Undone by its guardian at this moment.
                Err(_) if self.journals.is_empty() && !path.exists() => continue,
                Err(error) => {
                    problems.push(error.to_string());
                    continue;
                }
            };
            text += &format!("{said}\n");
        }
        if self.journals.is_empty() {
            text.extend(remove_orphans().iter().map(|group| format!("{group}: control group removed\n")));
        }
        if text.is_empty() && problems.is_empty() {
            text = "nothing to undo\n".to_owned();
        }
        stdout::print(&text)?;
        problems.iter().for_each(|problem| _ = writeln!(io::stderr(), "{problem}"));
        match problems.len() {
            0 => Ok(ExitCode::Good),
            count => Err(Error::Failed(format!("not undone: {}", plural(count, "problem")))),
        }
    }
}
