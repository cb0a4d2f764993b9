//! The parent: gets the processes ready, listens for them, adds up what they have served.

use super::words::{Order, Report, Task};
use crate::{Counts, Notice, Options, ServeError, listen};
use crew::{Crew, Heard};
use std::{
    io,
    net::TcpListener,
    os::fd::AsFd,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

/// How often it is looked whether the server is to stop.
const POLL: Duration = Duration::from_millis(50);
/// How long a process may take to its next word, on a machine that starts all of them at once.
const SLOWEST: Duration = Duration::from_secs(60);

/// Serves echo as [`crate::echo`] does, to so many connections, with the workers of each process as `layout` has them; each
/// process is this program started with `args`, which must come to [`super::mate`].
///
/// # Errors
/// As [`crate::echo`]; or a process could not be started, or was lost.
pub fn echo(
    options: &Options,
    connections: u64,
    layout: &[Vec<Option<usize>>],
    args: &[&str],
    stop: &runtime::Stop,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let failed = |error: io::Error| {
        let count = layout.len();
        ServeError::Process(format!(
            "{count} processes could not be started ({error}): raise ulimit -u or lower --connections"
        ))
    };
    let (out, heard) = mpsc::channel();
    let hear = move |process, report| {
        let _ = out.send((process, report));
    };
    let mut band = Band { crew: Crew::start(args, layout.len(), hear).map_err(failed)?, heard };
    band.each_says(|report| matches!(report, Report::Here).then_some(()), stop)?;

    for (process, workers) in layout.iter().enumerate() {
        band.crew.tell(process, &Order::Serve(Task::new(options, workers)), None).map_err(failed)?;
    }
    let reserved = listen::reserve(&options.listen, true)?;
    let one_each = |_| reserved.iter().map(listen::Reserved::listener).collect();
    let listeners: Vec<Vec<TcpListener>> = layout.iter().map(one_each).collect::<Result<_, _>>()?;
    for (process, listeners) in listeners.into_iter().enumerate() {
        for (reserved, listener) in reserved.iter().zip(listeners) {
            let order = Order::Listener { address: reserved.address, only_v6: reserved.only_v6() };
            band.crew.tell(process, &order, Some(listener.as_fd())).map_err(failed)?;
        }
    }
    band.crew.tell_all(&Order::Go).map_err(failed)?;
    let backends = band.each_says(
        |report| match report {
            Report::Listening(backend) => Some(backend),
            _ => None,
        },
        stop,
    )?;
    let Some(backend) = backends.into_iter().next() else { return Ok(Counts::default()) };
    let addresses = reserved.iter().map(|reserved| reserved.address).collect();
    let each = connections.div_ceil(layout.len() as u64);
    let backend = format!("{backend}; {} processes for {each} connections each", layout.len());
    let _ = notices.send(Notice::Listening { addresses, backend });
    band.serve(stop)
}

/// The processes, and what they say.
struct Band {
    crew: Crew,
    heard: Receiver<(usize, Heard<Report>)>,
}

impl Band {
    /// Waits until each process has said what `word` understands; one answer of each, or fewer if the server is stopped.
    fn each_says<T>(&mut self, word: impl Fn(Report) -> Option<T>, stop: &runtime::Stop) -> Result<Vec<T>, ServeError> {
        let mut said = Vec::new();
        let mut patience = SLOWEST;
        while said.len() < self.crew.count() {
            match self.heard.recv_timeout(POLL) {
                Ok((process, Heard::Said(Report::Failed(why)))) => return Err(self.failure(process, &why)),
                Ok((process, Heard::Gone)) => return Err(self.loss(process)),
                Ok((_, Heard::Said(report))) => {
                    said.extend(word(report));
                    patience = SLOWEST;
                }
                Err(RecvTimeoutError::Timeout) if stop.is_raised() => return Ok(Vec::new()),
                Err(_) => {
                    patience = patience.saturating_sub(POLL);
                    if patience.is_zero() {
                        let text =
                            format!("a process did not begin within {SLOWEST:?}: the machine has too much to do");
                        return Err(ServeError::Process(text));
                    }
                }
            }
        }
        Ok(said)
    }

    /// Lets them serve until the stop, and adds up what they have served.
    fn serve(&mut self, stop: &runtime::Stop) -> Result<Counts, ServeError> {
        let mut counts = Counts::default();
        let mut done = vec![false; self.crew.count()];
        let mut is_stopping = false;
        while done.contains(&false) {
            match self.heard.recv_timeout(POLL) {
                Ok((process, Heard::Said(Report::Done(more)))) => {
                    counts += more;
                    done[process] = true;
                }
                Ok((process, Heard::Said(Report::Failed(why)))) => return Err(self.failure(process, &why)),
                Ok((process, Heard::Gone)) if !done[process] => return Err(self.loss(process)),
                Ok(_) => (),
                Err(RecvTimeoutError::Timeout) if stop.is_raised() && !is_stopping => {
                    is_stopping = true;
                    // A process that cannot be told is gone, and heard to be.
                    let _ = self.crew.tell_all(&Order::Stop);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(counts)
    }

    fn failure(&self, process: usize, why: &str) -> ServeError {
        ServeError::Process(format!("process {} of {}: {why}", process + 1, self.crew.count()))
    }

    fn loss(&mut self, process: usize) -> ServeError {
        let obituary = self.crew.obituary(process);
        ServeError::Process(format!("{obituary}; the others cannot hold its connections, so the server has ended"))
    }
}
