//! The controller's end of the guardian.

use super::Options;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running guardian. It takes over when this value is dropped without [`Guardian::stop`].
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    input: Option<ChildStdin>,
}

impl Guardian {
    /// Starts `brunt colocate guardian` with this binary and returns once it watches. Start it before the first change. It
    /// holds the pipe of `last`, which therefore takes over only when this one has gone, too.
    pub fn start(brunt: &Path, options: &Options, last: Option<&Self>) -> io::Result<Self> {
        let span = |time: std::time::Duration| format!("{}ns", time.as_nanos());
        let mut command = Command::new(brunt);
        command.args(["colocate", "guardian", "--journal"]).arg(&options.journal);
        command.args(["--period", &span(options.period), "--grace", &span(options.grace)]);
        if let Some(input) = last.and_then(|last| last.input.as_ref()) {
            let place = format!("/proc/{}/fd/{}", std::process::id(), input.as_raw_fd());
            command.args(["--holds", &place]);
        }
        // Ctrl-C at a terminal is meant for the controller.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| io::Error::new(error.kind(), format!("guardian: {error}")))?;
        let input = child.stdin.take();
        let mut ready = [0];
        let read = child.stdout.take().map_or(Ok(0), |mut output| output.read(&mut ready));
        if read? == 0 {
            let status = child.wait()?;
            return Err(io::Error::other(format!("the guardian ended before it watched: {status}")));
        }
        // A guardian that does not read must not hold up the controller.
        if let Some(input) = &input {
            rustix::io::ioctl_fionbio(input, true)?;
        }
        Ok(Self { child, input })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a heartbeat. An error means that the group has no guardian any more: freeze it, or start another one.
    pub fn beat(&mut self) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the guardian is gone");
        let input = self.input.as_mut().ok_or_else(gone)?;
        input.write_all(b".").map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => gone(),
            io::ErrorKind::WouldBlock => io::Error::new(error.kind(), "the guardian does not read its heartbeats"),
            kind => io::Error::new(kind, format!("guardian: {error}")),
        })
    }

    /// Ends the guardian. Undo the journal before, or it does.
    pub fn stop(mut self) -> io::Result<()> {
        drop(self.input.take());
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("the guardian ended with {status}"))) }
    }
}
