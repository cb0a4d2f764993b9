//! The tester's command line for one trial. `brunt load` is run as a program that takes these flags, those of the cell's
//! [`brunt_spec::LoadSpec`], and writes a result directory; other testers are described in [`mod@external`].

mod ab;
mod brunt;
pub mod external;
mod fortio;
mod h2load;
mod hey;
mod oha;
mod output_parser;
mod wrk;

use crate::run::endpoint::Endpoint;
use crate::{plan::template::expand, schedule::Cell};
use external::{ExternalTester, LoadSpec};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXTERNAL: &[&ExternalTester] = &[&wrk::WRK, &ab::AB, &fortio::FORTIO, &hey::HEY, &h2load::H2LOAD, &oha::OHA];

pub fn external(name: &str) -> Option<&'static ExternalTester> {
    EXTERNAL.iter().copied().find(|tester| tester.capabilities.name == name)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tester {
    pub program: PathBuf,
    /// Words before the address and the flags.
    pub lead: Vec<String>,
    /// Time beyond its load before it counts as hung: connecting, draining, writing files.
    pub grace: Duration,
}

/// Connections from one source address to one target; the kernel's default range has 28,232 ports. With more, all addresses
/// of 127.0.0.0/8 are used, since the target is on loopback.
const PORTS: u64 = 28_000;

/// Assumed timeout of a request if the plan sets none.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Tester {
    /// `brunt load` of the binary at this path.
    pub fn brunt(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), lead: vec!["load".to_owned()], grace: Duration::from_secs(30) }
    }

    /// Program and arguments for one trial, with the words that the plan adds for this tester.
    pub fn command(
        &self,
        cell: &Cell,
        added: &[String],
        target: &Endpoint,
        seed: u64,
        out: &Path,
    ) -> Result<(PathBuf, Vec<String>), String> {
        let tester = cell.settings.tester.as_deref().and_then(external);
        let (program, mut args) = match tester {
            None => {
                let mut args = self.args(cell, target, seed, out)?;
                let is_loopback = target.address.ip().is_loopback();
                if is_loopback && cell.connections() > PORTS && !added.iter().any(|word| word.starts_with("--source")) {
                    args.extend(["--source", "127.0.0.0/8"].map(str::to_owned));
                }
                (self.program.clone(), args)
            }
            Some(tester) => {
                (tester.capabilities.name.into(), (tester.args)(&LoadSpec::new(cell, target.address.port(), out)?))
            }
        };
        // Last, so that the plan wins; but the address of an external tester must stay at the end.
        let at = if tester.is_some() { args.len() - 1 } else { args.len() };
        let values = cell.placeholders();
        let added: Vec<String> = added.iter().map(|word| expand(word, &values)).collect::<Result<_, _>>()?;
        args.splice(at..at, added);
        Ok((program, args))
    }

    pub fn args(&self, cell: &Cell, target: &Endpoint, seed: u64, out: &Path) -> Result<Vec<String>, String> {
        let of_trial = [
            "--server-pid".to_owned(),
            target.pid.to_string(),
            "--out".to_owned(),
            out.display().to_string(),
            "--quiet".to_owned(),
            "--accept-any-result".to_owned(),
        ];
        Ok(self.lead.iter().cloned().chain(brunt::spec(cell, target.address, seed)?.words()).chain(of_trial).collect())
    }

    /// Time after which a running tester counts as hung.
    pub fn limit(&self, cell: &Cell) -> Duration {
        let timeout = cell.settings.timeout.map_or(TIMEOUT, |t| t.0);
        // A slow target accepts a thousand connections a second.
        cell.load_time() + timeout + self.grace + Duration::from_millis(cell.connections())
    }
}
