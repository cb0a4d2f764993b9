//! Source of HTTP responses: flags and the files they name. Read at start and on each SIGHUP.

use super::{tcp_address, tls::Tls};
use brunt_results::{Size, Span};
use brunt_serve::http::script::{LIMITS, Limits, Script, to_stderr};
use brunt_serve::http::{CertCache, Plan, Service, read_routes};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Flags of the source: routes, a script, or built-in services.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Source {
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
}

impl Source {
    /// Reads the current plan.
    ///
    /// # Errors
    /// One line naming the invalid file and the error.
    pub fn read(&self, tls: &Tls, own: &CertCache) -> Result<Plan, String> {
        let plan = match (&self.routes, &self.script) {
            (Some(file), _) => return Ok(read_routes(file, &self.listen, own)?.with_metrics(self.metrics)),
            (None, Some(file)) => {
                let limits = Limits { memory: self.script_memory.0 as usize, call: self.script_time.0, ..LIMITS };
                let script = Script::open(file, limits, to_stderr).map_err(|error| error.to_string())?;
                Plan::script(script, usual(&self.listen), self.seed)
            }
            (None, None) if self.service.is_none() && self.listen.is_empty() => Plan::demo(),
            (None, None) => Plan::service(self.service.unwrap_or(Service::Hello), usual(&self.listen)),
        };
        let tls = tls.server(plan.addresses(), own)?;
        Ok(plan.with_tls(tls.as_ref()).with_metrics(self.metrics))
    }

    /// Kind and path of the file that can be reloaded.
    pub fn file<'a>(&'a self, tls: &'a Tls) -> Option<(&'static str, &'a Path)> {
        let routes = self.routes.as_deref().map(|file| ("routes", file));
        let script = self.script.as_deref().map(|file| ("script", file));
        routes.or(script).or_else(|| Some(("certificates", tls.file()?)))
    }
}

/// Listening addresses of a single service; default 127.0.0.1:8080.
fn usual(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    if listen.is_empty() { vec![SocketAddr::from(([127, 0, 0, 1], 8080))] } else { listen.to_vec() }
}
