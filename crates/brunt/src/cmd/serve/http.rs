//! `brunt serve http`: translates flags into a plan; SIGHUP reloads it.

use super::super::signals::{SIGHUP, on_each};
use super::source::{Source, What};
use super::tls::Tls;
use super::{Common, tcp_address};
use brunt_results::{Count, ExitCode, Size, Span};
use brunt_serve::Model;
use brunt_serve::http::{Options, Reloader, Server, Service, Settings, script};
use std::{net::SocketAddr, path::PathBuf, sync::Arc};

/// Default without --listen, --service, --routes and --script: hello on 127.0.0.1:8080, echo on 8081, whoami on 8082.
#[derive(Debug, clap::Args)]
pub(super) struct Http {
    /// Address to listen on, for the one service or the one listener of the routes; may be repeated. Port 0 picks a
    /// free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = tcp_address)]
    listen: Vec<SocketAddr>,
    /// Service on every address: hello (a constant), echo (the body), whoami (path and client), httpbin (paths of
    /// go-httpbin) [default: hello]
    #[arg(long, conflicts_with = "routes")]
    service: Option<Service>,
    /// File with routes (docs/guide/serve-http.md); SIGHUP reloads it
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// Luau script that makes every response (docs/guide/scripts.md); SIGHUP reloads it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["routes", "service"])]
    script: Option<PathBuf>,
    /// Memory limit of the script, per worker
    #[arg(long, value_name = "SIZE", default_value = "16MiB", requires = "script")]
    script_memory: Size,
    /// CPU time limit of one script call, which then ends with a 500
    #[arg(long, value_name = "TIME", default_value = "10ms", requires = "script")]
    script_time: Span,
    /// Seed of the script's random numbers
    #[arg(long, value_name = "N", default_value = "1", requires = "script")]
    seed: u64,
    /// Address that serves /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS", value_parser = tcp_address)]
    metrics: Option<SocketAddr>,
    /// Access log in Common Log Format, one line per request; - for stdout
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Time limit for receiving a request head; then 408
    #[arg(long, value_name = "TIME", default_value = "10s")]
    header_timeout: Span,
    /// Time limit for receiving a request body; then 408
    #[arg(long, value_name = "TIME", default_value = "30s")]
    body_timeout: Span,
    /// Time limit between requests; then the connection is closed
    #[arg(long, value_name = "TIME", default_value = "75s")]
    idle_timeout: Span,
    /// Time limit for a client that reads nothing; then the connection is reset
    #[arg(long, value_name = "TIME", default_value = "30s")]
    send_timeout: Span,
    /// Maximum size of a request head; beyond: 431
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    max_header: Size,
    /// Maximum number of header fields, up to 100; beyond: 431
    #[arg(long, value_name = "COUNT", default_value = "100")]
    max_fields: Count,
    /// Maximum size of a request body; beyond: 413
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    max_body: Size,
    /// Send neither Date nor Server; results measured with it should say so
    #[arg(long)]
    bare: bool,
    /// I/O model: uring (brunt's runtime on io_uring), epoll (brunt's runtime on epoll), tokio [default: brunt's
    /// runtime on the best available backend]
    #[arg(long)]
    model: Option<Model>,
    #[command(flatten)]
    tls: Tls,
    #[command(flatten)]
    common: Common,
}

impl Http {
    pub(super) fn run(self) -> ExitCode {
        let source = self.source();
        let (plan, settings) = match source.read().and_then(|plan| Ok((plan, self.settings()?))) {
            Ok(both) => both,
            Err(why) => {
                eprintln!("brunt serve: {why}");
                return ExitCode::Usage;
            }
        };
        self.common.run("http", self.model, source.own.made(), |setup, stop, notices| {
            let server = Server::new(Options {
                plan,
                model: setup.model,
                workers: setup.workers,
                grace: setup.grace,
                spin: setup.spin,
                settings,
                access_log: self.access_log.clone(),
            })?;
            if source.file().is_some() {
                self.reload_on_hangup(source, server.reloader());
            }
            server.run(stop, notices)
        })
    }

    fn source(&self) -> Source {
        let what = match (&self.routes, &self.script) {
            (Some(file), _) => What::Routes(file.clone()),
            (None, Some(file)) => {
                let (memory, call) = (self.script_memory.0 as usize, self.script_time.0);
                What::Script(file.clone(), script::Limits { memory, call, ..script::LIMITS }, self.seed)
            }
            (None, None) => What::Service(self.service),
        };
        let (listen, tls, own) = (self.listen.clone(), self.tls.clone(), Arc::default());
        Source { what, listen, metrics: self.metrics, tls, own }
    }

    fn settings(&self) -> Result<Settings, String> {
        let times = [
            ("--header-timeout", self.header_timeout),
            ("--body-timeout", self.body_timeout),
            ("--idle-timeout", self.idle_timeout),
            ("--send-timeout", self.send_timeout),
        ];
        if let Some((flag, time)) = times.iter().find(|(_, time)| time.0.is_zero()) {
            return Err(format!("{flag} {time}: must be above zero"));
        }
        if !(64..=16 << 20).contains(&self.max_header.0) {
            return Err(format!("--max-header {}: must be from 64B to 16MiB", self.max_header));
        }
        if !(1..=100).contains(&self.max_fields.0) {
            return Err(format!("--max-fields {}: must be from 1 to 100", self.max_fields));
        }
        let mut settings = Settings {
            header: self.header_timeout.0,
            body: self.body_timeout.0,
            idle: self.idle_timeout.0,
            send: self.send_timeout.0,
            bare: self.bare,
            ..Settings::default()
        };
        settings.limits.head = self.max_header.0 as usize;
        settings.limits.target = settings.limits.target.min(settings.limits.head);
        settings.limits.fields = self.max_fields.0 as usize;
        settings.limits.body = self.max_body.0;
        settings.bodies = settings.bodies.max(self.max_body.0);
        Ok(settings)
    }

    /// Reloads the files on SIGHUP. Invalid files change nothing.
    fn reload_on_hangup(&self, source: Source, reloader: Reloader) {
        let quiet = self.common.quiet;
        let Some((kind, file)) = source.file() else { return };
        let file = file.display().to_string();
        let reload = move || {
            let read = source.read();
            match read.and_then(|plan| reloader.replace(plan)) {
                Ok(()) if quiet => {}
                Ok(()) => eprintln!("brunt serve: reloaded the {kind} from '{file}'"),
                Err(why) => eprintln!("brunt serve: keeping the old {kind}: {why}"),
            }
        };
        if let Err(error) = on_each(SIGHUP, reload) {
            eprintln!("brunt serve: SIGHUP will not reload the {kind}: {error}");
        }
    }
}
