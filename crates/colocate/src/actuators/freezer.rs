//! Whether the processes of the group run at all.

use super::{Capability, Resource};
use crate::cgroup::Group;
use crate::clock;
use brunt_meter::poll::poll;
use std::time::{Duration, Instant};
use std::{fmt, io};

/// How long a freeze is awaited: busy processes take tens of microseconds. One that waits for a core, for the next period of
/// its quota, or for a device freezes when it gets that, and uses no CPU time until then.
const WAIT: Duration = Duration::from_millis(2);
const LOOK_AGAIN: Duration = Duration::from_micros(50);
/// A freeze that takes longer is a fault.
const SLOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Freezer {
    group: Group,
    /// Since when a freeze is under way.
    since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frozen {
    /// They were before.
    Already,
    Now,
    /// Some process has yet to stop; call it again.
    NotYet,
}

#[derive(Debug)]
pub(super) enum Error {
    /// It was asked for long ago and has not taken effect.
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
        Self { group: group.clone(), since: None }
    }

    pub(super) fn capability(&self) -> Capability {
        match self.group.file(&["cgroup.freeze", "freezer.state"]) {
            Some(file) => Capability::available(Resource::Freezer, file.display().to_string()),
            None => {
                Capability::missing(Resource::Freezer, self.group.why_missing("freezer"), "BE jobs cannot be frozen")
            }
        }
    }

    /// Stops every process of the group.
    pub(super) fn freeze(&mut self) -> Result<Frozen, Error> {
        if self.group.is_frozen() {
            return Ok(if self.since.take().is_some() { Frozen::Now } else { Frozen::Already });
        }
        self.group.freeze().map_err(Error::Refused)?;
        let since = *self.since.get_or_insert_with(clock::now);
        if poll(WAIT, || LOOK_AGAIN, || self.group.is_frozen().then_some(())).is_some() {
            self.since = None;
            return Ok(Frozen::Now);
        }
        match clock::since(since) {
            time if time < SLOW => Ok(Frozen::NotYet),
            time => Err(Error::Slow(format!("not frozen after {} ms: a process waits for a device", time.as_millis()))),
        }
    }

    /// False if they could run already.
    pub(super) fn thaw(&mut self) -> io::Result<bool> {
        self.since = None;
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
