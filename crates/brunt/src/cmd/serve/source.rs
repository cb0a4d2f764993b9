//! Source of HTTP responses: flags and the files they name. Read at start and on each SIGHUP.

use super::tls::Tls;
use brunt_serve::http::script::{Limits, Script, to_stderr};
use brunt_serve::http::{CertCache, Plan, Service, read_routes};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Response source with the settings that the command line adds.
pub(super) struct Source {
    pub what: What,
    pub listen: Vec<SocketAddr>,
    pub metrics: Option<SocketAddr>,
    pub tls: Tls,
    pub own: Arc<CertCache>,
}

pub(super) enum What {
    /// Routes file.
    Routes(PathBuf),
    /// Script, its limits, and the seed of its random numbers.
    Script(PathBuf, Limits, u64),
    /// Built-in service; `None` is the demo of three.
    Service(Option<Service>),
}

impl Source {
    /// Reads the current plan.
    ///
    /// # Errors
    /// One line naming the invalid file and the error.
    pub fn read(&self) -> Result<Plan, String> {
        let plan = match &self.what {
            What::Routes(file) => {
                return Ok(read_routes(file, &self.listen, &self.own)?.with_metrics(self.metrics));
            }
            What::Script(file, limits, seed) => {
                let script = Script::open(file, *limits, to_stderr).map_err(|fault| fault.to_string())?;
                Plan::script(script, usual(&self.listen), *seed)
            }
            What::Service(None) if self.listen.is_empty() => Plan::demo(),
            What::Service(service) => Plan::service(service.unwrap_or(Service::Hello), usual(&self.listen)),
        };
        let tls = self.tls.server(plan.addresses(), &self.own)?;
        Ok(plan.with_tls(tls.as_ref()).with_metrics(self.metrics))
    }

    /// Kind and path of the file that can be reloaded.
    pub fn file(&self) -> Option<(&'static str, &Path)> {
        match &self.what {
            What::Routes(file) => Some(("routes", file)),
            What::Script(file, ..) => Some(("script", file)),
            What::Service(_) => self.tls.file().map(|file| ("certificates", file)),
        }
    }
}

/// Listening addresses of a single service; default 127.0.0.1:8080.
fn usual(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    if listen.is_empty() { vec![SocketAddr::from(([127, 0, 0, 1], 8080))] } else { listen.to_vec() }
}
