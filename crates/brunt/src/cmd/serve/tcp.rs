//! `brunt serve echo` and `brunt serve discard`: plain TCP, on every server model.

use super::{Common, Setup};
use brunt_meter::doctor::{self, Facts};
use brunt_results::{Count, ExitCode, Size};
use brunt_runtime::{CancellationToken, net::Address};
use brunt_serve::{Concurrency, Counts, MODELS, Model, Notice, Options, ServeError, Service, TcpModel, Work, Workers};
use std::sync::mpsc;

#[derive(Debug, clap::Args)]
pub(super) struct Echo {
    #[command(flatten)]
    tcp: Tcp,
    /// Work per message before the response: none; sleep=TIME, as if waiting for a disk or another service; spin=TIME, of
    /// CPU time; sha256=BITS, a proof of work with this many zero bits
    #[arg(long, default_value = "none")]
    work: Work,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Discard {
    #[command(flatten)]
    tcp: Tcp,
    #[command(flatten)]
    common: Common,
}

/// Flags of both services.
#[derive(Debug, clap::Args)]
struct Tcp {
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7100", help = listen_help())]
    listen: Vec<Address>,
    #[arg(long, help = model_help())]
    model: Option<TcpModel>,
    /// Threads of --model pool, up to 1024 [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pool: Option<u16>,
    /// Size of the messages to come, up to 1MiB: --model tokio, tokio-each and thread enlarge the buffer of each connection so
    /// that one read takes a message; the others have buffers for messages of any size [default: buffers of 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = message)]
    message: Option<Size>,
    /// Number of connections to hold, such as 1M. Starts as many processes as the limit of open files requires and distributes
    /// the workers of --cores over them; refuses what this machine cannot hold
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    connections: Option<Count>,
}

impl Echo {
    pub(super) fn run(self) -> ExitCode {
        self.tcp.run("echo", Service::Echo(self.work), &self.common)
    }
}

impl Discard {
    pub(super) fn run(self) -> ExitCode {
        self.tcp.run("discard", Service::Discard, &self.common)
    }
}

impl Tcp {
    fn run(self, name: &'static str, service: Service, common: &Common) -> ExitCode {
        if let Some(threads) =
            self.pool.filter(|_| self.model.is_none_or(|model| model.concurrency != Concurrency::Pool))
        {
            eprintln!("brunt serve: --pool {threads} requires --model pool; add it, or leave --pool out");
            return ExitCode::Usage;
        }
        if let Some(why) = self.tcp_only(common) {
            eprintln!("brunt serve: {why}");
            return ExitCode::Usage;
        }
        if let Some(connections) = self.connections {
            if self.model.is_some_and(|model| model.workers == Workers::Processes) {
                eprintln!(
                    "brunt serve: --connections {connections}: --model prefork has exactly one process per core; \
                     take --model epoll-one, or leave --connections out"
                );
                return ExitCode::Usage;
            }
            // One end of each connection is on this machine; the other may be anywhere.
            if let Some(why) = doctor::refusal(&Facts::of_limits(), connections.0, 1) {
                eprintln!("brunt serve: --connections {connections}: {why}");
                return ExitCode::Failed;
            }
        }
        common.run(name, self.model, Vec::new(), |setup, stop, notices| {
            let Setup { model, workers, grace, spin } = setup;
            let pool = self.pool.map(usize::from);
            let message = self.message.map_or(0, |size| size.0 as usize);
            let options = Options { service, listen: self.listen, model, workers, grace, spin, pool, message };
            match self.connections {
                None => brunt_serve::tcp(&options, stop, notices),
                Some(connections) => in_processes(&options, connections, stop, notices),
            }
        })
    }

    /// Why these flags do not go with an address other than TCP, if one is given.
    fn tcp_only(&self, common: &Common) -> Option<String> {
        let address = self.listen.iter().find(|address| address.tcp().is_none())?;
        let native = [Model::Uring.into(), Model::Epoll.into()];
        if let Some(model) = self.model.filter(|model| !native.contains(model)) {
            return Some(format!("--listen {address}: --model {model} serves TCP only; take --model uring or epoll"));
        }
        if let Some(cores) = common.cores.as_ref().filter(|cores| cores.0.len() > 1) {
            return Some(format!(
                "--listen {address}: only TCP is served on several cores, as in --cores {cores}; name one core"
            ));
        }
        let connections = self.connections?;
        Some(format!(
            "--listen {address}: only TCP is served by several processes; leave --connections {connections} out"
        ))
    }
}

/// Serves this many connections, in as many processes as that takes.
fn in_processes(
    options: &Options,
    connections: Count,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let impossible = |why: String| ServeError::Failed(format!("--connections {connections}: {why}"));
    brunt_multiprocess::fd_limit::raise()
        .map_err(|error| impossible(format!("the limit of open files cannot be raised: {error}")))?;
    let layout = brunt_serve::processes::layout(options, connections.0).ok_or_else(|| {
        impossible(format!(
            "too many for processes of {} open files: raise ulimit -Hn",
            brunt_multiprocess::fd_limit::hard()
        ))
    })?;
    match layout.len() {
        1 => brunt_serve::tcp(options, stop, notices),
        _ => brunt_serve::processes::tcp(options, connections.0, &layout, stop, notices),
    }
}

fn listen_help() -> String {
    format!("Address to listen on: {}; may be repeated. Port 0 picks a free port", Address::FORMS)
}

/// Help of `--model`, from the table of models.
fn model_help() -> String {
    let models: Vec<_> = MODELS.iter().map(|model| format!("{} ({})", model.word, model.about)).collect();
    format!(
        "I/O model: {}; see docs/guide/serve.md [default: uring, or epoll if io_uring is not available]",
        models.join(", ")
    )
}

fn message(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: brunt_results::UnitError| error.to_string())?;
    if size.0 <= 1 << 20 { Ok(size) } else { Err("at most 1MiB".to_owned()) }
}

fn at_least_one(text: &str) -> Result<Count, String> {
    let count: Count = text.parse().map_err(|error: brunt_results::UnitError| error.to_string())?;
    if count.0 > 0 { Ok(count) } else { Err("at least 1 connection".to_owned()) }
}
