//! `brunt serve echo` and `brunt serve discard`: plain TCP, on every server model.

use super::{Common, Setup, address};
use brunt_meter::doctor::{self, Facts};
use brunt_results::{Count, ExitCode};
use brunt_runtime::CancellationToken;
use brunt_serve::{Counts, Notice, Options, ServeError, Service, TcpModel, Work};
use std::{net::SocketAddr, sync::mpsc};

#[derive(Debug, clap::Args)]
pub(super) struct Echo {
    #[command(flatten)]
    tcp: Tcp,
    /// What is done for a message before its answer: none; sleep=TIME, as if a disk or another service were asked;
    /// spin=TIME, of processor time; sha256=BITS, a proof of work with so many zero bits.
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

/// What both take.
#[derive(Debug, clap::Args)]
struct Tcp {
    /// Address to listen on; may be given several times. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7100", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// How the I/O is done: uring (our runtime on io_uring), epoll (our runtime on epoll), tokio, tokio-each, thread, poll,
    /// epoll-one, epoll-each, acceptor, prefork, pool; docs/serve.md says what each is. Without it our runtime takes the
    /// best backend of this machine.
    #[arg(long)]
    model: Option<TcpModel>,
    /// Threads of --model pool, up to 1024; without it one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pool: Option<u16>,
    /// Holds so many connections, such as 1M: in as many processes as the limit of open files asks for, with the workers of
    /// --cores in turn. What this machine cannot hold is refused.
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
        if let Some(threads) = self.pool.filter(|_| self.model != Some(TcpModel::Pool)) {
            eprintln!("brunt serve: --pool {threads} requires --model pool; add it, or leave --pool out");
            return ExitCode::Usage;
        }
        if let Some(connections) = self.connections {
            if self.model == Some(TcpModel::Prefork) {
                eprintln!(
                    "brunt serve: --connections {connections}: --model prefork has a process for each core and no more; \
                     take --model epoll-one, or leave --connections out"
                );
                return ExitCode::Usage;
            }
            // One end of each connection is here; where the other one is, nobody knows yet.
            if let Some(why) = doctor::refusal(&Facts::of_limits(), connections.0, 1) {
                eprintln!("brunt serve: --connections {connections}: {why}");
                return ExitCode::Failed;
            }
        }
        common.run(name, self.model, Vec::new(), |setup, stop, notices| {
            let Setup { model, workers, grace, spin } = setup;
            let pool = self.pool.map(usize::from);
            let options = Options { service, listen: self.listen, model, workers, grace, spin, pool };
            match self.connections {
                None => brunt_serve::tcp(&options, stop, notices),
                Some(connections) => in_processes(&options, connections, stop, notices),
            }
        })
    }
}

/// Serves so many connections, in as many processes as that takes.
fn in_processes(
    options: &Options,
    connections: Count,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let impossible = |why: String| ServeError::Process(format!("--connections {connections}: {why}"));
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

fn at_least_one(text: &str) -> Result<Count, String> {
    let count: Count = text.parse().map_err(|error: brunt_results::UnitError| error.to_string())?;
    if count.0 > 0 { Ok(count) } else { Err("at least 1 connection".to_owned()) }
}
