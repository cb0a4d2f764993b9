//! Luau scripts that make responses: `on_request(req)` returns a text, a status with fields and a body, or a table (see
//! `docs/guide/scripts.md`).
//!
//! A [`Script`] is checked once and shared; each worker runs its own [`Instance`]. Calls have a time limit, instances a memory
//! limit, and an error is answered with 500, so no script stops a worker.

mod error_log;
mod instance;
mod json;
mod request;
mod returned;
#[cfg(test)]
mod tests;
mod values;

pub use brunt_luau::{Kind, Limits, ScriptError};
pub use instance::Instance;

use error_log::LogSink;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Default limits: 16 MiB of memory, 10 ms per call, 1 s to start.
pub const LIMITS: Limits = Limits { memory: 16 << 20, start: Duration::from_secs(1), call: Duration::from_millis(10) };

pub fn to_stderr(line: &str) {
    eprintln!("brunt serve: {line}");
}

/// A script that has been compiled and run once; shared by all workers.
#[derive(Clone)]
pub struct Script(Arc<Source>);

struct Source {
    /// Shown in errors.
    name: String,
    text: String,
    limits: Limits,
    sink: LogSink,
    errors: Arc<AtomicU64>,
}

impl Script {
    /// Reads and checks the script at `path`; see [`Self::compile`].
    ///
    /// # Errors
    /// If it cannot be read, or as [`Self::compile`].
    pub fn open(path: &Path, limits: Limits, sink: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|error| ScriptError::unreadable(path, error))?;
        Self::compile(&path.to_string_lossy(), text, limits, sink)
    }

    /// Compiles a script, runs it once and looks for `on_request`. `sink` receives the lines that it prints, and its errors, at
    /// most one per second and worker.
    ///
    /// # Errors
    /// If one of these fails; the error names the line.
    pub fn compile(
        name: &str,
        text: impl Into<String>,
        limits: Limits,
        sink: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, ScriptError> {
        let script = Self(Arc::new(Source {
            name: name.to_owned(),
            text: text.into(),
            limits,
            sink: Arc::new(sink),
            errors: Arc::default(),
        }));
        Instance::new(&script, 0, Arc::new(|_| ()))?;
        Ok(script)
    }

    /// Starts the script on one worker; `seed` is that of its random numbers.
    ///
    /// # Errors
    /// As [`Self::compile`]: the start of a script may depend on time or random numbers.
    pub fn instance(&self, seed: u64) -> Result<Instance, ScriptError> {
        Instance::new(self, seed, Arc::clone(&self.0.sink))
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Failed calls of all workers; each was answered with 500.
    pub fn errors(&self) -> u64 {
        self.0.errors.load(Relaxed)
    }

    pub(crate) fn error_counter(&self) -> Arc<AtomicU64> {
        self.0.errors.clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name()).finish()
    }
}

/// Scripts are equal if they are the same one.
impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
