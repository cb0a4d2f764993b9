//! `agents.json`: the agents of a load while it runs, for programs that follow it. It is gone when the load has ended: `result.json` has them.

use crate::result::{AgentSeen, Fleet};
use serde::{Deserialize, Serialize};

/// An agent of a load that goes on. Figures are those of the seconds that are there from all agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentNow {
    pub id: String,
    /// Seconds that have arrived from it, the warm-up's too.
    pub seconds: u64,
    /// Requests of the window that were answered correctly.
    pub completed: u64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// CPU time of its busiest load thread, in percent of a core.
    pub thread_cpu_percent: Option<f64>,
    /// Its next second is missing more than 2 s after its end.
    pub is_late: bool,
    /// Why it was lost.
    pub lost: Option<String>,
}

impl AgentNow {
    fn of(seen: &AgentSeen) -> Self {
        Self {
            id: seen.id.clone(),
            seconds: seen.seconds,
            completed: seen.completed,
            p50_us: seen.p50_us,
            p99_us: seen.p99_us,
            thread_cpu_percent: seen.thread_cpu_percent,
            is_late: false,
            lost: seen.lost.clone(),
        }
    }
}

/// Those of a load that has ended.
pub fn of(fleet: &Fleet) -> Vec<AgentNow> {
    fleet.agents.iter().map(AgentNow::of).collect()
}

/// What is wrong with them, a text for each that is lost or whose seconds are late.
pub fn concerns(agents: &[AgentNow]) -> Vec<String> {
    let concern = |agent: &AgentNow| match &agent.lost {
        Some(why) => Some(format!("{} LOST ({why})", agent.id)),
        None => agent.is_late.then(|| format!("{} late (its second {} is missing)", agent.id, agent.seconds + 1)),
    };
    agents.iter().filter_map(concern).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_late_agents_are_named() {
        let agent = |id: &str, seconds| AgentNow { id: id.to_owned(), seconds, ..AgentNow::default() };
        let late = AgentNow { is_late: true, ..agent("b", 6) };
        let lost = AgentNow { lost: Some("silent for 5 s".to_owned()), is_late: true, ..agent("c", 3) };
        assert_eq!(
            concerns(&[agent("a", 8), late, lost]),
            ["b late (its second 7 is missing)", "c LOST (silent for 5 s)"]
        );
        // One whose share is done has no more seconds.
        assert!(concerns(&[agent("a", 8), agent("b", 3)]).is_empty() && concerns(&[]).is_empty());
    }
}
