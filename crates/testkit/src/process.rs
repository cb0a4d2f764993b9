//! Programs that end with the test that started them.

use crate::{LIMIT, until};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

/// A started program and all of its process group. On drop the group is killed and the program waited for.
///
/// The kernel kills the program too when the thread that started it ends, however that happens (`PR_SET_PDEATHSIG`): also
/// when the test program itself is killed. So a program is started on the thread of its test, not on one that ends earlier.
pub struct Running {
    child: Child,
    /// Lines of a pipe that [`Running::line`] reads.
    lines: Option<Receiver<String>>,
}

impl Running {
    /// Starts the program in a process group of its own.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        die_with_thread(command.process_group(0));
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, lines: None }
    }

    /// Its pipes, and what else the standard library offers.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The process number, which is that of its group too.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program alone.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("a running process");
    }

    /// Sends a signal to its process group, as a terminal does on Ctrl-C.
    #[track_caller]
    pub fn signal_group(&self, signal: Signal) {
        rustix::process::kill_process_group(Pid::from_child(&self.child), signal).expect("a running process group");
    }

    /// True if it has exited.
    pub fn is_over(&self) -> bool {
        has_exited(&self.child).unwrap_or(true)
    }

    /// The next line of stderr, or of stdout if only that is piped; `None` at its end. Panics if nothing comes.
    #[track_caller]
    pub fn line(&mut self) -> Option<String> {
        if self.lines.is_none() {
            self.lines = Some(match (self.child.stderr.take(), self.child.stdout.take()) {
                (Some(pipe), stdout) => {
                    self.child.stdout = stdout;
                    lines(pipe)
                }
                (None, Some(pipe)) => lines(pipe),
                (None, None) => panic!("neither stdout nor stderr is piped"),
            });
        }
        match self.lines.as_ref().map(|lines| lines.recv_timeout(LIMIT)) {
            Some(Ok(line)) => Some(line),
            Some(Err(RecvTimeoutError::Timeout)) => panic!("no line within {} s", LIMIT.as_secs()),
            Some(Err(RecvTimeoutError::Disconnected)) | None => None,
        }
    }

    /// The rest of the first line that has `text` in it.
    #[track_caller]
    pub fn line_after(&mut self, text: &str) -> String {
        let mut before = Vec::new();
        while let Some(line) = self.line() {
            if let Some((_, rest)) = line.split_once(text) {
                return rest.trim().to_owned();
            }
            before.push(line);
        }
        panic!("it ended without a line with {text:?} in it:\n{}", before.join("\n"));
    }

    /// Waits for its end; panics if it does not end.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        until("the program ends", || self.is_over());
        if has_exited(&self.child).is_ok() {
            self.kill_group();
        }
        self.child.wait().expect("its status")
    }

    /// Waits for its end, with all that it wrote to pipes and that has not been read.
    #[track_caller]
    pub fn output(mut self) -> Output {
        let (stdout, stderr) = (gather(self.child.stdout.take()), gather(self.child.stderr.take()));
        let status = self.end();
        let joined = |reader: thread::JoinHandle<Vec<u8>>| reader.join().expect("a reader");
        Output { status, stdout: joined(stdout), stderr: joined(stderr) }
    }

    /// Kills what is left of the group: all of it, or after the end of the program what it started.
    fn kill_group(&self) {
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if has_exited(&self.child).is_ok() {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

/// Whether a child has exited, which stays a zombie: its number is taken until the group is killed. An error if it has been
/// waited for, after which the number may be another's.
fn has_exited(child: &Child) -> rustix::io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), look)?.is_some())
}

/// Sends a signal to any process.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process number");
    rustix::process::kill_process(pid, signal).expect("a running process");
}

/// True until the process has ended; a zombie has.
pub fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, state)| !state.starts_with(" Z")))
}

/// Lines of a pipe, read on a thread until its end, so that its writer never waits.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || BufReader::new(pipe).lines().map_while(Result::ok).for_each(|line| _ = sender.send(line)));
    receiver
}

fn gather(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn die_with_thread(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe calls are allowed: it makes
    // two system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the call.
            match rustix::process::getppid() == Some(parent) {
                true => Ok(()),
                false => Err(std::io::Error::from(rustix::io::Errno::SRCH)),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Running {
        Running::start(Command::new("sh").args(["-c", script]).stdout(Stdio::piped()))
    }

    fn number(line: Option<String>) -> u32 {
        line.expect("a line").parse().expect("a process number")
    }

    #[test]
    fn what_a_program_started_ends_with_it() {
        let mut program = shell("sleep 1000 & echo $!; wait");
        let sleeper = number(program.line());
        assert!(is_running(sleeper));
        drop(program);
        until("the child of the program is gone", || !is_running(sleeper));

        let mut program = shell("sleep 1000 & echo $!");
        let sleeper = number(program.line());
        assert!(program.end().success());
        until("the child that it left is gone", || !is_running(sleeper));
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let pid = thread::spawn(|| {
            let program = shell("exec sleep 1000");
            let pid = program.pid();
            // As if the test program were killed: no destructor runs.
            std::mem::forget(program);
            pid
        });
        let pid = pid.join().unwrap();
        until("the program is gone", || !is_running(pid));
    }

    #[test]
    fn lines_and_output_are_those_of_the_pipes() {
        let mut program = shell("echo one; echo listens on 7; echo three");
        assert_eq!(program.line_after("listens on "), "7");
        assert_eq!((program.line().as_deref(), program.line()), (Some("three"), None));
        assert!(program.end().success() && program.is_over());

        let output = shell("echo out; exit 3").output();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"out\n"[..]));
    }
}
