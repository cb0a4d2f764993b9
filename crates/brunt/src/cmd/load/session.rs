//! The generator of sliced experiments: each target has a set of connections in this process.

use super::words::{metered, options_of};
use brunt_lab::slices::account::TargetAccount;
use brunt_lab::slices::{ConnectionSet, Generator, Measured, SliceSpec};
use brunt_load::Options;
use brunt_load::session::Session;
use brunt_results::result::Load;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Opens connection sets until `stop` is set.
#[derive(Debug)]
pub(in crate::cmd) struct Sessions {
    pub(in crate::cmd) stop: Arc<AtomicBool>,
}

impl Sessions {
    /// Opens all connections of a load and waits for them; the error is one line.
    pub(super) fn connect(&self, options: &Options) -> Result<Box<dyn ConnectionSet>, String> {
        Ok(Box::new(Set(Session::open(options, &self.stop).map_err(|error| error.to_string())?)))
    }
}

impl Generator for Sessions {
    fn open(&self, words: &[String]) -> Result<Box<dyn ConnectionSet>, String> {
        self.connect(&options_of(words).map_err(|error| error.to_string())?)
    }

    fn account(&self, words: &[String]) -> Option<Box<dyn TargetAccount>> {
        metered(words).ok()?.1
    }
}

struct Set(Session);

impl ConnectionSet for Set {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Measured, String> {
        self.0.slice(*spec).map_err(|error| error.to_string())
    }

    fn set_rate(&mut self, per_second: f64) -> Result<(), String> {
        self.0.set_rate(per_second).map_err(|error| error.to_string())
    }

    fn threads(&self) -> &[u32] {
        self.0.threads()
    }

    fn load(&self) -> &Load {
        self.0.load()
    }
}
