//! The agents that made a load, each judged by itself: a sum hides a bad one.

use super::{ceiling, generator_cpu, lag};
use crate::LatencySummary;
use crate::result::{AgentSeen, RunResult};
use crate::verdict::ValidityIssue;

/// What limits the load on one of them.
pub fn agents(result: &RunResult) -> Vec<ValidityIssue> {
    let agents = result.fleet.iter().flat_map(|fleet| &fleet.agents);
    agents.filter_map(|agent| limited(result, agent)).collect()
}

fn limited(result: &RunResult, agent: &AgentSeen) -> Option<ValidityIssue> {
    let mut own = RunResult { server: result.server.clone(), ..RunResult::default() };
    let of = |p50_us, p99_us| LatencySummary { count: agent.completed, p50_us, p99_us, ..LatencySummary::default() };
    (own.latency.response, own.latency.lag) = (of(agent.p50_us, agent.p99_us), of(None, agent.lag_p99_us));
    own.generator.thread_cpu_percent = agent.thread_cpu_percent.into_iter().collect();
    own.requests.rate = agent.completed as f64 / result.load.measured_s;
    own.generator.ceiling_rate = agent.ceiling_rate;
    let issue = lag(&own).or_else(|| generator_cpu(&own)).or_else(|| ceiling(&own))?;
    Some(ValidityIssue::AgentLimited { agent: agent.id.clone(), evidence: issue.evidence() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Fleet;

    #[test]
    fn one_agent_that_is_the_limit_is_named_though_the_sum_hides_it() {
        let agent = |id: &str, cpu, lag_us| AgentSeen {
            id: id.to_owned(),
            completed: 100_000,
            p50_us: Some(300.0),
            p99_us: Some(900.0),
            lag_p99_us: Some(lag_us),
            thread_cpu_percent: Some(cpu),
            ..AgentSeen::default()
        };
        let mut result = RunResult::default();
        result.load.measured_s = 10.0;
        let near = AgentSeen { ceiling_rate: Some(10_200.0), ..agent("d", 40.0, 10.0) };
        let far = AgentSeen { ceiling_rate: Some(40_000.0), ..agent("e", 40.0, 10.0) };
        let agents = vec![agent("a", 40.0, 10.0), agent("b", 99.0, 10.0), agent("c", 40.0, 800.0), near, far];
        result.fleet = Some(Fleet { agents, ..Fleet::default() });
        let named: Vec<String> = super::agents(&result).iter().map(ValidityIssue::evidence).collect();
        assert!(named[0].starts_with("agent b: a generator thread used 99 %"), "{named:?}");
        assert!(named[1].starts_with("agent c: the generator sent late: lag p99 800 us"), "{named:?}");
        assert!(named[2].starts_with("agent d: the generator reached 98 % of its own ceiling"), "{named:?}");
        assert_eq!(named.len(), 3, "{named:?}");
        assert!(super::agents(&RunResult::default()).is_empty());
    }
}
