//! The parent's side: starts the workers, receives from each on its own thread, and kills them all on drop.

use crate::{frame, worker::HELLO};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{cell::RefCell, os::unix::net::UnixStream, thread};

/// Longest wait for the next worker to make progress while all start at once.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait for the exit status of a worker whose socket is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval at which a start checks whether it is cancelled.
const POLL: Duration = Duration::from_millis(50);

/// What a worker's socket delivers.
#[derive(Debug)]
pub enum WorkerEvent<M> {
    Message(M),
    /// The worker has ended, or sent something that is not an `M`. Always the last event.
    Exited,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{count} processes could not be started ({error}): raise ulimit -u, or lower the number of connections")]
    Spawn { count: usize, error: io::Error },
    /// A worker ended before it was ready; see [`Workers::exit_reason`].
    #[error("{0}")]
    Exited(String),
    #[error("a process did not start within {START_TIMEOUT:?}: the machine is overloaded")]
    Timeout,
    #[error("cancelled while processes were starting")]
    Cancelled,
}

/// Several processes of this executable. Dropping it kills them.
#[derive(Debug)]
pub struct Workers {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    child: RefCell<Child>,
    socket: UnixStream,
}

impl Workers {
    /// Starts `count` processes of this executable with these arguments and waits until all of them run. After an error,
    /// processes already started are killed.
    pub fn start(args: &[&str], count: usize, is_cancelled: impl Fn() -> bool) -> Result<Self, StartError> {
        // If it fails, dropping `all` kills those that run.
        let mut all = Self { workers: Vec::with_capacity(count) };
        for _ in 0..count {
            all.workers.push(Worker::spawn(args).map_err(|error| StartError::Spawn { count, error })?);
        }
        for number in 0..count {
            let since = Instant::now();
            while !all.workers[number].has_said_hello().map_err(|_| StartError::Exited(all.exit_reason(number)))? {
                if is_cancelled() {
                    return Err(StartError::Cancelled);
                }
                if since.elapsed() >= START_TIMEOUT {
                    return Err(StartError::Timeout);
                }
            }
        }
        Ok(all)
    }

    /// Waits for the next message of one worker, before [`Self::listen`]; `None` if it has ended.
    ///
    /// # Errors
    /// It sent something that is not an `M`.
    pub fn recv<M: DeserializeOwned>(&self, worker: usize) -> io::Result<Option<M>> {
        Ok(frame::read(&self.workers[worker].socket)?.map(|(message, _)| message))
    }

    /// Receives from each worker on a thread of its own, with the handler that `handler` makes for its number.
    pub fn listen<M, H>(&self, mut handler: impl FnMut(usize) -> H) -> io::Result<()>
    where
        M: DeserializeOwned,
        H: FnMut(WorkerEvent<M>) + Send + 'static,
    {
        for (number, worker) in self.workers.iter().enumerate() {
            let (socket, mut handle) = (worker.socket.try_clone()?, handler(number));
            thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
                while let Ok(Some((message, _))) = frame::read(&socket) {
                    handle(WorkerEvent::Message(message));
                }
                handle(WorkerEvent::Exited);
            })?;
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// The process id of each worker.
    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().map(|worker| worker.child.borrow().id()).collect()
    }

    /// Sends a message to one worker, with a file if there is one. An exited worker is no error here; it is reported as
    /// [`WorkerEvent::Exited`].
    pub fn send(&self, worker: usize, message: &impl Serialize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        match frame::write(&self.workers[worker].socket, message, file) {
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
            result => result,
        }
    }

    pub fn send_all(&self, message: &impl Serialize) -> io::Result<()> {
        (0..self.count()).try_for_each(|worker| self.send(worker, message, None))
    }

    /// How a worker ended, as `process 3 of 51 (pid 77) was killed by signal 9`.
    pub fn exit_reason(&self, worker: usize) -> String {
        let mut child = self.workers[worker].child.borrow_mut();
        let how = match wait_timeout(&mut child, EXIT_TIMEOUT).map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended with status {code}"),
            Some((None, Some(signal))) => format!("was killed by signal {signal}"),
            Some((None, None)) | None => "stopped responding".to_owned(),
        };
        format!("process {} of {} (pid {}) {how}", worker + 1, self.count(), child.id())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Kills all before waiting for any: each takes a while to close its files.
        for worker in &mut self.workers {
            let _ = worker.child.get_mut().kill();
        }
        for worker in &mut self.workers {
            let _ = worker.child.get_mut().wait();
        }
    }
}

impl Worker {
    fn spawn(args: &[&str]) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(POLL))?;
        // The running executable, even if its file has been replaced since.
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        let child = command.args(args).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn()?;
        Ok(Self { child: RefCell::new(child), socket })
    }

    /// Waits up to [`POLL`] for the first byte.
    fn has_said_hello(&self) -> io::Result<bool> {
        let mut byte = [0];
        match (&self.socket).read(&mut byte) {
            Ok(1) if byte[0] == HELLO => self.socket.set_read_timeout(None).map(|()| true),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn wait_timeout(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let since = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if since.elapsed() < limit => thread::sleep(Duration::from_millis(2)),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}
