//! Whether the processes of the group run at all.

use super::capability::{Capability, Resource};
use crate::cgroup::Group;
use brunt_meter::poll::poll;
use std::time::Duration;
use std::{fmt, io};

/// How long a freeze is awaited. Busy processes take tens of microseconds; one in an uninterruptible wait, as for a disk,
/// is frozen when that ends and uses no CPU time until then.
const TIMEOUT: Duration = Duration::from_millis(20);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

#[derive(Debug)]
pub(super) struct Freezer {
    group: Group,
}

#[derive(Debug)]
pub(super) enum Error {
    /// It was asked for and has not taken effect yet.
    Slow(String),
    Refused(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow(why) => f.write_str(why),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl Freezer {
    pub(super) fn new(group: &Group) -> Self {
        Self { group: group.clone() }
    }

    pub(super) fn capability(&self) -> Capability {
        match self.group.file(&["cgroup.freeze", "freezer.state"]) {
            Some(file) => Capability::available(Resource::Freezer, file.display().to_string()),
            None => {
                Capability::missing(Resource::Freezer, self.group.why_missing("freezer"), "BE jobs cannot be frozen")
            }
        }
    }

    /// Returns once no process of the group can run. False if they were frozen.
    pub(super) fn freeze(&self) -> Result<bool, Error> {
        if self.group.is_frozen() {
            return Ok(false);
        }
        self.group.freeze().map_err(Error::Refused)?;
        let slow = || Error::Slow(format!("not frozen after {} ms: a process waits for a device", TIMEOUT.as_millis()));
        poll(TIMEOUT, || LOOK_AGAIN, || self.group.is_frozen().then_some(true)).ok_or_else(slow)
    }

    /// False if they could run already.
    pub(super) fn thaw(&self) -> io::Result<bool> {
        let asked =
            |file: &std::path::Path| self.group.files().read(file).map(|text| !["0", "THAWED"].contains(&text.trim()));
        // The word that was written, not the state: a freeze may still be under way.
        let file = self.group.file(&["cgroup.freeze", "freezer.state"]);
        if !file.as_deref().map(asked).transpose()?.unwrap_or(false) {
            return Ok(false);
        }
        self.group.thaw().map(|()| true)
    }
}
