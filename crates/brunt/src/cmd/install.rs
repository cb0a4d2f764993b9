//! `brunt completions` and `brunt man`: what a package installs beside the binary, made from the definitions of the flags.

use super::stdout;
use crate::Cli;
use brunt_results::{Error, ExitCode};
use clap::CommandFactory;
use clap_complete::Shell;
use std::{fs, path::PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "brunt completions bash > ~/.local/share/bash-completion/completions/brunt\n\
                        brunt completions zsh > ~/.zfunc/_brunt\n\
                        brunt completions fish > ~/.config/fish/completions/brunt.fish")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<ExitCode, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "brunt", &mut script);
        stdout::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::Good)
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "brunt man ~/.local/share/man/man1    # then: man brunt-load")]
pub struct Man {
    /// Directory of the pages, one for each command; created if it is missing
    dir: PathBuf,
}

impl Man {
    pub fn run(self) -> Result<ExitCode, Error> {
        let failed = |error| Error::Failed(format!("cannot write manual pages to {}: {error}", self.dir.display()));
        fs::create_dir_all(&self.dir).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.dir).map_err(failed)?;
        Ok(ExitCode::Good)
    }
}
