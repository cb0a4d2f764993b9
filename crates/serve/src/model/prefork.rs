//! A process for each core with an epoll loop; all of them accept from one listener, and the kernel wakes all of them for
//! each who comes.
//!
//! Nothing is forked: a worker is the own executable, started again as [`PREFORK_WORDS`]. Its standard input is a socket to
//! its parent, over which it gets its orders and the listeners, says when it listens, hears the stop, and tells what it has
//! served. Must never outlive its parent: the end of that socket is its end.

mod line;

use super::{
    accept,
    bell::{Bell, Ending},
    reactor::{Own, Reactor, Source},
    stage::Stage,
    threads,
};
use crate::{Counts, ServeError, Service};
use line::{hand, hear, say, take};
use runtime::Stop;
use rustix::{
    event::{PollFd, PollFlags},
    fd::{AsFd, OwnedFd},
    net::sockopt,
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, BufReader, ErrorKind, Read, Write},
    net::TcpListener,
    os::unix::{net::UnixStream, process::CommandExt},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// What makes a process of this executable a worker: whoever links this crate and offers the model answers them with a call
/// of [`worker`].
pub const PREFORK_WORDS: [&str; 2] = ["serve", "prefork-worker"];

/// What a worker is told first, in a line.
#[derive(Serialize, Deserialize)]
struct Orders {
    service: Service,
    grace: Duration,
    core: Option<usize>,
    /// Listeners that follow, each with a byte.
    listeners: usize,
}

/// What a worker tells, each in a line.
#[derive(Serialize, Deserialize)]
enum Told {
    Listens,
    Served(Counts),
    Failed(String),
}

/// What a worker hears after its orders.
const STOP: &[u8] = b"stop\n";

pub(crate) fn run(stage: &Stage) -> Result<Counts, ServeError> {
    let options = stage.options;
    threads::check(&options.workers)?;
    let listeners = stage.listeners()?;
    let start = |core: &Option<usize>| {
        let orders = Orders { service: options.service, grace: options.grace, core: *core, listeners: listeners.len() };
        Worker::start(&orders, &listeners)
    };
    let mut workers = options.workers.iter().map(start).collect::<io::Result<Vec<_>>>()?;
    for worker in &mut workers {
        match worker.next()? {
            Told::Listens => {}
            other => return Err(worker.lost(other)),
        }
    }
    // Else who comes after the stop would be accepted by the kernel, and by nobody else.
    drop(listeners);
    stage.listening(format_args!("{} process{}", workers.len(), if workers.len() == 1 { "" } else { "es" }));
    wait(stage.stop, &workers)?;
    // The stop has been raised, or one of them has ended, which ends all.
    for worker in &workers {
        let _ = (&worker.line).write_all(STOP);
    }
    let mut counts = Counts::default();
    for worker in &mut workers {
        match worker.next()? {
            Told::Served(served) => counts += served,
            other => return Err(worker.lost(other)),
        }
    }
    Ok(counts)
}

/// Until the stop, or until a worker says something unasked.
fn wait(stop: &Stop, workers: &[Worker]) -> io::Result<()> {
    let bell = Bell::new()?;
    let mut ending = Ending::new(stop, Duration::ZERO, &bell);
    let mut all = vec![PollFd::new(&bell, PollFlags::IN)];
    all.extend(workers.iter().map(|worker| PollFd::new(&worker.line, PollFlags::IN)));
    while !ending.has_begun() && all[1..].iter().all(|worker| worker.revents().is_empty()) {
        accept::wait(&mut all, None)?;
    }
    Ok(())
}

/// A worker as its parent sees it; killed when dropped.
struct Worker {
    child: Child,
    line: UnixStream,
    heard: BufReader<UnixStream>,
}

impl Worker {
    fn start(orders: &Orders, listeners: &[TcpListener]) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        // What this process runs, even if its file has been replaced since.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("brunt").args(PREFORK_WORDS).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        let child = command.spawn()?;
        drop(command);
        let worker = Self { child, heard: BufReader::new(line.try_clone()?), line };
        let hand_all = |()| listeners.iter().try_for_each(|listener| hand(&worker.line, listener));
        let sent = say(&worker.line, orders).and_then(hand_all);
        match sent {
            // It has said why it is gone, or its end will.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(worker),
            other => other.map(|()| worker),
        }
    }

    /// What it tells next.
    fn next(&mut self) -> Result<Told, ServeError> {
        match hear(&mut self.heard) {
            Ok(Some(told)) => Ok(told),
            Ok(None) => {
                let ended = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(ServeError::Lost(format!("process {} ended ({ended})", self.child.id())))
            }
            Err(error) => Err(ServeError::Worker(error)),
        }
    }

    /// It tells something that is not its turn.
    fn lost(&self, told: Told) -> ServeError {
        match told {
            Told::Failed(why) => ServeError::Worker(io::Error::other(why)),
            _ => ServeError::Lost(format!("process {} does not do as it is told", self.child.id())),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The life of a worker process, from [`PREFORK_WORDS`] to its end. `stop` is for signals, which may reach it before its
/// parent says so.
///
/// # Errors
/// Standard input is not what a parent gives its worker: somebody typed those words.
pub fn worker(stop: &Stop) -> Result<(), String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("a worker of --model prefork is started by brunt alone ({why}); type brunt serve echo --model prefork")
    };
    let line = io::stdin().as_fd().try_clone_to_owned().map_err(|error| wrong(&error))?;
    // Not a terminal, where it would wait for somebody to type.
    sockopt::socket_type(&line).map_err(|error| wrong(&error))?;
    let mut line = UnixStream::from(line);
    // Byte by byte: what comes behind the line brings descriptors.
    let orders = hear(&mut BufReader::with_capacity(1, &line));
    let orders: Orders = orders.map_err(|error| wrong(&error))?.ok_or_else(|| wrong(&"no orders"))?;
    let listeners: io::Result<Vec<_>> = (0..orders.listeners).map(|_| take(&line)).collect();
    let listeners = listeners.map_err(|error| wrong(&error))?;
    let parent = line.try_clone().map_err(|error| wrong(&error))?;
    let raised = stop.clone();
    // Never joined: it ends the process, or with it.
    let listen = move || {
        let mut parent = parent;
        while let Ok(1..) = parent.read(&mut [0; STOP.len()]) {
            raised.raise();
        }
        std::process::exit(1);
    };
    if let Err(error) = thread::Builder::new().name("parent".to_owned()).spawn(listen) {
        let _ = say(&mut line, &Told::Failed(error.to_string()));
        return Ok(());
    }
    let told =
        serve(&orders, listeners, stop, &line).map_or_else(|error| Told::Failed(error.to_string()), Told::Served);
    // A parent that does not hear it any more is gone, and nobody is left to tell.
    let _ = say(&mut line, &told);
    Ok(())
}

fn serve(orders: &Orders, listeners: Vec<TcpListener>, stop: &Stop, parent: &UnixStream) -> io::Result<Counts> {
    let reactor = Reactor::new(Source::Listeners(listeners))?;
    let (service, grace) = (orders.service, orders.grace);
    let body = |reactor: Reactor, stop: &Stop| reactor.run(Own::new(service), stop, grace);
    threads::each(&[orders.core], stop, vec![reactor], body, |_| {
        say(&mut &*parent, &Told::Listens)?;
        // As every server does once it listens.
        let _ = runtime::let_go_of_text();
        Ok(())
    })
}
