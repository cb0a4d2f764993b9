//! A part of a load: a range of its threads, which report to whoever coordinates all of them.

use super::Report;
use crate::engine::inbox::{Inbox, blocking, channel};
use crate::engine::message::Message;
use crate::engine::others::Order;
use crate::engine::shared::{Progress, Shared};
use crate::error::LoadError;
use crate::run::{ReleaseOnDrop, Threads, make_room, start_threads};
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::{io, thread};

const REPORT_INTERVAL: Duration = Duration::from_millis(20);

/// Raises the limit of open files for the connections of these threads.
pub fn make_room_for(shared: &Shared, threads: &Range<usize>) -> Result<(), LoadError> {
    let options = &shared.options;
    let connections = threads.clone().map(|thread| options.share(thread).own()).sum();
    make_room(connections, threads.len(), options.target.replaces_connections())
}

/// Does what is ordered of the threads from `first` on.
pub fn obey(shared: &Shared, first: usize, order: Order) {
    match order {
        Order::Connect { threads } if threads > first => shared.connect.cancel(),
        Order::Connect { .. } => (),
        Order::Begin { start, open, close } => shared.begin(start, open, close),
        Order::Open { open, close } => shared.open_at(open, close),
        Order::Close(at) => shared.close_at(at),
        Order::Release => shared.release.cancel(),
    }
}

/// Runs these threads until they have ended, as [`obey`] lets them, and reports what they measure. Returns what each took from its schedule.
///
/// # Errors
/// A thread failed or could not be started, or a report could not be sent.
pub fn run(
    shared: &Arc<Shared>,
    threads: Range<usize>,
    mut send: impl FnMut(Report) -> Result<(), LoadError>,
) -> Result<Vec<Option<u64>>, LoadError> {
    thread::scope(|scope| {
        let _release = ReleaseOnDrop(shared);
        let (out, messages) = channel();
        let first = threads.start;
        let threads = start_threads(scope, shared, threads, out)?;
        report(&mut send, shared, first, &messages, &threads)?;
        Ok(threads.join().into_iter().map(|schedule| Some(schedule?.taken)).collect())
    })
}

/// Reports what the threads, numbered from `first`, deliver until they have ended.
fn report(
    send: &mut impl FnMut(Report) -> Result<(), LoadError>,
    shared: &Shared,
    first: usize,
    messages: &Inbox,
    threads: &Threads<'_>,
) -> Result<(), LoadError> {
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
                if let Some(http) = shared.options.target.http().filter(|http| http.is_scripted())
                    && matches!(message, Message::Parts(_))
                {
                    send(Report::Names(http.given_names()))?;
                }
                send(Report::Thread(thread, message))?;
            }
            Err(_) => (),
        }
        if let Some(reason) = shared.take_broken() {
            return Err(LoadError::Script(reason));
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
