//! `brunt serve http`: from flags to a plan, and from SIGHUP to the next one.

use super::{
    super::signals::{SIGHUP, on_each},
    Common, address,
    source::{Source, What},
    tls::Tls,
};
use brunt_results::{Count, ExitCode, Size, Span};
use brunt_serve::{
    Model,
    http::{Options, Reloader, Server, Service, Settings, script},
};
use std::{net::SocketAddr, path::PathBuf, sync::Arc};

/// Without --listen, --service, --routes and --script: hello on 127.0.0.1:8080, echo on 8081, whoami on 8082.
#[derive(Debug, clap::Args)]
pub(super) struct Http {
    /// Address to listen on, for the one service or the one listener of the routes; may be given several times. Port 0
    /// takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// What is answered on every address: hello (a constant), echo (the body), whoami (path and client), httpbin (the
    /// paths of go-httpbin) [default: hello]
    #[arg(long, conflicts_with = "routes")]
    service: Option<Service>,
    /// File that says what is answered where (docs/serve-http.md); SIGHUP reads it again.
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// Luau script that makes every answer (docs/scripts.md); SIGHUP reads it again.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["routes", "service"])]
    script: Option<PathBuf>,
    /// Memory for the values of the script, on each worker.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", requires = "script")]
    script_memory: Size,
    /// Processor time that a call of the script may take; then it is ended, and answered with 500.
    #[arg(long, value_name = "TIME", default_value = "10ms", requires = "script")]
    script_time: Span,
    /// Seed of the script's random numbers.
    #[arg(long, value_name = "N", default_value = "1", requires = "script")]
    seed: u64,
    /// Address that serves /metrics for Prometheus.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// File that gets a line a request, in the Common Log Format; - for stdout.
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Longest that a head may take to arrive; then 408.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    header_timeout: Span,
    /// Longest that a body may take to arrive; then 408.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    body_timeout: Span,
    /// Longest silence between requests; then the connection is closed.
    #[arg(long, value_name = "TIME", default_value = "75s")]
    idle_timeout: Span,
    /// Longest that a client may take nothing of what is sent; then the connection is reset.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    send_timeout: Span,
    /// Bytes of a head; beyond: 431.
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    max_header: Size,
    /// Fields of a head, up to 100; beyond: 431.
    #[arg(long, value_name = "COUNT", default_value = "100")]
    max_fields: Count,
    /// Bytes of a body; beyond: 413.
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    max_body: Size,
    /// Sends neither Date nor Server; figures made so should say so.
    #[arg(long)]
    bare: bool,
    /// How the I/O is done: uring (our runtime on io_uring), epoll (our runtime on epoll), tokio. Without it our runtime
    /// takes the best backend of this machine.
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
            return Err(format!("{flag} {time}: nobody is as fast as that; give a time above zero"));
        }
        if !(64..=16 << 20).contains(&self.max_header.0) {
            return Err(format!("--max-header {}: from 64B to 16MiB can be kept", self.max_header));
        }
        if !(1..=100).contains(&self.max_fields.0) {
            return Err(format!("--max-fields {}: from 1 to 100 can be parsed", self.max_fields));
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

    /// SIGHUP: the files again. A bad one changes nothing.
    fn reload_on_hangup(&self, source: Source, reloader: Reloader) {
        let quiet = self.common.quiet;
        let Some((it, file)) = source.file() else { return };
        let (as_it_is, stays) = if it == "script" { ("as it is", "stays") } else { ("as they are", "stay") };
        let file = file.display().to_string();
        let reload = move || {
            let read = source.read();
            match read.and_then(|plan| reloader.replace(plan)) {
                Ok(()) if quiet => {}
                Ok(()) => eprintln!("brunt serve: serving the {it} in '{file}' {as_it_is} now"),
                Err(why) => eprintln!("brunt serve: the old {it} {stays}: {why}"),
            }
        };
        if let Err(error) = on_each(SIGHUP, reload) {
            eprintln!("brunt serve: SIGHUP will not reload the {it}: {error}");
        }
    }
}
