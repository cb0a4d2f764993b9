//! The parent's side: starts the mates, hears each on a thread of its own, and ends them all when it is dropped.

use crate::frame;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What is heard of a mate.
#[derive(Debug)]
pub enum WorkerEvent<M> {
    /// A message.
    Message(M),
    /// Nothing more will come: it has ended, or says what nobody understands.
    Exited,
}

/// Several processes of this very program. Dropping it ends them.
#[derive(Debug)]
pub struct Workers {
    mates: Vec<Mate>,
}

#[derive(Debug)]
struct Mate {
    child: Child,
    socket: UnixStream,
}

/// A mate whose socket is closed ends at once; one that does not is killed.
const PATIENCE: Duration = Duration::from_secs(2);

impl Workers {
    /// Starts `count` processes of this program with these arguments. What a mate says goes to `hear`, with the number of
    /// the mate, on a thread for each; the last call for a mate says that it is gone.
    ///
    /// # Errors
    /// A process or a thread could not be started; those that were have ended again.
    pub fn start<M, F>(args: &[&str], count: usize, hear: F) -> io::Result<Self>
    where
        M: DeserializeOwned,
        F: Fn(usize, WorkerEvent<M>) + Clone + Send + 'static,
    {
        let mut crew = Self { mates: Vec::with_capacity(count) };
        for number in 0..count {
            let (socket, theirs) = UnixStream::pair()?;
            let heard = socket.try_clone()?;
            // This program, also if its file has been replaced since it was started.
            let mut command = Command::new("/proc/self/exe");
            if let Some(name) = std::env::args_os().next() {
                command.arg0(name);
            }
            let child = command.args(args).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn()?;
            crew.mates.push(Mate { child, socket });
            let hear = hear.clone();
            thread::Builder::new().name(format!("mate-{number}")).spawn(move || {
                while let Ok(Some((message, _))) = frame::read(&heard) {
                    hear(number, WorkerEvent::Message(message));
                }
                hear(number, WorkerEvent::Exited);
            })?;
        }
        Ok(crew)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.mates.len()
    }

    /// Sends a message to one mate, with a file if there is one. That a mate has ended is no error here: it is heard.
    ///
    /// # Errors
    /// The message cannot be written down.
    pub fn send(&self, mate: usize, message: &impl Serialize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        match frame::write(&self.mates[mate].socket, message, file) {
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
            result => result,
        }
    }

    /// Sends a message to all.
    ///
    /// # Errors
    /// As [`Self::tell`].
    pub fn send_all(&self, message: &impl Serialize) -> io::Result<()> {
        (0..self.count()).try_for_each(|mate| self.send(mate, message, None))
    }

    /// What became of a mate that is gone, as `process 3 of 51 (pid 77) was killed by signal 9`.
    pub fn exit_reason(&mut self, mate: usize) -> String {
        let ended = ended_within(&mut self.mates[mate].child, PATIENCE);
        let how = match ended.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended with status {code}"),
            Some((None, Some(signal))) => format!("was killed by signal {signal}"),
            Some((None, None)) | None => "stopped talking".to_owned(),
        };
        format!("process {} of {} (pid {}) {how}", mate + 1, self.count(), self.mates[mate].child.id())
    }
}

fn ended_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let since = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if since.elapsed() < limit => thread::sleep(Duration::from_millis(2)),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // All at once, then one by one: each takes its time to close its files.
        for mate in &mut self.mates {
            let _ = mate.child.kill();
        }
        for mate in &mut self.mates {
            let _ = mate.child.wait();
        }
    }
}
