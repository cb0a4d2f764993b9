//! Output files of a load: the directory of `--out` and the file of `--json`.
//!
//! Both are tested for writing before the load starts. Files are written under a temporary name and renamed, so a
//! failed run leaves an existing result unchanged.

use brunt_results::{
    RunResult,
    directory::{Directory, SeriesWriter},
    env::Env,
};
use std::{
    fs::{self, File},
    io::{self, Seek, Write},
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(super) struct Output {
    directory: Option<Directory>,
    json: Option<Json>,
}

#[derive(Debug)]
enum Json {
    Stdout,
    /// An existing special file: a pipe, /dev/null.
    Special(File, PathBuf),
    Beside(Beside),
}

/// A temporary file, renamed when complete and removed on drop otherwise.
#[derive(Debug)]
struct Beside {
    file: File,
    now: PathBuf,
    then: PathBuf,
}

impl Beside {
    /// Writes test data: on a full disk a file can often be created but not written.
    fn prove_room(&mut self) -> io::Result<()> {
        self.file.write_all(&[0; 16 << 10])?;
        self.file.set_len(0)?;
        self.file.rewind()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After the rename this name does not exist.
        let _ = fs::remove_file(&self.now);
    }
}

impl Output {
    pub(super) fn create(out: Option<&Path>, json: Option<&Path>) -> io::Result<Self> {
        let directory = out.map(Directory::create).transpose()?;
        Ok(Self { directory, json: json.map(Json::create).transpose()? })
    }

    /// True if JSON goes to stdout, so no text may.
    pub(super) fn has_taken_stdout(&self) -> bool {
        matches!(self.json, Some(Json::Stdout))
    }

    /// Writes `env.json` before the load and removes an existing result, which would not belong to it.
    pub(super) fn write_env(&self, env: &Env) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let older = directory.path().join("result.json");
        match fs::remove_file(&older) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named(&older, error)),
            _ => directory.write_env(env),
        }
    }

    pub(super) fn series(&self) -> io::Result<Option<SeriesWriter>> {
        self.directory.as_ref().map(Directory::series).transpose()
    }

    pub(super) fn write(&mut self, env: &Env, hlog: &[u8], result: &RunResult) -> io::Result<()> {
        if let Some(directory) = &self.directory {
            directory.write_env(env)?;
            directory.write_hlog(hlog)?;
            directory.write_result(result)?;
        }
        let mut text = serde_json::to_vec_pretty(result).map_err(io::Error::other)?;
        text.push(b'\n');
        match &mut self.json {
            None => Ok(()),
            Some(Json::Stdout) => crate::cmd::stdout::print(&String::from_utf8_lossy(&text)),
            Some(Json::Special(file, path)) => file.write_all(&text).map_err(|error| named(path, error)),
            Some(Json::Beside(beside)) => {
                let written = beside.file.write_all(&text).and_then(|()| fs::rename(&beside.now, &beside.then));
                written.map_err(|error| named(&beside.then, error))
            }
        }
    }
}

impl Json {
    fn create(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let named = |error| named(path, error);
        match fs::metadata(path) {
            Ok(is) if is.is_dir() => Err(named(io::Error::from(io::ErrorKind::IsADirectory))),
            Ok(is) if !is.is_file() => {
                Ok(Self::Special(File::options().write(true).open(path).map_err(named)?, path.to_owned()))
            }
            _ => {
                let name = path.file_name().ok_or_else(|| named(io::Error::from(io::ErrorKind::IsADirectory)))?;
                let now = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
                let file = File::create(&now).map_err(named)?;
                // From here on the file is removed on error.
                let mut beside = Beside { file, now, then: path.to_owned() };
                beside.prove_room().map_err(named)?;
                Ok(Self::Beside(beside))
            }
        }
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritable_paths_are_named_before_the_load() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("no/such/out.json");
        for path in [missing.as_path(), home.path(), Path::new("..")] {
            let error = Output::create(None, Some(path)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write to {}", path.display())), "{error}");
        }
    }

    #[test]
    fn a_failed_run_leaves_an_existing_file_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out.json");
        fs::write(&path, "older").unwrap();
        drop(Output::create(None, Some(&path)).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert!(Output::create(None, Some(Path::new("/dev/null"))).is_ok());
    }
}
