//! Which target of a plan runs a binary of the tree, and which of its words name it.

use super::Repository;
use crate::plan::{Plan, Target, TargetKind};
use crate::run::preflight::{folder, normal};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::Error;
use std::path::{Path, PathBuf, absolute};
use std::{fs, io, os::unix::fs::PermissionsExt};

/// The binary that differs between two versions.
#[derive(Debug, Clone)]
pub struct Differing {
    pub target: Target,
    /// Relative to the top of the tree.
    pub binary: PathBuf,
    /// Words of the command that name it.
    words: Vec<String>,
}

impl Differing {
    /// `target` and `binary` choose; paths in the plan are relative to `base`, `binary` to the current directory.
    pub fn find(
        plan: &Plan,
        base: &Path,
        repository: &Repository,
        target: Option<&str>,
        binary: Option<&Path>,
    ) -> Result<Self, Error> {
        let known: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
        if let Some(name) = target.filter(|name| !known.contains(name)) {
            return Err(Error::Usage(format!("--target '{name}' is not in the plan{}", did_you_mean(name, &known))));
        }
        let binary = binary.map(|path| given(path, repository)).transpose()?;
        let chosen = plan.targets.iter().filter(|one| target.is_none_or(|name| one.name == name));
        let found: Result<Vec<Self>, Error> =
            chosen.filter_map(|target| Self::of(target, base, repository, binary.as_deref()).transpose()).collect();
        let mut found = found?;
        match (found.len(), binary) {
            (1, _) => Ok(found.remove(0)),
            (0, Some(binary)) => Err(Error::Usage(format!(
                "--binary {}: no command of the plan has it among its words, as seen from the plan's folder",
                binary.display()
            ))),
            (0, None) => Err(Error::Usage(format!(
                "no target of the plan runs a program in {}: begin its command with the path from the plan's folder, such as \
                 \"../target/release/server\", or name the binary by --binary PATH",
                repository.root.display()
            ))),
            _ => {
                let names: Vec<&str> = found.iter().map(|one| one.target.name.as_str()).collect();
                let names = names.join(", ");
                Err(Error::Usage(format!(
                    "several targets run programs of the tree: choose one of {names} by --target"
                )))
            }
        }
    }

    fn of(target: &Target, base: &Path, repository: &Repository, binary: Option<&Path>) -> Result<Option<Self>, Error> {
        let TargetKind::Command(words) = &target.kind else { return Ok(None) };
        let dir = absolute(folder(target, base))?;
        // Git names the tree without symbolic links.
        let dir = dir.canonicalize().unwrap_or(dir);
        let in_tree = |word: &str| {
            let path = normal(&dir.join(word)).strip_prefix(&repository.root).ok()?.to_owned();
            (!word.contains(['{', '}'])).then_some(path)
        };
        // A program without a slash is one of PATH.
        let first = in_tree(&words[0]).filter(|_| words[0].contains('/'));
        let Some(binary) = binary.map(Path::to_owned).or(first) else { return Ok(None) };
        let words: Vec<String> = words.iter().filter(|word| in_tree(word).as_ref() == Some(&binary)).cloned().collect();
        Ok((!words.is_empty()).then(|| Self { target: target.clone(), binary, words }))
    }

    /// The binary below `tree`, which `version` was built in.
    pub fn built(&self, tree: &Path, version: &str, command: &str) -> Result<PathBuf, Error> {
        let path = tree.join(&self.binary);
        let why = match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => return Ok(path),
            Ok(_) => "is no program".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        let binary = self.binary.display();
        Err(Error::Failed(format!(
            "{version}: after the build '{command}' its {binary} {why}: see --build and --binary"
        )))
    }

    /// The plan with two targets: this one as `base` and as `head`.
    pub fn versions(&self, plan: Plan, base: &Path, head: &Path) -> Plan {
        let is_binary = |word: &str| self.words.iter().any(|own| own == word);
        plan.into_versions(&self.target, is_binary, [&base.to_string_lossy(), &head.to_string_lossy()])
    }
}

/// A path of the command line, relative to the top of the tree.
fn given(path: &Path, repository: &Repository) -> Result<PathBuf, Error> {
    let here = repository.root.join(&repository.folder);
    let whole = normal(&here.join(path));
    whole.strip_prefix(&repository.root).map(Path::to_owned).map_err(|_| {
        let (path, root) = (path.display(), repository.root.display());
        Error::Usage(format!("--binary {path}: it is not in {root}, so it cannot differ between commits"))
    })
}
