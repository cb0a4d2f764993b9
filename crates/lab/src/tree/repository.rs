//! The git repository of a directory, through the `git` command.

use brunt_results::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the work tree.
    pub root: PathBuf,
    /// The directory that was asked about, relative to `root`.
    pub folder: PathBuf,
}

impl Repository {
    pub fn of(dir: &Path) -> Result<Self, Error> {
        let said = git(dir, &["rev-parse", "--show-toplevel", "--show-prefix"])?
            .map_err(|why| Error::Usage(format!("{} is not in a git work tree: {why}", dir.display())))?;
        let mut lines = said.lines().map(PathBuf::from);
        let (root, folder) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        Ok(Self { root, folder })
    }

    /// The commit that a revision names.
    pub fn commit(&self, revision: &str) -> Result<String, Error> {
        let wanted = format!("{revision}^{{commit}}");
        let found = git(&self.root, &["rev-parse", "--verify", "--end-of-options", &wanted])?;
        found.map_err(|_| {
            Error::Usage(format!(
                "'{revision}' names no commit of {}: fetch it first (with actions/checkout, fetch-depth: 0)",
                self.root.display()
            ))
        })
    }

    /// The start of a commit's hash.
    pub fn short(&self, commit: &str) -> String {
        git(&self.root, &["rev-parse", "--short", commit]).ok().and_then(Result::ok).unwrap_or(commit.to_owned())
    }

    /// Whether files that git knows have changes that are in no commit.
    pub fn is_dirty(&self) -> bool {
        let changes = git(&self.root, &["status", "--porcelain", "--untracked-files=no"]);
        changes.is_ok_and(|changes| changes.is_ok_and(|lines| !lines.is_empty()))
    }
}

/// Standard output of a git command, or the first line of its complaint.
pub(super) fn git(dir: &Path, args: &[&str]) -> Result<Result<String, String>, Error> {
    let mut command = Command::new("git");
    // Hooks are for people's checkouts.
    command.arg("-C").arg(dir).args(["-c", "core.hooksPath=/dev/null"]).args(args).stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Failed("there is no git on PATH: apt install git".to_owned()),
        _ => Error::Failed(format!("cannot start git: {error}")),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        return Ok(Ok(text(&output.stdout)));
    }
    let complaint = text(&output.stderr);
    Ok(Err(complaint.lines().next().unwrap_or("git gave no reason").trim_start_matches("fatal: ").to_owned()))
}
