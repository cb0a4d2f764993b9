//! Builds both versions with one command of the shell, each in its own tree.

use super::{Repository, Worktree};
use crate::fs_error::with_path;
use crate::run::build;
use crate::system::process_group::{describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_results::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::AtomicBool};
use std::{fs, os::unix};

/// The build of a Rust package. The binary is looked for in the tree, wherever other builds go.
const CARGO: &str = "unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR; exec cargo build --release --locked";
/// Lines of a failed build's output in the error.
const LINES: usize = 20;

pub struct Builder<'a> {
    repository: &'a Repository,
    /// Logs, and what builds of the other version keep from one to the next.
    folder: PathBuf,
    command: String,
    is_cargo: bool,
    stop: &'a AtomicBool,
}

impl<'a> Builder<'a> {
    /// `command` is for the shell; without one the tree must be a Rust package.
    pub fn new(
        repository: &'a Repository,
        folder: PathBuf,
        command: Option<&str>,
        stop: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let here = repository.root.join(&repository.folder);
        let mut folders = here.ancestors().take_while(|folder| folder.starts_with(&repository.root));
        let is_cargo = command.is_none();
        if is_cargo && !folders.any(|folder| folder.join("Cargo.toml").is_file()) {
            let message =
                format!("{} has no Cargo.toml: say how to build it, as --build 'make server'", here.display());
            return Err(Error::Usage(message));
        }
        Ok(Self { repository, folder, command: command.unwrap_or(CARGO).to_owned(), is_cargo, stop })
    }

    /// What is run, as a user would type it.
    pub fn command(&self) -> &str {
        self.command.rsplit("exec ").next().filter(|_| self.is_cargo).unwrap_or(&self.command)
    }

    pub fn base(&self, worktree: &Worktree) -> Result<(), Error> {
        let tree = worktree.path();
        let linked = tree.join("target");
        if self.is_cargo && tree.join("Cargo.toml").is_file() && fs::symlink_metadata(&linked).is_err() {
            // Dependencies are built once, not for each commit.
            let kept = self.folder.join("target");
            fs::create_dir_all(&kept)
                .and_then(|()| kept.canonicalize())
                .map_err(with_path(&kept))
                .and_then(|kept| unix::fs::symlink(kept, &linked).map_err(with_path(&linked)))?;
        }
        self.build("base", tree)
    }

    /// Builds the work tree in place.
    pub fn head(&self) -> Result<(), Error> {
        self.build("head", &self.repository.root)
    }

    fn build(&self, name: &str, tree: &Path) -> Result<(), Error> {
        let dir = tree.join(&self.repository.folder);
        if !dir.is_dir() {
            let folder = self.repository.folder.display();
            return Err(Error::Usage(format!(
                "{name} has no directory {folder}: start brunt ci in one that both have"
            )));
        }
        let (log, running) = (self.folder.join(format!("{name}.log")), self.folder.join("building.json"));
        let (registry, _) = ProcessRegistry::open(&running).map_err(with_path(&running))?;
        let words = ["sh", "-c", &self.command].map(str::to_owned);
        let ended = build::run(&words, &dir, &log, &Arc::new(registry), self.stop).map(|(_, status)| status);
        let _ = fs::remove_file(running);
        match ended.map_err(|error| Error::Failed(format!("{name}: the build cannot be started: {error}")))? {
            None => Err(Error::Failed("interrupted: nothing was measured".to_owned())),
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let (command, how, log_lines) = (self.command(), describe_exit(status), last_lines(&log, LINES));
                let lines: String = log_lines.iter().map(|line| format!("\n  {line}")).collect();
                let place = log.display();
                Err(Error::Failed(format!("{name}: the build '{command}' {how}; the end of {place}:{lines}")))
            }
        }
    }
}
