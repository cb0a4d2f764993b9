//! Output files of a load: the directory of `--out` and the file of `--json`.
//!
//! Both are tested for writing before the load starts. Files are written under a temporary name and renamed, so a
//! failed run leaves an existing result unchanged.

use brunt_results::directory::{Directory, SeriesWriter};
use brunt_results::lock::Lock;
use brunt_results::{RunResult, figure};
use brunt_results::{env::Env, start::LoadStart};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Output {
    directory: Option<Directory>,
    json: Option<Json>,
}

#[derive(Debug)]
enum Json {
    Stdout,
    File(JsonFile),
}

/// The file of `--json`.
#[derive(Debug)]
struct JsonFile {
    file: File,
    /// Name until the file is complete; removed on drop. `None` for an existing special file: a pipe, /dev/null.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl JsonFile {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.temporary.as_ref().map_or(Ok(()), |temporary| fs::rename(temporary, &self.path))
    }

    /// Writes test data: on a full disk a file can often be created but not written.
    fn test_write(&mut self) -> io::Result<()> {
        self.file.write_all(&[0; 16 << 10])?;
        self.file.set_len(0)?;
        self.file.rewind()
    }
}

impl Drop for JsonFile {
    fn drop(&mut self) {
        // After the rename this name does not exist.
        let _ = self.temporary.as_ref().map(fs::remove_file);
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

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(Directory::path)
    }

    /// Tells readers of the directory what the load is; the lock is to be held until the result is written. `series.jsonl`
    /// must exist.
    pub(super) fn announce(&self, start: &LoadStart) -> io::Result<Option<Lock>> {
        self.directory.as_ref().map(|directory| directory.announce(start)).transpose()
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
        let mut text = serde_json::to_vec_pretty(&figure::written(result)).map_err(io::Error::other)?;
        text.push(b'\n');
        match &mut self.json {
            None => Ok(()),
            Some(Json::Stdout) => crate::cmd::stdout::print(&String::from_utf8_lossy(&text)),
            Some(Json::File(file)) => file.write(&text).map_err(|error| named(&file.path, error)),
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
                let file = File::options().write(true).open(path).map_err(named)?;
                Ok(Self::File(JsonFile { file, temporary: None, path: path.to_owned() }))
            }
            _ => {
                let name = path.file_name().ok_or_else(|| named(io::Error::from(io::ErrorKind::IsADirectory)))?;
                let temporary = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
                let file = File::create(&temporary).map_err(named)?;
                // From here on the file is removed on error.
                let mut json = JsonFile { file, temporary: Some(temporary), path: path.to_owned() };
                json.test_write().map_err(named)?;
                Ok(Self::File(json))
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
    fn unwritable_paths_are_named_and_a_failed_run_leaves_an_existing_file_alone() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("no/such/out.json");
        for path in [missing.as_path(), home.path(), Path::new("..")] {
            let error = Output::create(None, Some(path)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write to {}", path.display())), "{error}");
        }
        let path = home.path().join("out.json");
        fs::write(&path, "older").unwrap();
        drop(Output::create(None, Some(&path)).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert!(Output::create(None, Some(Path::new("/dev/null"))).is_ok());
    }
}
