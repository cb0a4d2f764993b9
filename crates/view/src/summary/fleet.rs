//! The agents that made a load, a line each.

use crate::format::{plural, time};
use brunt_results::result::{AgentSeen, Fleet, Probe};

/// Rows of the summary; none without agents.
pub(super) fn rows(fleet: Option<&Fleet>) -> Vec<(&'static str, String)> {
    let Some(fleet) = fleet else { return Vec::new() };
    let worst = fleet.agents.iter().filter_map(|agent| agent.clock_error_us).reduce(f64::max);
    let facts = [
        Some(plural(fleet.agents.len() as u64, "agent")),
        fleet.start_spread_us.map(|spread| format!("began within {}", time(spread))),
        worst.map(|worst| format!("clocks known to {}", time(worst))),
        Some(format!("run {}", fleet.run)),
    ];
    let first = ("agents", facts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    [first].into_iter().chain(fleet.agents.iter().map(|agent| ("", line(agent)))).collect()
}

/// The row of a probe.
pub(super) fn probe(probe: &Probe) -> String {
    let times = [("p50", probe.p50_us), ("p99", probe.p99_us), ("max", probe.max_us), ("lag p99", probe.lag_p99_us)];
    let times = times.into_iter().filter_map(|(name, us)| Some(format!("{name} {}", time(us?))));
    let Probe { agent, name, rate, completed, failed, .. } = probe;
    let first = format!("agent {agent} on {name}: {completed} completed, {failed} failed, at {rate:.0}/s");
    [first].into_iter().chain(times).collect::<Vec<_>>().join(", ")
}

fn line(agent: &AgentSeen) -> String {
    let times = |name: &str, us: Option<f64>| us.map(|us| format!("{name} {}", time(us)));
    let facts = [
        Some(format!("{}: {} completed", agent.id, agent.completed)),
        times("p50", agent.p50_us),
        times("p99", agent.p99_us),
        times("lag p99", agent.lag_p99_us),
        agent.thread_cpu_percent.map(|percent| format!("busiest thread {percent:.1} %")),
        agent.ceiling_rate.map(|ceiling| format!("ceiling {ceiling:.0}/s")),
        agent.lost.as_ref().map(|why| match agent.lost_at_s {
            Some(at) => format!("LOST after {at:.1} s ({why})"),
            None => format!("LOST ({why})"),
        }),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_has_a_line() {
        let agent =
            |id: &str| AgentSeen { id: id.to_owned(), completed: 1000, p50_us: Some(50.0), ..AgentSeen::default() };
        let lost = AgentSeen { lost: Some("no answer for 5 s".to_owned()), lost_at_s: Some(12.0), ..agent("b") };
        let measured = AgentSeen { ceiling_rate: Some(80_123.4), ..agent("a") };
        let fleet = Fleet { run: "r1".to_owned(), agents: vec![measured, lost], ..Fleet::default() };
        let rows = rows(Some(&fleet));
        assert_eq!(rows[0], ("agents", "2 agents, run r1".to_owned()));
        assert_eq!(rows[1].1, "a: 1000 completed, p50 50.0 us, ceiling 80123/s");
        assert!(rows[2].1.ends_with("LOST after 12.0 s (no answer for 5 s)"), "{}", rows[2].1);
        assert!(super::rows(None).is_empty());
    }
}
