//! Where what is answered comes from: flags, and the files that they name. Read at the start, and again for each SIGHUP.

use super::tls::Tls;
use brunt_serve::http::{
    CertCache, Plan, Service, read_routes,
    script::{Limits, Script, to_stderr},
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What is answered, and what the command line adds to it.
pub(super) struct Source {
    pub what: What,
    pub listen: Vec<SocketAddr>,
    pub metrics: Option<SocketAddr>,
    pub tls: Tls,
    pub own: Arc<CertCache>,
}

/// What says what is answered.
pub(super) enum What {
    /// A file with routes.
    Routes(PathBuf),
    /// A script, what that may use, and the seed of its random numbers.
    Script(PathBuf, Limits, u64),
    /// A service; without one there are three.
    Service(Option<Service>),
}

impl Source {
    /// What is to be served now.
    ///
    /// # Errors
    /// One line that says which file is wrong, and how.
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

    /// What the file holds that can be read again, and the file; nothing if there is none.
    pub fn file(&self) -> Option<(&'static str, &Path)> {
        match &self.what {
            What::Routes(file) => Some(("routes", file)),
            What::Script(file, ..) => Some(("script", file)),
            What::Service(_) => self.tls.file().map(|file| ("certificates", file)),
        }
    }
}

/// Where one service listens: where it was told to, or on 127.0.0.1:8080.
fn usual(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    if listen.is_empty() { vec![SocketAddr::from(([127, 0, 0, 1], 8080))] } else { listen.to_vec() }
}
