//! The parent: gets the processes ready, listens for them, adds up what they have served.

use super::{
    WORKER_ARGS,
    messages::{Order, Report, Task},
};
use crate::{Counts, Notice, Options, ServeError, TcpModel, listen, tcp::shared::context::ModelContext};
use brunt_multiprocess::{WorkerEvent, Workers};
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

/// Serves as [`crate::tcp`] does, to so many connections, with the workers of each process as `layout` has them.
///
/// # Errors
/// As [`crate::tcp`]; or a process could not be started, or was lost.
pub fn tcp(
    options: &Options,
    connections: u64,
    layout: &[Vec<Option<usize>>],
    stop: &brunt_runtime::Stop,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let mut band = Band::start(options, options.model, layout, stop)?;
    let reserved = listen::reserve(&options.listen, true)?;
    let one_each = |_| reserved.iter().map(listen::Reserved::listener).collect();
    let listeners = layout.iter().map(one_each).collect::<Result<Vec<_>, _>>()?;
    let Some(backend) = band.begin(&reserved, listeners, stop)? else { return Ok(Counts::default()) };
    let addresses = reserved.iter().map(|reserved| reserved.address).collect();
    let each = connections.div_ceil(layout.len() as u64);
    let backend = format!("{backend}; {} processes for {each} connections each", layout.len());
    let _ = notices.send(Notice::Listening { addresses, backend });
    band.serve(stop, notices)
}

/// A process for each worker with one epoll loop, all of which accept from the same listeners.
pub(crate) fn on_one_listener(context: &ModelContext) -> Result<Counts, ServeError> {
    let layout: Vec<_> = context.options.workers.iter().map(|core| vec![*core]).collect();
    let mut band = Band::start(context.options, TcpModel::EpollOne, &layout, context.stop)?;
    let shared = context.listeners()?;
    let the_same = |_| shared.iter().map(TcpListener::try_clone).collect();
    let listeners = layout.iter().map(the_same).collect::<io::Result<Vec<_>>>()?;
    // Else who comes after the stop would be accepted by the kernel, and by nobody else.
    drop(shared);
    if band.begin(&context.reserved, listeners, context.stop)?.is_none() {
        return Ok(Counts::default());
    }
    context.listening(format_args!("{} process{}", layout.len(), if layout.len() == 1 { "" } else { "es" }));
    band.serve(context.stop, context.notices)
}

/// The processes, and what they say.
struct Band {
    crew: Workers,
    heard: Receiver<(usize, WorkerEvent<Report>)>,
}

impl Band {
    /// Starts a process for each part of the layout, and tells each what it will do.
    fn start(
        options: &Options,
        model: TcpModel,
        layout: &[Vec<Option<usize>>],
        stop: &brunt_runtime::Stop,
    ) -> Result<Self, ServeError> {
        let (out, heard) = mpsc::channel();
        let hear = move |process, report| {
            let _ = out.send((process, report));
        };
        let crew = Workers::start(&WORKER_ARGS, layout.len(), hear).map_err(|error| {
            let count = layout.len();
            ServeError::Process(format!(
                "{count} processes could not be started ({error}): raise ulimit -u, or ask for less"
            ))
        })?;
        let mut band = Self { crew, heard };
        band.each_says(|report| matches!(report, Report::Here).then_some(()), stop)?;
        for (process, workers) in layout.iter().enumerate() {
            band.crew.send(process, &Order::Serve(Task::new(options, model, workers)), None)?;
        }
        Ok(band)
    }

    /// Gives each its listeners, one for each address, and waits until all listen; how the I/O is done, in words, or nothing
    /// if the server has been stopped meanwhile.
    fn begin(
        &mut self,
        reserved: &[listen::Reserved],
        listeners: Vec<Vec<TcpListener>>,
        stop: &brunt_runtime::Stop,
    ) -> Result<Option<String>, ServeError> {
        for (process, listeners) in listeners.into_iter().enumerate() {
            for (reserved, listener) in reserved.iter().zip(listeners) {
                let order = Order::Listener { address: reserved.address, only_v6: reserved.only_v6() };
                self.crew.send(process, &order, Some(listener.as_fd()))?;
            }
        }
        self.crew.send_all(&Order::Go)?;
        let listens = |report| match report {
            Report::Notice(Notice::Listening { backend, .. }) => Some(backend),
            _ => None,
        };
        Ok(self.each_says(listens, stop)?.into_iter().next())
    }

    /// Waits until each process has said what `word` understands; one answer of each, or fewer if the server is stopped.
    fn each_says<T>(
        &mut self,
        word: impl Fn(Report) -> Option<T>,
        stop: &brunt_runtime::Stop,
    ) -> Result<Vec<T>, ServeError> {
        let mut said = Vec::new();
        let mut patience = SLOWEST;
        while said.len() < self.crew.count() {
            match self.heard.recv_timeout(POLL) {
                Ok((process, WorkerEvent::Message(Report::Failed(why)))) => return Err(self.failure(process, &why)),
                Ok((process, WorkerEvent::Exited)) => return Err(self.loss(process)),
                Ok((_, WorkerEvent::Message(report))) => {
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

    /// Lets them serve until the stop, hands on what they tell, and adds up what they have served.
    fn serve(&mut self, stop: &brunt_runtime::Stop, notices: &mpsc::Sender<Notice>) -> Result<Counts, ServeError> {
        let mut counts = Counts::default();
        let mut done = vec![false; self.crew.count()];
        let mut is_stopping = false;
        while done.contains(&false) {
            match self.heard.recv_timeout(POLL) {
                Ok((process, WorkerEvent::Message(Report::Done(more)))) => {
                    counts += more;
                    done[process] = true;
                }
                Ok((_, WorkerEvent::Message(Report::Notice(notice)))) => {
                    let _ = notices.send(notice);
                }
                Ok((process, WorkerEvent::Message(Report::Failed(why)))) => return Err(self.failure(process, &why)),
                Ok((process, WorkerEvent::Exited)) if !done[process] => return Err(self.loss(process)),
                Ok(_) => (),
                Err(RecvTimeoutError::Timeout) if stop.is_raised() && !is_stopping => {
                    is_stopping = true;
                    // A process that cannot be told is gone, and heard to be.
                    let _ = self.crew.send_all(&Order::Stop);
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
        let obituary = self.crew.exit_reason(process);
        ServeError::Process(format!("{obituary}; the others cannot hold its connections, so the server has ended"))
    }
}
