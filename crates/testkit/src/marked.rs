//! Programs that start others in process groups of their own, which end with the test nevertheless.

use crate::wait::within_limit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Every process inherits it from the one that started it.
const VARIABLE: &str = "BRUNT_TEST_MARK";

/// All processes that a program starts, directly or not. They are killed on drop, also of a test that panics.
///
/// The program itself is among them; a [`Running`](crate::Running) of it is dropped first, so that it starts nothing meanwhile.
pub struct Marked {
    /// The variable with its value.
    variable: String,
}

impl Marked {
    /// Marks a program that is to be started.
    pub fn new(command: &mut Command) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let value = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        command.env(VARIABLE, &value);
        Self { variable: format!("{VARIABLE}={value}") }
    }

    /// Those that run.
    pub fn pids(&self) -> Vec<u32> {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
        pids.filter(|pid| self.has(*pid)).collect()
    }

    /// False of a process that has ended: a zombie has no environment.
    fn has(&self, pid: u32) -> bool {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == self.variable.as_bytes())
    }

    /// A handle of a process, taken before it is looked at: its number may be another's afterwards.
    fn handle(&self, pid: u32) -> Option<OwnedFd> {
        let handle = pidfd_open(Pid::from_raw(pid.try_into().ok()?)?, PidfdFlags::empty()).ok()?;
        self.has(pid).then_some(handle)
    }
}

/// A handle is readable once its process has ended.
fn has_ended(handle: &OwnedFd) -> bool {
    let mut set = [PollFd::new(handle, PollFlags::IN)];
    matches!(poll(&mut set, Some(&Timespec::default())), Ok(1))
}

impl Drop for Marked {
    fn drop(&mut self) {
        let mut killed = Vec::new();
        // No panic at the limit: the test may be panicking.
        let _ = within_limit(|| {
            let pids = self.pids();
            for handle in pids.iter().filter_map(|pid| self.handle(*pid)) {
                let _ = pidfd_send_signal(&handle, Signal::KILL);
                killed.push(handle);
            }
            // One that is about to end has no environment any more.
            killed.retain(|handle| !has_ended(handle));
            (pids.is_empty() && killed.is_empty()).then_some(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Running, is_running, until_some};
    use std::panic::resume_unwind;

    #[test]
    fn all_that_a_program_has_started_ends_with_a_test_that_panics() {
        let test = || {
            let mut command = Command::new("sh");
            command.args(["-c", "setsid sh -c 'setsid sleep 1000 & sleep 1000' & wait"]);
            let marked = Marked::new(&mut command);
            let running = Running::start(&mut command);
            let pids = until_some("all are started", || Some(marked.pids()).filter(|pids| pids.len() == 4));
            assert!(pids.contains(&running.pid()));
            // A panic without a message.
            resume_unwind(Box::new(pids));
        };
        let panic = std::thread::spawn(test).join().unwrap_err();
        let pids = panic.downcast::<Vec<u32>>().unwrap();
        assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
    }
}
