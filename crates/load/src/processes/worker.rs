//! A mate: runs its load threads as it is told, and passes on what they see. It decides nothing.

use super::messages::{Order, Report, Task};
use crate::{
    engine::{
        limits,
        shared::{Clock, Progress, Shared},
        thread::Message,
    },
    error::LoadError,
    run::{ReleaseOnDrop, Threads, start_threads},
};
use std::{
    io, process,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread::{self, Builder},
    time::{Duration, Instant},
};

/// How often it is told how connecting goes.
const TELL: Duration = Duration::from_millis(20);

/// Does what the parent says until that is done. The process ends with its parent, whatever it does at that moment.
///
/// # Errors
/// Nobody can be told: the parent is gone, or is none of ours.
pub fn run_worker(parent: brunt_multiprocess::Parent) -> io::Result<()> {
    parent.send(&Report::Here)?;
    let Some((task, _)) = parent.recv::<Task>()? else { return Ok(()) };
    match work(&parent, task) {
        Ok(taken) => parent.send(&Report::Done { taken }),
        Err(error) => parent.send(&Report::Failed(error.to_string())),
    }
}

fn work(parent: &brunt_multiprocess::Parent, task: Task) -> Result<Vec<Option<u64>>, LoadError> {
    let Task { options, first, end, zero_ns } = task;
    let own = |before: usize| -> usize { (0..before).map(|thread| crate::run::share(&options, thread).own()).sum() };
    limits::make_room(own(end) - own(first), end - first, false)?;
    let shared = Arc::new(Shared::at(&options, Clock::since(zero_ns)));
    obey(parent, &shared).map_err(|error| LoadError::Process(format!("nobody can listen to the parent: {error}")))?;
    thread::scope(|scope| {
        let _release = ReleaseOnDrop(&shared);
        let (out, messages) = mpsc::channel();
        let threads = start_threads(scope, &shared, first..end, out)?;
        pass_on(parent, &shared, first, &messages, &threads)?;
        Ok(threads.join().into_iter().map(|schedule| Some(schedule?.taken())).collect())
    })
}

/// Hears the parent on a thread of its own.
fn obey(parent: &brunt_multiprocess::Parent, shared: &Arc<Shared>) -> io::Result<()> {
    let (parent, shared) = (parent.try_clone()?, Arc::clone(shared));
    Builder::new().name("orders".to_owned()).spawn(move || {
        while let Ok(Some((order, _))) = parent.recv() {
            match order {
                Order::Begin { start, open, close } => shared.begin(start, open, close),
                Order::Close(at) => shared.close_at(at),
                Order::Release => shared.release.raise(),
            }
        }
        // Without a parent there is nobody to work for, and no time to lose: it may hold thousands of connections.
        process::exit(1);
    })?;
    Ok(())
}

/// Tells the parent what the threads, the first of which has the number `first`, say until they have ended.
fn pass_on(
    parent: &brunt_multiprocess::Parent,
    shared: &Shared,
    first: usize,
    messages: &Receiver<(usize, Message)>,
    threads: &Threads<'_>,
) -> Result<(), LoadError> {
    let lost = |error: io::Error| LoadError::Process(format!("the parent cannot be told: {error}"));
    let tell = |report: Report| parent.send(&report).map_err(lost);
    let mut told = (Progress::none(shared.hosts.addresses.len()), Instant::now());
    loop {
        let ended = match messages.recv_timeout(TELL) {
            Ok((thread, Message::Ready { tid, backend, fallback })) => {
                tell(Report::Ready { thread, tid, backend: backend.into(), fallback })?;
                false
            }
            Ok((thread, Message::Interval(interval))) => {
                tell(Report::Interval { thread, interval })?;
                // What was sent is full; the thread gets an empty one.
                let _ = threads.spares[thread - first].send(Box::default());
                false
            }
            Ok((_, Message::Failed(error))) => return Err(error),
            Ok((_, Message::Gone)) | Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if ended || told.1.elapsed() >= TELL {
            let progress = shared.connecting.progress();
            while let Some((host, error)) = shared.connecting.take_error() {
                tell(Report::Refused { host, error: error.into() })?;
            }
            if progress != told.0 {
                tell(Report::Connecting(progress.clone()))?;
            }
            told = (progress, Instant::now());
        }
        if ended {
            return Ok(());
        }
    }
}
