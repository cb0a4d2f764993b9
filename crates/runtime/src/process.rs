//! Child processes: the standard library starts them, a pidfd tells when they end, and their pipes are watched.

use crate::named::named;
use crate::net::AsyncFd;
use crate::pipe::{PipeReader, PipeWriter};
use crate::sync::lock;
use crate::{affinity, executor};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::process::{self, Command, ExitStatus, Output};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::{future::poll_fn, io};

/// Starts the process that a command of the standard library describes. Must be called inside `block_on`.
///
/// ```
/// use brunt_runtime::process;
/// use std::process::{Command, Stdio};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let mut child = process::spawn(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()))?;
/// child.stdin.take().unwrap().write_all(b"through a child").await?;
/// let output = child.wait_with_output().await?;
/// assert!(output.status.success() && output.stdout == b"through a child");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// Those of starting it, and of pidfd_open(2) (Linux 5.3), after which the process is killed.
#[track_caller]
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    // Outside `block_on` this panics, before there is a process.
    executor::current(|_| ());
    reap_orphans();
    let mut child = affinity::outside(|| command.spawn()).map_err(|error| {
        let folder = command.get_current_dir().map_or(String::new(), |folder| format!(" in '{}'", folder.display()));
        named(format!("cannot start '{}'{folder}", command.get_program().display()), error)
    })?;
    match Child::watch(&mut child) {
        Ok((end, stdin, stdout, stderr)) => {
            Ok(Child { process: Some(child), end, stdin, stdout, stderr, kills_on_drop: false })
        }
        Err(error) => {
            // Fails only if it has ended.
            let _ = child.kill().and_then(|()| child.wait());
            let program = command.get_program().display();
            Err(named(format!("cannot wait for '{program}', which was killed"), error))
        }
    }
}

/// A process that this one has started. Dropping it leaves the process running, unless [`kill_on_drop`](Self::kill_on_drop) was
/// called. When it has ended it is a zombie until this program starts or drops another one.
#[derive(Debug)]
pub struct Child {
    /// `None` only once dropped.
    process: Option<process::Child>,
    /// A pidfd, readable once the process has ended.
    end: OwnedFd,
    /// The pipe to its standard input, if the command has asked for one.
    pub stdin: Option<PipeWriter>,
    /// The pipe from its standard output, if the command has asked for one.
    pub stdout: Option<PipeReader>,
    /// The pipe from its standard error, if the command has asked for one.
    pub stderr: Option<PipeReader>,
    kills_on_drop: bool,
}

type Watched = (OwnedFd, Option<PipeWriter>, Option<PipeReader>, Option<PipeReader>);

impl Child {
    #[track_caller]
    fn watch(child: &mut process::Child) -> io::Result<Watched> {
        Ok((
            pidfd_open(Pid::from_child(child), PidfdFlags::empty())?,
            child.stdin.take().map(PipeWriter::adopt).transpose()?,
            child.stdout.take().map(PipeReader::adopt).transpose()?,
            child.stderr.take().map(PipeReader::adopt).transpose()?,
        ))
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.as_ref().expect(HELD).id()
    }

    /// Waits until it has ended, after closing its standard input. Cancel-safe; a later call returns the same status.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            AsyncFd::new(&self.end).readable().await?;
        }
    }

    /// Its status if it has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.as_mut().expect(HELD).try_wait()
    }

    /// Waits until it has ended and its pipes are at their ends; returns what it has written to those not taken.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (Collected::from(self.stdout.take()), Collected::from(self.stderr.take()));
        poll_fn(|cx| {
            let (out, err) = (stdout.poll(cx)?, stderr.poll(cx)?);
            if out.is_ready() && err.is_ready() { Poll::Ready(io::Result::Ok(())) } else { Poll::Pending }
        })
        .await?;
        Ok(Output { status: self.wait().await?, stdout: stdout.bytes, stderr: stderr.bytes })
    }

    /// Sends SIGKILL; its status is still to be waited for.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.as_mut().expect(HELD).kill()
    }

    /// Sets whether dropping this kills the process. Initially it does not.
    pub fn kill_on_drop(&mut self, on: bool) {
        self.kills_on_drop = on;
    }
}

const HELD: &str = "the process is held until drop";

impl Drop for Child {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        if self.kills_on_drop {
            let _ = process.kill();
        }
        lock(&ORPHANS).push(process);
        reap_orphans();
    }
}

/// Processes that were dropped and may still run.
static ORPHANS: Mutex<Vec<process::Child>> = Mutex::new(Vec::new());

/// Takes the status of those that have ended, which removes them from the system.
fn reap_orphans() {
    lock(&ORPHANS).retain_mut(|process| matches!(process.try_wait(), Ok(None)));
}

/// What a pipe brings until its end.
struct Collected {
    pipe: Option<PipeReader>,
    bytes: Vec<u8>,
}

impl From<Option<PipeReader>> for Collected {
    fn from(pipe: Option<PipeReader>) -> Self {
        Self { pipe, bytes: Vec::new() }
    }
}

impl Collected {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let mut part = [0; 8192];
        while let Some(pipe) = &mut self.pipe {
            match ready!(pipe.poll_read(cx, &mut part))? {
                0 => self.pipe = None,
                len => self.bytes.extend_from_slice(&part[..len]),
            }
        }
        Poll::Ready(Ok(()))
    }
}
