//! The parent process: starts the workers, hands them listeners, and adds up what they served.

use super::{Order, Report, Task, WORKER_ARGS, fill::Fill};
use crate::tcp::shared::threads::set_affinity;
use crate::{Counts, Notice, Options, ServeError, listen};
use brunt_multiprocess::{START_TIMEOUT, StartError, WorkerEvent, Workers};
use brunt_runtime::{CancellationToken, net::Address};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{net::TcpListener, os::fd::AsFd};

/// Interval at which `stop` is checked.
const POLL: Duration = Duration::from_millis(50);

/// Serves as [`crate::tcp`] does, in the processes of `layout`, each with its own listeners (SO_REUSEPORT).
///
/// # Errors
/// As [`crate::tcp`]; or a process could not be started, or was lost.
pub fn tcp(
    options: &Options,
    connections: u64,
    layout: &[Vec<Option<usize>>],
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let Some(processes) = Processes::start(options, &options.model.to_string(), layout, stop)? else {
        return Ok(Counts::default());
    };
    let addresses: Vec<_> = options.listen.iter().filter_map(Address::tcp).collect();
    let reserved = listen::reserve(&addresses, true)?;
    let own = |_| reserved.iter().map(listen::Reserved::listener).collect();
    let listeners: Vec<Vec<TcpListener>> = layout.iter().map(own).collect::<Result<_, _>>()?;
    let Some(backend) = processes.listen(&reserved, &listeners, stop)? else { return Ok(Counts::default()) };
    let addresses = reserved.iter().map(|reserved| reserved.address.into()).collect();
    let each = connections.div_ceil(layout.len() as u64);
    let (pids, abreast) = (processes.workers.pids(), options.workers.len());
    // This process keeps listeners only to fill: without, it would go on to accept connections after the stop.
    let fill = (layout.len() > abreast).then(move || Fill::start(listeners, &pids, abreast, each)).flatten();
    let backend = format!("{backend}; {} processes for {each} connections each", layout.len());
    let _ = notices.send(Notice::Listening { addresses, backend });
    processes.serve(fill, stop, notices)
}

/// The worker processes and what they report.
pub(crate) struct Processes {
    workers: Workers,
    events: Receiver<(usize, WorkerEvent<Report>)>,
}

impl Processes {
    /// Starts a process for each part of the layout and gives it its task; `None` if stopped meanwhile.
    pub(crate) fn start(
        options: &Options,
        model: &str,
        layout: &[Vec<Option<usize>>],
        stop: &CancellationToken,
    ) -> Result<Option<Self>, ServeError> {
        // Also what this process does beside them stays on their cores.
        set_affinity(&layout.concat())?;
        let workers = match Workers::start(&WORKER_ARGS, layout.len(), || stop.is_cancelled()) {
            Ok(workers) => workers,
            Err(StartError::Cancelled) => return Ok(None),
            Err(error) => return Err(ServeError::Failed(error.to_string())),
        };
        let (out, events) = mpsc::channel();
        workers.listen(|process| {
            let out = out.clone();
            move |event| _ = out.send((process, event))
        })?;
        for (process, part) in layout.iter().enumerate() {
            let task = Task {
                service: options.service,
                model: model.to_owned(),
                workers: part.clone(),
                grace: options.grace,
                spin: options.spin.most,
                spin_connections: options.spin.connections,
                pool: options.pool,
                message: options.message,
            };
            workers.send(process, &Order::Serve(task), None)?;
        }
        Ok(Some(Self { workers, events }))
    }

    /// Gives each process one listener per address and waits until all of them listen. Returns the description of the
    /// backend; `None` if stopped meanwhile.
    pub(crate) fn listen(
        &self,
        reserved: &[listen::Reserved],
        listeners: &[Vec<TcpListener>],
        stop: &CancellationToken,
    ) -> Result<Option<String>, ServeError> {
        for (process, listeners) in listeners.iter().enumerate() {
            for (reserved, listener) in reserved.iter().zip(listeners) {
                let order = Order::Listener { address: reserved.address, only_v6: reserved.only_v6() };
                self.workers.send(process, &order, Some(listener.as_fd()))?;
            }
        }
        self.workers.send_all(&Order::Go)?;
        let mut backends = Vec::new();
        let mut since = Instant::now();
        while backends.len() < self.workers.count() {
            match self.events.recv_timeout(POLL) {
                Ok((_, WorkerEvent::Message(Report::Notice(Notice::Listening { backend, .. })))) => {
                    backends.push(backend);
                    since = Instant::now();
                }
                Ok((process, WorkerEvent::Message(Report::Failed(why)))) => return Err(self.failed(process, &why)),
                Ok((process, WorkerEvent::Exited)) => return Err(self.lost(process)),
                Ok((_, WorkerEvent::Message(_))) => (),
                Err(_) if stop.is_cancelled() => return Ok(None),
                Err(_) if since.elapsed() < START_TIMEOUT => (),
                Err(_) => return Err(ServeError::Failed(StartError::Timeout.to_string())),
            }
        }
        Ok(backends.into_iter().next())
    }

    /// Passes on notices until the stop and returns the sum of what was served.
    pub(crate) fn serve(
        self,
        mut fill: Option<Fill>,
        stop: &CancellationToken,
        notices: &mpsc::Sender<Notice>,
    ) -> Result<Counts, ServeError> {
        let mut counts = Counts::default();
        let mut done = vec![false; self.workers.count()];
        let mut is_stopping = false;
        while done.contains(&false) {
            let pause = fill.as_mut().map_or(POLL, Fill::look);
            match self.events.recv_timeout(pause) {
                Ok((process, WorkerEvent::Message(Report::Done(more)))) => {
                    counts = counts + more;
                    done[process] = true;
                }
                Ok((_, WorkerEvent::Message(Report::Notice(notice)))) => _ = notices.send(notice),
                Ok((process, WorkerEvent::Message(Report::Failed(why)))) => return Err(self.failed(process, &why)),
                Ok((process, WorkerEvent::Exited)) if !done[process] => return Err(self.lost(process)),
                Ok((_, WorkerEvent::Exited)) => (),
                Err(RecvTimeoutError::Timeout) if stop.is_cancelled() && !is_stopping => {
                    is_stopping = true;
                    // Its listener would go on to accept connections.
                    fill = None;
                    // A worker that cannot be reached has exited, which is an event of its own.
                    let _ = self.workers.send_all(&Order::Stop);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(counts)
    }

    fn failed(&self, process: usize, why: &str) -> ServeError {
        ServeError::Failed(format!("process {} of {}: {why}", process + 1, self.workers.count()))
    }

    fn lost(&self, process: usize) -> ServeError {
        let reason = self.workers.exit_reason(process);
        ServeError::Failed(format!("{reason}; the others cannot hold its connections, so the server has ended"))
    }
}
