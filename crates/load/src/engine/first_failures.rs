//! The first failures of a run, for its report. Later ones cost one load.

use brunt_results::{ConnectCause, ConnectError, WrongReply};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::{io, sync::OnceLock};

#[derive(Debug, Default)]
pub struct FirstFailures {
    /// A reply that was not as expected.
    pub reply: OnceLock<WrongReply>,
    /// Error of a connection that could not be opened.
    connect: OnceLock<ConnectError>,
}

/// Whose limit an error of connecting is.
pub fn cause(error: &io::Error) -> ConnectCause {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ConnectCause::Refused,
        Some(Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL) => ConnectCause::Exhausted,
        _ => ConnectCause::Other,
    }
}

/// Those of one process.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Told {
    pub reply: Option<WrongReply>,
    pub connect: Option<ConnectError>,
}

impl FirstFailures {
    #[cold]
    pub fn note_connect(&self, error: &io::Error) {
        self.connect.get_or_init(|| ConnectError { cause: cause(error), error: error.to_string() });
    }

    pub fn told(&self) -> Told {
        Told { reply: self.reply.get().cloned(), connect: self.connect.get().cloned() }
    }

    /// Adds those of another process.
    pub fn add(&self, told: Told) {
        told.reply.into_iter().for_each(|reply| drop(self.reply.set(reply)));
        told.connect.into_iter().for_each(|connect| drop(self.connect.set(connect)));
    }
}
