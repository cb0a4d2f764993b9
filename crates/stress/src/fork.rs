//! `fork`: processes that are started, run `true` and are waited for.

use crate::dose::WorkTime;
use crate::error::{StressError, failed, usage};
use crate::resource::{Figure, Other, Resource, Worker};
use crate::stop::Stop;
use rustix::io::Errno;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

#[derive(Debug)]
pub struct Options {
    /// Processes that a thread starts before it waits for all of them.
    pub burst: u64,
}

const PROGRAM: &str = "true";

const MOST_AT_ONCE: u64 = 4096;

/// Time before the next attempt if the first process of a burst is refused.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);

pub(crate) struct Fork {
    burst: usize,
}

impl Fork {
    pub(crate) fn new(options: &Options) -> Result<Self, StressError> {
        match options.burst {
            burst @ 1..=MOST_AT_ONCE => Ok(Self { burst: burst as usize }),
            burst => usage(format!("--burst {burst}: it must be from 1 to {MOST_AT_ONCE}")),
        }
    }
}

impl Resource for Fork {
    fn figure(&self) -> Figure {
        Figure { resource: "fork", unit: "processes", other: Other::Refused, work_time: WorkTime::Wall }
    }

    fn worker(&self, _: usize, _: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        let mut command = Command::new(PROGRAM);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Box::new(Burst { command, size: self.burst, children: Vec::with_capacity(self.burst), refused: 0 }))
    }
}

struct Burst {
    command: Command,
    size: usize,
    /// Empty between steps.
    children: Vec<Child>,
    refused: u64,
}

impl Worker for Burst {
    fn step(&mut self) -> Result<u64, StressError> {
        let mut outcome = Ok(());
        while self.children.len() < self.size {
            match self.command.spawn() {
                Ok(child) => self.children.push(child),
                Err(error) if is_limit(&error) => {
                    self.refused += 1;
                    break;
                }
                Err(error) => {
                    outcome = failed(format!("cannot start the program '{PROGRAM}': {error}; it must be in PATH"));
                    break;
                }
            }
        }
        if self.children.is_empty() {
            thread::sleep(BETWEEN_ATTEMPTS);
        }
        let started = self.children.len() as u64;
        for mut child in self.children.drain(..) {
            // It fails only if the process is not ours.
            let _ = child.wait();
        }
        outcome.map(|()| started)
    }

    fn other(&self) -> u64 {
        self.refused
    }
}

/// A limit of processes or of memory, which may be there to contain this co-runner.
fn is_limit(error: &io::Error) -> bool {
    [Errno::AGAIN, Errno::NOMEM].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
