//! Heartbeats as they come: over a pipe, of one byte or more each.

use crate::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    Beat,
    /// Nothing, until the time that was given or for less.
    Nothing,
    /// The controller has ended.
    End,
}

pub(crate) trait Heartbeats {
    /// Waits for the next one, until then if that is given.
    fn next(&mut self, until: Option<Instant>) -> io::Result<Heard>;
}

pub(super) struct Pipe<F>(pub(super) F);

impl<F: AsFd> Heartbeats for Pipe<F> {
    fn next(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        let left = until.map(|until| until.saturating_duration_since(clock::now()));
        let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], left.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(Heard::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match rustix::io::read(&self.0, &mut [0; 4096]) {
            Ok(0) => Ok(Heard::End),
            Ok(_) => Ok(Heard::Beat),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Heard::Nothing),
            Err(error) => Err(error.into()),
        }
    }
}
