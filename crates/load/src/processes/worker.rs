//! A worker process: runs its load threads as the parent orders and reports what they measure. It decides nothing.

use super::{Report, Start, Task};
use crate::engine::clock::Clock;
use crate::engine::inbox::{Inbox, blocking, channel};
use crate::engine::shared::{Progress, Shared};
use crate::run::{ReleaseOnDrop, Threads, make_room, start_threads};
use crate::{engine::coordinator::Order, engine::message::Message, error::LoadError, options::Options};
use brunt_multiprocess::Parent;
use brunt_spec::LoadSpec;
use rustix::io::Errno;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::{io, sync::Arc, thread};

const REPORT_INTERVAL: Duration = Duration::from_millis(20);

/// Does what the parent orders until the work is done, with the options that `resolve` makes of the description; its error is one
/// line. The process exits as soon as the parent does.
///
/// # Errors
/// The parent is gone, or sends something that is not an order.
pub fn run_worker(parent: Parent, resolve: impl FnOnce(&LoadSpec) -> Result<Options, String>) -> io::Result<()> {
    let Some((Task { spec, counts, threads, group, first, end }, _)) = parent.recv()? else { return Ok(()) };
    let resolved = resolve(&spec);
    parent.send(&resolved.as_ref().map(|_| ()))?;
    let Ok(options) = resolved else { return Ok(()) };
    let options = Options { counts, threads, group, ..options };
    let Some((Start { zero_ns }, _)) = parent.recv()? else { return Ok(()) };
    let shared = Arc::new(Shared::new(&options, Clock::since(zero_ns)));
    match work(&parent, &shared, first, end) {
        Ok(taken) => {
            let (handshakes, outages) = (std::mem::take(&mut *shared.handshakes()), shared.outages.take());
            parent.send(&Report::Done { taken, handshakes, outages })
        }
        Err(error) => parent.send(&Report::Failed(error.to_string())),
    }
}

fn work(parent: &Parent, shared: &Arc<Shared>, first: usize, end: usize) -> Result<Vec<Option<u64>>, LoadError> {
    let options = &shared.options;
    let connections = |end| -> usize { (0..end).map(|thread| options.share(thread).own()).sum() };
    let replaces = options.target.replaces_connections();
    make_room(connections(end) - connections(first), end - first, replaces)?;
    let ordered = Arc::clone(shared);
    let obey = move |order| match order {
        Order::Connect { threads } if threads > first => ordered.connect.cancel(),
        Order::Connect { .. } => (),
        Order::Begin { start, open, close } => ordered.begin(start, open, close),
        Order::Open { open, close } => ordered.open_at(open, close),
        Order::Close(at) => ordered.close_at(at),
        Order::Release => ordered.release.cancel(),
    };
    parent
        .handle_messages(obey)
        .map_err(|error| LoadError::Process(format!("no thread could be started to receive orders: {error}")))?;
    thread::scope(|scope| {
        let _release = ReleaseOnDrop(shared);
        let (out, messages) = channel();
        let threads = start_threads(scope, shared, first..end, out)?;
        report(parent, shared, first, &messages, &threads)?;
        Ok(threads.join().into_iter().map(|schedule| Some(schedule?.taken)).collect())
    })
}

/// Reports what the threads, numbered from `first`, deliver until they have ended.
fn report(
    parent: &Parent,
    shared: &Shared,
    first: usize,
    messages: &Inbox,
    threads: &Threads<'_>,
) -> Result<(), LoadError> {
    let lost = |error: io::Error| LoadError::Process(format!("the parent cannot be reached: {error}"));
    let send = |report: Report| parent.send(&report).map_err(lost);
    let mut reported = (Progress::none(shared.hosts.addresses.len()), shared.clock.now());
    loop {
        let message = blocking(messages.next(REPORT_INTERVAL));
        let ended = matches!(message, Err(RecvTimeoutError::Disconnected));
        match message {
            Ok((_, Message::Failed(error))) => return Err(error),
            Ok((thread, message)) => {
                if matches!(message, Message::Interval(_)) {
                    // An empty interval in exchange for this one.
                    let _ = threads.spares[thread - first].send(Box::default());
                }
                send(Report::Thread(thread, message))?;
            }
            Err(_) => (),
        }
        if ended || shared.clock.now() - reported.1 >= REPORT_INTERVAL.as_nanos() as u64 {
            let progress = shared.connecting.progress();
            while let Some((host, error)) = shared.connecting.take_error() {
                let number = match error.kind() {
                    io::ErrorKind::TimedOut => Some(Errno::TIMEDOUT.raw_os_error()),
                    _ => error.raw_os_error(),
                };
                send(Report::Refused { host, error: number.ok_or_else(|| error.to_string()) })?;
            }
            if progress != reported.0 {
                send(Report::Connecting(progress.clone()))?;
            }
            reported = (progress, shared.clock.now());
        }
        if ended {
            return Ok(());
        }
    }
}
