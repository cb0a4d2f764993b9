//! `brunt serve echo` and `brunt serve discard`: plain TCP, on every server model.

use super::{Common, Setup, address, stop_on_signals};
use outcome::ExitCode;
use serve::{Options, Service, TcpModel, Work};
use std::net::SocketAddr;

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
            eprintln!("brunt serve: --pool {threads} is for --model pool alone; add that model, or leave it out");
            return ExitCode::Usage;
        }
        common.run(name, self.model, |setup, stop, notices| {
            let Setup { model, workers, grace, spin } = setup;
            let pool = self.pool.map(usize::from);
            serve::tcp(&Options { service, listen: self.listen, model, workers, grace, spin, pool }, stop, notices)
        })
    }
}

/// The life of a process of `--model prefork`.
pub(super) fn prefork_worker() -> ExitCode {
    let Some(stop) = stop_on_signals() else { return ExitCode::Failed };
    match serve::prefork_worker(&stop) {
        Ok(()) => ExitCode::Good,
        Err(why) => {
            eprintln!("brunt serve: {why}");
            ExitCode::Usage
        }
    }
}
