//! Starts programs in a thread of its own: starting one takes until the kernel has loaded it, which is long on a busy machine.

use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::{io, mem};

#[derive(Debug, Default)]
pub(super) struct Starter(Option<Thread>);

#[derive(Debug)]
struct Thread {
    commands: Sender<Command>,
    started: Receiver<io::Result<Child>>,
    handle: JoinHandle<()>,
}

impl Starter {
    /// Hands over a command; [`Self::started`] has the result later.
    pub(super) fn start(&mut self, command: Command) -> io::Result<()> {
        let thread = match &mut self.0 {
            Some(thread) => thread,
            none => none.insert(Thread::new()?),
        };
        thread.commands.send(command).map_err(|_| gone())
    }

    /// The result of the oldest command, if it is there.
    pub(super) fn started(&self) -> Option<io::Result<Child>> {
        match self.0.as_ref().map(|thread| thread.started.try_recv()) {
            Some(Ok(started)) => Some(started),
            Some(Err(TryRecvError::Empty)) => None,
            Some(Err(TryRecvError::Disconnected)) | None => Some(Err(gone())),
        }
    }
}

impl Thread {
    fn new() -> io::Result<Self> {
        let (commands, receiver) = mpsc::channel::<Command>();
        let (sender, started) = mpsc::channel();
        let start_all = move || {
            for mut command in receiver {
                if sender.send(command.spawn()).is_err() {
                    break;
                }
            }
        };
        let handle = thread::Builder::new().name("starter".to_owned()).spawn(start_all)?;
        Ok(Self { commands, started, handle })
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        let Some(Thread { commands, started, handle }) = mem::take(&mut self.0) else { return };
        drop(commands);
        let _ = handle.join();
        for mut child in started.try_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts programs has ended")
}
