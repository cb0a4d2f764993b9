//! Notices that a process has exited: its pidfd becomes readable then, even if its parent has not yet waited for it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::time::Duration;

#[derive(Debug)]
pub struct ExitWatch {
    processes: Vec<(u32, OwnedFd)>,
}

impl ExitWatch {
    /// Watches these processes; leaves out those that exist no longer.
    pub fn of(pids: &[u32]) -> Self {
        let open = |pid: &u32| {
            let process = Pid::from_raw(i32::try_from(*pid).ok()?)?;
            Some((*pid, pidfd_open(process, PidfdFlags::empty()).ok()?))
        };
        Self { processes: pids.iter().filter_map(open).collect() }
    }

    /// The first of the processes, as they were named, that has exited. Does not wait.
    pub fn exited(&self) -> Option<u32> {
        self.wait(Duration::ZERO)
    }

    /// The same, waiting for so long for an exit.
    pub fn wait(&self, timeout: Duration) -> Option<u32> {
        let mut polled: Vec<PollFd<'_>> = self.processes.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        poll(&mut polled, Some(&timeout)).ok()?;
        let number = polled.iter().position(|fd| !fd.revents().is_empty())?;
        Some(self.processes[number].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_exit_is_noticed_before_the_parent_waits_for_it() {
        let mut stays = Command::new("sleep").arg("60").spawn().unwrap();
        let mut goes = Command::new("sleep").arg("60").spawn().unwrap();
        let watch = ExitWatch::of(&[stays.id(), goes.id(), 1 << 30]);
        assert_eq!(watch.exited(), None);
        goes.kill().unwrap();
        assert_eq!(watch.wait(brunt_testkit::LIMIT), Some(goes.id()));
        assert_eq!(watch.exited(), Some(goes.id()));
        stays.kill().unwrap();
        stays.wait().unwrap();
        goes.wait().unwrap();
    }
}
