//! `brunt serve`: options and life cycle common to all servers.

mod http;
mod source;
mod tcp;
mod tls;

use super::signals::{Repeated, SIGINT, SIGTERM, on_first};
use brunt_results::{Cores, ExitCode, Span};
use brunt_runtime::{CancellationToken, Spinning, net::Address};
use brunt_serve::{Counts, Model, Notice, ServeError, Standing};
use std::{net::SocketAddr, sync::mpsc, thread, time::Duration};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    service: Service,
}

#[derive(Debug, clap::Subcommand)]
enum Service {
    /// Echo: send back received data
    Echo(tcp::Echo),
    /// Discard received data; sends nothing
    Discard(tcp::Discard),
    /// HTTP/1: constant, echoing and reflecting responses, routes with delays and faults
    Http(Box<http::Http>),
}

/// Flags common to all services.
#[derive(Debug, clap::Args)]
struct Common {
    /// Cores to run on, one pinned worker per core: 1 or 0,2-3 [default: one worker, not pinned]
    #[arg(long)]
    cores: Option<Cores>,
    /// Grace period for open connections after SIGINT or SIGTERM
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    grace: Span,
    /// Time for which an idle worker of uring or epoll polls before it sleeps, if that pays: saves the wake-up
    /// latency of a core, keeps it busy meanwhile. 0 sleeps at once
    #[arg(long, value_name = "TIME", default_value_t = Span(Spinning::default().most))]
    spin: Span,
    /// Poll before sleeping only while at most this many connections of a worker are active; from 64 on, always
    #[arg(long, value_name = "N", default_value_t = Spinning::default().connections)]
    spin_connections: u32,
    /// CPU time that the server uses without requests too, in a thread of its own on its cores, such as 200us@1kHz: 200 us,
    /// a thousand times a second. A standing cost that is known, for brunt cost
    #[arg(long, value_name = "TIME@HZ")]
    standing: Option<Standing>,
    /// Print nothing on stderr
    #[arg(long, short)]
    quiet: bool,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        match self.service {
            Service::Echo(echo) => echo.run(),
            Service::Discard(discard) => discard.run(),
            Service::Http(http) => http.run(),
        }
    }
}

/// Parsed common flags.
struct Setup<M> {
    model: M,
    workers: Vec<Option<usize>>,
    grace: Duration,
    spin: Spinning,
}

impl Common {
    /// Runs a server until it is stopped and prints its notices; `name` is the service, `more` is printed once it
    /// listens. Without a model, uses brunt's runtime on the best available backend.
    fn run<M: From<Model>>(
        &self,
        name: &'static str,
        model: Option<M>,
        mut more: Vec<String>,
        serve: impl FnOnce(Setup<M>, &CancellationToken, &mpsc::Sender<Notice>) -> Result<Counts, ServeError>,
    ) -> ExitCode {
        let (model, fallback) = model.map_or_else(best_model, |model| (model, None));
        let workers =
            self.cores.as_ref().map_or_else(|| vec![None], |cores| cores.0.iter().copied().map(Some).collect());
        let spin = Spinning { most: self.spin.0, connections: self.spin_connections };
        more.extend(self.standing.map(|standing| format!("uses {standing} of CPU time, with requests or without")));
        let setup = Setup { model, workers, grace: self.grace.0, spin };
        let Some(stop) = stop_on_signals() else { return ExitCode::Failed };
        let (notices, received) = mpsc::channel();
        let standing = self.standing.map(|standing| standing.start(&setup.workers)).transpose();
        let Ok(standing) = standing.inspect_err(|error| eprintln!("brunt serve: --standing: no thread: {error}"))
        else {
            return ExitCode::Failed;
        };
        let quiet = self.quiet;
        let printer = thread::spawn(move || {
            for notice in received {
                if !quiet {
                    print_notice(name, &notice, fallback.as_deref());
                    more.iter().for_each(|line| eprintln!("brunt serve: {line}"));
                }
                // Start-up code is not needed any more; drop its pages so that they do not count as server memory.
                // Errors are ignored.
                let _ = brunt_runtime::drop_text_pages();
            }
        });
        let result = serve(setup, &stop, &notices);
        drop(standing);
        drop(notices);
        let _ = printer.join();
        match result {
            Ok(counts) => {
                if !quiet {
                    let (accepted, failed, cut) = (counts.accepted, counts.failed, counts.cut);
                    eprintln!(
                        "brunt serve: stopped; {accepted} connections served, {failed} failed, {cut} closed at the end of the grace period"
                    );
                }
                ExitCode::Good
            }
            Err(error) => {
                eprintln!("brunt serve: {error}");
                ExitCode::Failed
            }
        }
    }
}

/// Token cancelled by the first SIGINT or SIGTERM.
fn stop_on_signals() -> Option<CancellationToken> {
    let stop = CancellationToken::new();
    let raised = stop.clone();
    let result = on_first(&[SIGINT, SIGTERM], Repeated::Kill, move || raised.cancel());
    result.inspect_err(|error| eprintln!("brunt serve: cannot watch for signals: {error}")).ok().map(|()| stop)
}

/// Parses a listening address of a service that is reached by TCP only.
fn tcp_address(text: &str) -> Result<SocketAddr, String> {
    let tcp = text.parse::<Address>()?.tcp();
    let only =
        "only brunt serve echo and discard take other sockets; write an address and a port, such as 127.0.0.1:8080";
    tcp.ok_or_else(|| only.to_owned())
}

/// Best backend of brunt's runtime, and the reason if it is not io_uring.
fn best_model<M: From<Model>>() -> (M, Option<String>) {
    match brunt_runtime::Runtime::builder().env_prefix("BRUNT").build() {
        Ok(probe) if probe.backend() == brunt_runtime::BackendKind::Uring => (Model::Uring.into(), None),
        Ok(probe) => (Model::Epoll.into(), probe.fallback_reason().map(str::to_owned)),
        // The server start reports the same error.
        Err(_) => (Model::Epoll.into(), None),
    }
}

fn print_notice(name: &str, notice: &Notice, fallback: Option<&str>) {
    match notice {
        Notice::Listening { addresses, backend } => {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            eprintln!("brunt serve: {name} on {} ({backend})", addresses.join(", "));
            if let Some(reason) = fallback {
                eprintln!("brunt serve: not on io_uring: {reason}");
            }
        }
        Notice::Trouble(what) => eprintln!("brunt serve: {what}"),
        Notice::Queued(waits) => eprintln!("brunt serve: {waits}"),
    }
}
