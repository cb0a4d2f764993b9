//! `brunt fleet doctor`: what would spoil a load of these machines.

use super::access::{FleetFlag, failed};
use super::json::JsonFlag;
use crate::cmd::{doctor, stdout};
use brunt_fleet::coordinator::Config;
use brunt_fleet::nats::{self, About, Survey, now};
use brunt_fleet::sync::Estimate;
use brunt_meter::doctor::{Finding, State};
use brunt_results::{Error, ExitCode};

/// Before these, faults are known that let users pass their permissions.
const SAFE: [[u32; 3]; 2] = [[2, 12, 7], [2, 14, 0]];
/// A clock that is known to this is as good as any through a NATS server in the same network.
const GOOD_CLOCK_NS: i64 = 500_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each agent tells what brunt doctor found on its machine when it started.

Exit status: 0 nothing is bad, 1 no connection to the fleet, 2 wrong usage, 3 something is bad.")]
pub struct Args {
    #[command(flatten)]
    json: JsonFlag,
    #[command(flatten)]
    fleet: FleetFlag,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let Survey { server, agents } = nats::survey(&self.fleet.of_operator()?).map_err(failed)?;
        let mut findings = vec![of_server(&server), of_number(agents.len())];
        let own = brunt_meter::environment::binary_hash().ok();
        findings.extend(agents.iter().flat_map(|(agent, clock)| of_agent(agent, *clock, own.as_ref())));
        stdout::print_as(self.json.json, &findings, |findings| doctor::text(findings))?;
        let is_bad = findings.iter().any(|finding| finding.state == State::Bad);
        Ok(if is_bad { ExitCode::Untrusted } else { ExitCode::Good })
    }
}

fn of_server(version: &str) -> Finding {
    let finding = Finding::good("nats-server", version);
    let mut numbers = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let [major, minor, patch] = [(); 3].map(|()| numbers.next().unwrap_or(0));
    // Of 2.12 there is a patch that has what 2.14 has.
    let is_safe = [major, minor, patch] >= SAFE[1] || [major, minor] == SAFE[0][..2] && patch >= SAFE[0][2];
    match is_safe {
        true => finding,
        false => finding
            .but(State::Warn, "known faults of it let users pass their permissions")
            .remedy("install 2.12.7, 2.14 or later"),
    }
}

fn of_number(agents: usize) -> Finding {
    let finding = Finding::good("agents", format!("{agents} answered"));
    match agents {
        0 => finding
            .but(State::Bad, "there is nothing that makes load")
            .remedy("brunt agent --fleet NAME.fleet, on each machine; brunt fleet key NAME makes the file"),
        _ => finding,
    }
}

fn of_agent(agent: &About, clock: Option<Estimate>, own: Option<&String>) -> Vec<Finding> {
    let id = &agent.id;
    let program = Finding::good(&format!("{id}: program"), format!("brunt {}", agent.brunt));
    let program = match agent.program.as_ref() == own {
        true => program,
        false => program
            .but(State::Bad, "it is another one than this, and gets no load from it")
            .remedy("install the same binary on all machines"),
    };
    let ms = |ns: i64| ns as f64 / 1e6;
    let subject = format!("{id}: clock");
    let known = clock.map(|clock| clock.bound_at_coordinator(now()));
    let clock = match known {
        None => Finding::unknown(&subject, "no answer told it", "the agents may not begin together"),
        Some(bound) => {
            let finding = Finding::good(&subject, format!("known to {:.3} ms", ms(bound)));
            match bound {
                bound if bound > Config::SKEW_NS => finding.but(
                    State::Bad,
                    format!("above {:.0} ms a load is refused: use a faster way to it", ms(Config::SKEW_NS)),
                ),
                bound if bound > GOOD_CLOCK_NS => finding.but(State::Warn, "agents may begin that far apart"),
                _ => finding,
            }
        }
    };
    let allowed = Finding::good(&format!("{id}: may load"), agent.allows.clone());
    let warned = agent.warnings.iter().map(|warning| {
        let (subject, evidence) = warning.split_once(": ").unwrap_or(("machine", warning));
        Finding::good(&format!("{id}: {subject}"), evidence).but(State::Warn, "on that machine: see brunt doctor there")
    });
    [program, clock, allowed].into_iter().chain(warned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_known_faults_are_warned_of() {
        let state = |version: &str| of_server(version).state;
        assert!(["2.12.7", "2.12.9", "2.14.0", "2.15.2", "3.0.0"].iter().all(|version| state(version) == State::Good));
        assert!(["2.12.0", "2.12.6", "2.13.1"].map(state).iter().all(|state| *state == State::Warn));
    }
}
