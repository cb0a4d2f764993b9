//! What the result says of the agents.

use super::{Chosen, Made};
use brunt_fleet::coordinator::{AgentOutcome, Verdict};
use brunt_fleet::nats::About;
use brunt_load::Options;
use brunt_load::remote::{Figures, Measured};
use brunt_results::RunResult;
use brunt_results::result::{AgentSeen, Fleet, MissingSecond};
use brunt_results::verdict::ValidityIssue;

impl Chosen {
    /// The agents, for the result.
    pub fn told(&self, made: &Made, options: &Options, result: &RunResult) -> Fleet {
        let Made { run, server, outcome, measured } = made;
        let us = |ns: i64| ns as f64 / 1e3;
        let seen = outcome.agents.iter().filter_map(|of| {
            let number = self.agents.iter().position(|agent| agent.id == of.id)?;
            Some(self.seen(number, of, measured.get(number).map(Measured::figures), outcome.start_ns, options))
        });
        Fleet {
            run: run.clone(),
            engine: format!("nats-server {server}"),
            arrival: result.load.arrival.as_deref().map(|process| match process {
                // A sum of Poisson processes is one.
                "poisson" => process.to_owned(),
                _ if self.agents.len() == 1 => process.to_owned(),
                _ => format!("{process} x {}", self.agents.len()),
            }),
            start_spread_us: outcome.spread_ns.map(us),
            whole_seconds: outcome.whole_seconds,
            missing: outcome
                .missing
                .iter()
                .map(|(agent, second)| MissingSecond { agent: agent.clone(), second: *second })
                .collect(),
            agents: seen.collect(),
        }
    }

    fn seen(
        &self,
        number: usize,
        of: &AgentOutcome,
        figures: Option<Figures>,
        start_ns: Option<i64>,
        options: &Options,
    ) -> AgentSeen {
        let About { id, host, incarnation, cores, .. } = &self.agents[number];
        let us = |ns: i64| ns as f64 / 1e3;
        let since = |at: i64| start_ns.map(|start| us(at - start));
        let threads = self.threads * number..self.threads * (number + 1);
        let lost = of.lost.as_ref();
        AgentSeen {
            id: id.clone(),
            host: host.clone(),
            incarnation: format!("{incarnation:016x}"),
            cores: *cores,
            threads: self.threads as u64,
            connections: options.connections_of(threads) as u64,
            completed: figures.as_ref().map_or(0, |figures| figures.completed),
            p50_us: figures.as_ref().and_then(|figures| figures.p50_us),
            p99_us: figures.as_ref().and_then(|figures| figures.p99_us),
            lag_p99_us: figures.as_ref().and_then(|figures| figures.lag_p99_us).filter(|_| options.rate.is_some()),
            thread_cpu_percent: figures.as_ref().and_then(|figures| figures.thread_cpu_percent),
            // Measured after the load.
            ceiling_rate: None,
            clock_offset_us: of.offset_ns.map(us),
            clock_error_us: of.bound_ns.map(us),
            drift_ppm: of.drift_ppm,
            first_send_us: of.first_send_ns.and_then(since),
            seconds: of.seconds,
            lost_at_s: lost.and_then(|(at, _)| since(*at)).map(|us| us / 1e6),
            lost: lost.map(|(_, why)| why.words()),
        }
    }
}

impl Made {
    /// The verdict on the agents.
    pub fn issue(&self) -> Option<ValidityIssue> {
        match &self.outcome.verdict {
            Verdict::AgentLost { agent, whole_seconds, why } => {
                Some(ValidityIssue::AgentLost { agent: agent.clone(), why: why.words(), whole_seconds: *whole_seconds })
            }
            _ => None,
        }
    }

    /// Whether it was ended before its time, as by `brunt fleet stop`.
    pub fn is_interrupted(&self) -> bool {
        self.outcome.verdict == Verdict::Interrupted
    }
}
