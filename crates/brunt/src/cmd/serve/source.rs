//! The file that says what is answered: routes, or a script. Read at the start, and again for each SIGHUP.

use serve::http::{
    Plan, read_routes,
    script::{Limits, Script, to_stderr},
};
use std::{net::SocketAddr, path::PathBuf};

/// The file, and what the command line adds to it.
pub(super) struct Source {
    pub file: PathBuf,
    /// If it is a script: what that may use, and the seed of its random numbers.
    pub script: Option<(Limits, u64)>,
    pub listen: Vec<SocketAddr>,
    pub metrics: Option<SocketAddr>,
}

impl Source {
    /// What the file says now.
    ///
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn read(&self) -> Result<Plan, String> {
        let plan = match self.script {
            None => read_routes(&self.file, &self.listen)?,
            Some((limits, seed)) => {
                let script = Script::open(&self.file, limits, to_stderr).map_err(|fault| fault.to_string())?;
                Plan::script(script, usual(&self.listen), seed)
            }
        };
        Ok(plan.with_metrics(self.metrics))
    }
}

/// Where one service listens: where it was told to, or on 127.0.0.1:8080.
pub(super) fn usual(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    if listen.is_empty() { vec![SocketAddr::from(([127, 0, 0, 1], 8080))] } else { listen.to_vec() }
}
