//! `brunt doctor`: checks for settings of this machine that distort results, and prints the remedies.

use super::stdout;
use brunt_inputs::address;
use brunt_meter::doctor::{self, Facts, Finding, State};
use brunt_meter::{listener, process::Tree};
use brunt_results::{Count, Error, ExitCode, Rate, calibration::Calibrations, state_dir};
use brunt_runtime::{BackendKind, Runtime};
use std::{fmt::Write as _, time::Duration};

const WATCH: Duration = Duration::from_millis(500);
/// For the name of a host.
const LOOKUP: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also check limits for this many connections with both ends on this machine, for example 1M
    #[arg(long = "for", value_name = "CONNECTIONS")]
    connections: Option<Count>,
    /// Check the limits of this running server instead: the URL or address where it listens, or the id of its process
    #[arg(long, value_name = "URL|ADDRESS|PID", conflicts_with = "connections")]
    server: Option<String>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let findings = match &self.server {
            Some(server) => of_server(server)?,
            None => self.of_machine(),
        };
        stdout::print_as(self.json, &findings, |findings| text(findings))?;
        let is_bad = findings.iter().any(|finding| finding.state == State::Bad);
        Ok(if is_bad { ExitCode::Untrusted } else { ExitCode::Good })
    }

    fn of_machine(&self) -> Vec<Finding> {
        let mut findings = doctor::examine(&Facts::read(WATCH), self.connections.map(|count| count.0));
        findings.push(ceiling());
        findings.extend(ring());
        findings
    }
}

/// What limits each process that serves there.
fn of_server(server: &str) -> Result<Vec<Finding>, Error> {
    let pids = match server.parse() {
        Ok(pid) => vec![pid],
        Err(_) if server.contains("://") => {
            let address = address::parse(server)?.address(LOOKUP)?;
            listener::roots_of(&[address]).map_err(Error::Failed)?
        }
        Err(_) => listener::roots_of(&[server]).map_err(Error::Failed)?,
    };
    Tree::new(&pids).map_err(|why| Error::Failed(format!("--server {server}: {why}")))?;
    Ok(pids.into_iter().flat_map(doctor::examine_server).collect())
}

/// Stored calibration of the generator on this machine.
fn ceiling() -> Finding {
    let subject = "generator's ceiling";
    let known = state_dir::path().map_err(|error| error.to_string()).and_then(|directory| {
        Calibrations(directory).rates(&brunt_meter::environment::collect()).map_err(|error| error.to_string())
    });
    let evidence = match known.as_deref() {
        Ok([]) => "not measured with this version of brunt on this machine".to_owned(),
        Ok([rate]) => return Finding::good(subject, format!("{} requests/s under one load", Rate(rate.round()))),
        Ok(rates) => {
            let (least, most) = rates.iter().fold((f64::MAX, 0.0f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
            let (least, most) = (Rate(least.round()), Rate(most.round()));
            return Finding::good(subject, format!("{least} to {most} requests/s under {} loads", rates.len()));
        }
        Err(why) => why.clone(),
    };
    let consequence = "a target as fast as the generator cannot be told from it except by the generator's CPU use";
    let remedy = "brunt load URL --calibrate, with the connections and cores of the load";
    Finding::unknown(subject, evidence, consequence).remedy(remedy)
}

/// io_uring features found by brunt's runtime.
fn ring() -> Vec<Finding> {
    let runtime = match Runtime::builder().env_prefix("BRUNT").build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let consequence = "brunt's own server and generator cannot run";
            return vec![Finding::good("io_uring", error.to_string()).but(State::Bad, consequence)];
        }
    };
    if runtime.backend() != BackendKind::Uring {
        let why = runtime.fallback_reason().unwrap_or("epoll was chosen").to_owned();
        let consequence = "brunt runs on epoll, at about 80 % of the rate; peers that require io_uring do not run";
        let remedy = "sysctl -w kernel.io_uring_disabled=0, or a container with --security-opt seccomp=unconfined";
        let is_forbidden = why.contains("forbidden");
        let finding = Finding::good("io_uring", why).but(State::Warn, consequence);
        return vec![if is_forbidden { finding.remedy(remedy) } else { finding }];
    }
    let mut findings = vec![Finding::good("io_uring", "has all features that brunt's runtime requires (Linux 6.1)")];
    for feature in runtime.ring_features() {
        let subject = format!("io_uring {}", feature.name);
        findings.push(match feature.missing {
            None => Finding::good(&subject, format!("Linux {}: {}", feature.since, feature.gives)),
            Some(why) => {
                let evidence = format!("{why} (Linux {})", feature.since);
                Finding::good(&subject, evidence).but(State::Warn, format!("without {}", feature.gives))
            }
        });
    }
    findings
}

/// A line for each, with what follows from it.
pub(super) fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let word = match finding.state {
            State::Good => "ok",
            State::Unknown => "?",
            State::Warn => "warn",
            State::Bad => "BAD",
        };
        let _ = writeln!(text, "{word:<5}{:<width$}  {}", finding.subject, finding.evidence);
        let indent = 7 + width;
        if !finding.consequence.is_empty() {
            let _ = writeln!(text, "{:indent$}{}", "", finding.consequence);
        }
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:indent$}remedy: {remedy}", "");
        }
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (bad, warnings, unknown) = (count(State::Bad), count(State::Warn), count(State::Unknown));
    let _ = writeln!(text, "\n{bad} bad, {warnings} warnings, {unknown} unknown");
    text
}
