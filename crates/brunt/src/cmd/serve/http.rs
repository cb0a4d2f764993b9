//! `brunt serve http`: translates flags into a plan; SIGHUP reloads it.

use super::super::signals::{SIGHUP, on_each};
use super::Common;
use super::source::Source;
use super::tls::Tls;
use brunt_results::{Count, ExitCode, Size, Span};
use brunt_serve::Model;
use brunt_serve::http::{CertCache, Options, Reloader, Server, Settings};
use std::{path::PathBuf, sync::Arc};

/// Default without --listen, --service, --routes and --script: hello on 127.0.0.1:8080, echo on 8081, whoami on 8082.
#[derive(Debug, clap::Args)]
pub(super) struct Http {
    #[command(flatten)]
    source: Source,
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
        let own = Arc::<CertCache>::default();
        let (plan, settings) = match self.source.read(&self.tls, &own).and_then(|plan| Ok((plan, self.settings()?))) {
            Ok(both) => both,
            Err(why) => {
                eprintln!("brunt serve: {why}");
                return ExitCode::Usage;
            }
        };
        self.common.run("http", self.model, own.made(), |setup, stop, notices| {
            let server = Server::new(Options {
                plan,
                model: setup.model,
                workers: setup.workers,
                grace: setup.grace,
                spin: setup.spin,
                settings,
                access_log: self.access_log.clone(),
            })?;
            self.reload_on_hangup(own, server.reloader());
            server.run(stop, notices)
        })
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

    /// Reloads the files, if there are any, on SIGHUP. Invalid files change nothing.
    fn reload_on_hangup(&self, own: Arc<CertCache>, reloader: Reloader) {
        let quiet = self.common.quiet;
        let Some((kind, file)) = self.source.file(&self.tls) else { return };
        let file = file.display().to_string();
        let (source, tls) = (self.source.clone(), self.tls.clone());
        let reload = move || match source.read(&tls, &own).and_then(|plan| reloader.replace(plan)) {
            Ok(()) if quiet => {}
            Ok(()) => eprintln!("brunt serve: reloaded the {kind} from '{file}'"),
            Err(why) => eprintln!("brunt serve: keeping the old {kind}: {why}"),
        };
        if let Err(error) = on_each(&[SIGHUP], reload) {
            eprintln!("brunt serve: SIGHUP will not reload the {kind}: {error}");
        }
    }
}
