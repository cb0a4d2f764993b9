//! The directory of one trial: `result.json`, `latency.hlog`, `series.jsonl`, `env.json`; of our own load also `load.json`.
//!
//! Files are replaced atomically (written beside, then renamed): a run that dies leaves the old file or the new one.
//! `result.json` is written last and marks the directory as complete.

use crate::agents::AgentNow;
use crate::lock::{Lock, is_locked};
use crate::{env::Env, figure, result::RunResult, series::Second, start::LoadStart};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const START_FILE: &str = "load.json";
const AGENTS_FILE: &str = "agents.json";

/// The directory of one trial.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Creates the directory if needed and tests that it can be written, so that a full disk or a wrong path is an error
    /// before the load starts.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let with_path = |e: io::Error| io::Error::new(e.kind(), format!("cannot write to {}: {e}", path.display()));
        fs::create_dir_all(&path).map_err(with_path)?;
        let probe = path.join(".probe");
        let proven = fs::write(&probe, [0u8; 16 << 10]).and_then(|()| fs::remove_file(&probe));
        // On a full disk, removes the part that was written.
        proven.inspect_err(|_| _ = fs::remove_file(&probe)).map_err(with_path)?;
        Ok(Self { path })
    }

    /// An existing directory, for reading.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it holds a complete result.
    pub fn is_complete(&self) -> bool {
        self.path.join("result.json").exists()
    }

    /// Writes `load.json`, which is locked until the returned value is dropped: readers learn from the lock whether the load
    /// still runs, however it ends. `series.jsonl` must be empty by then.
    pub fn announce(&self, start: &LoadStart) -> io::Result<Lock> {
        let file = self.replace(START_FILE, &json(start)?, |file| {
            // Not every file system has locks.
            let _ = file.try_lock();
            Ok(())
        })?;
        Ok(Lock::of(file))
    }

    pub fn read_start(&self) -> io::Result<LoadStart> {
        self.read_json(START_FILE)
    }

    /// Whether the load that writes to the directory still runs; `None` if that cannot be known.
    pub fn is_written(&self) -> Option<bool> {
        is_locked(&self.path.join(START_FILE))
    }

    /// Writes `agents.json`; nothing waits for the disk.
    pub fn write_agents(&self, agents: &[AgentNow]) -> io::Result<()> {
        self.replace(AGENTS_FILE, &json(&agents)?, |_| Ok(())).map(drop)
    }

    /// The agents of a load that goes on; none if this machine makes it.
    pub fn read_agents(&self) -> io::Result<Vec<AgentNow>> {
        self.read_json(AGENTS_FILE)
    }

    /// Removes `agents.json`, if it is there.
    pub fn remove_agents(&self) {
        let _ = fs::remove_file(self.path.join(AGENTS_FILE));
    }

    pub fn write_env(&self, env: &Env) -> io::Result<()> {
        self.write_json("env.json", env)
    }

    /// Writes `result.json`. Must be the last file written.
    pub fn write_result(&self, result: &RunResult) -> io::Result<()> {
        self.write_json("result.json", &figure::written(result))
    }

    pub fn write_hlog(&self, hlog: &[u8]) -> io::Result<()> {
        self.write("latency.hlog", hlog)
    }

    pub fn series(&self) -> io::Result<SeriesWriter> {
        let file = fs::File::create(self.path.join("series.jsonl")).map_err(|e| self.named("series.jsonl", e))?;
        Ok(SeriesWriter { file })
    }

    pub fn read_result(&self) -> io::Result<RunResult> {
        self.read_json("result.json")
    }

    pub fn read_env(&self) -> io::Result<Env> {
        self.read_json("env.json")
    }

    pub fn write_json(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.write(name, &json(value)?)
    }

    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> io::Result<T> {
        let text = fs::read(self.path.join(name)).map_err(|e| self.named(name, e))?;
        serde_json::from_slice(&text).map_err(|e| self.named(name, io::Error::new(io::ErrorKind::InvalidData, e)))
    }

    /// Writes a file, replacing an older one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace(name, bytes, fs::File::sync_data).map(drop)
    }

    /// Puts a file in the place of an older one in one step, once it is written and `finish` was called.
    fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        finish: impl FnOnce(&fs::File) -> io::Result<()>,
    ) -> io::Result<fs::File> {
        let beside = self.path.join(format!(".{name}.new"));
        let write = || {
            let mut file = fs::File::create(&beside)?;
            file.write_all(bytes)?;
            finish(&file)?;
            fs::rename(&beside, self.path.join(name))?;
            Ok(file)
        };
        write().map_err(|e| self.named(name, e))
    }

    fn named(&self, name: &str, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.join(name).display()))
    }
}

/// Indented, with a line break at the end.
fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}

#[derive(Debug)]
pub struct SeriesWriter {
    file: fs::File,
}

impl SeriesWriter {
    /// Appends one second in a single write, so that readers see whole lines only.
    pub fn push(&mut self, second: &Second) -> io::Result<()> {
        self.append(second)
    }

    /// Appends one second of an external tester: figures that only the generator counts are `null`, not 0.
    pub fn push_metered(&mut self, second: &Second) -> io::Result<()> {
        let mut line = serde_json::to_value(second).map_err(io::Error::other)?;
        for count in ["sent", "completed", "failed", "connections"] {
            line[count] = Value::Null;
        }
        self.append(&line)
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line).map_err(io::Error::other)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_paths_are_errors_and_written_files_can_be_read() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = Directory::create(file.join("trial")).unwrap_err();
        assert!(error.to_string().contains("file/trial"), "{error}");
        let directory = Directory::create(home.path().join("a/b")).unwrap();
        let env = Env { brunt: "x".into(), steal_percent: Some(0.5), open_files: Some((1, 2)), ..Default::default() };
        directory.write_env(&env).unwrap();
        assert_eq!(directory.read_env().unwrap(), env);
        assert!(!directory.is_complete());
        assert_eq!(directory.is_written(), None);
        let start = LoadStart { url: "tcp://a:1".into(), rate: Some(2.5), ..Default::default() };
        let lock = directory.announce(&start).unwrap();
        assert_eq!((directory.read_start().unwrap(), directory.is_written()), (start, Some(true)));
        drop(lock);
        assert_eq!(directory.is_written(), Some(false));
        let mut series = directory.series().unwrap();
        series.push(&Second { at_s: 1.0, ..Default::default() }).unwrap();
        series.push(&Second { at_s: 2.0, ..Default::default() }).unwrap();
        let metered = Second { at_s: 3.0, server_rss_bytes: Some(4096), ..Default::default() };
        series.push_metered(&metered).unwrap();
        let text = fs::read_to_string(directory.path().join("series.jsonl")).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!((&lines[1]["completed"], &lines[2]["completed"]), (&Value::from(0), &Value::Null));
        assert_eq!((&lines[2]["at_s"], &lines[2]["server_rss_bytes"]), (&Value::from(3.0), &Value::from(4096)));
    }
}
