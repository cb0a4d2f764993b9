//! Scripts in Luau that decide what a request gets: `on_request(req)` returns a text, a status with fields and a body, or
//! a table (see `docs/guide/scripts.md`).
//!
//! A [`Script`] is checked once and shared; each worker runs its own [`Instance`] of it. Whatever a script does, its worker
//! goes on: a call has a limit of time, a machine has one of memory, and an error is a 500.

mod args;
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
use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// What a script may use unless it is said otherwise: 16 MiB, 10 ms a call, a second to start.
pub const LIMITS: Limits = Limits { memory: 16 << 20, start: Duration::from_secs(1), call: Duration::from_millis(10) };

/// Tells people of a line from a script.
pub fn to_stderr(line: &str) {
    eprintln!("brunt serve: {line}");
}

/// A script that has been compiled and run once. Cheap to clone, and the same for all workers.
#[derive(Clone)]
pub struct Script(Arc<Source>);

struct Source {
    /// As errors name it.
    name: String,
    text: String,
    limits: Limits,
    sink: LogSink,
    /// Calls of all workers that were answered with 500.
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

    /// Checks a script: compiles it, runs it once, and looks for `on_request`. `sink` hears what it
    /// prints, and its errors: one line each, and no more than one a second from each worker.
    ///
    /// # Errors
    /// If any of these fails; the fault names the line.
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

    /// The script for one worker, whose random numbers follow from `seed`.
    ///
    /// # Errors
    /// As [`Self::compile`]: a script may fail this time only, if it asks for the time or for random numbers.
    pub fn instance(&self, seed: u64) -> Result<Instance, ScriptError> {
        Instance::new(self, seed, Arc::clone(&self.0.sink))
    }

    /// The name it goes by.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many calls have failed so far, over all workers, and were answered with 500.
    pub fn errors(&self) -> u64 {
        self.0.errors.load(Relaxed)
    }

    /// The counter behind [`Self::errors`].
    pub(crate) fn error_counter(&self) -> Arc<AtomicU64> {
        self.0.errors.clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name()).finish()
    }
}

/// Two are equal if they are one.
impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
