//! Finds settings and limits of this machine that distort results or prevent runs: evidence, consequence, remedy.
//!
//! Reading ([`Facts`]) and judging ([`examine`]) are separate, so that each finding can be tested on a machine without the
//! fault. Never changes a setting: the remedy is a command for the user to run.

mod facts;
mod limits;
mod machine;
mod server;

pub use facts::Facts;
pub use server::examine_server;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Good,
    Unknown,
    /// Costs precision, or matters for larger runs.
    Warn,
    /// Results are wrong or runs fail until it is fixed.
    Bad,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, as `open files`.
    pub subject: String,
    pub state: State,
    pub evidence: String,
    /// The effect on results; empty if good.
    pub consequence: String,
    /// The command that fixes it, if there is one.
    pub remedy: Option<String>,
}

impl Finding {
    pub fn good(subject: &str, evidence: impl Into<String>) -> Self {
        let (subject, evidence) = (subject.to_owned(), evidence.into());
        Self { subject, state: State::Good, evidence, consequence: String::new(), remedy: None }
    }

    pub fn unknown(subject: &str, evidence: impl Into<String>, consequence: &str) -> Self {
        Self::good(subject, evidence).but(State::Unknown, consequence)
    }

    /// Sets a state with its consequence.
    pub fn but(self, state: State, consequence: impl Into<String>) -> Self {
        Self { state, consequence: consequence.into(), ..self }
    }

    fn but_if(self, is_bad: bool, state: State, consequence: impl Into<String>, remedy: impl Into<String>) -> Self {
        if is_bad { self.but(state, consequence).remedy(remedy) } else { self }
    }

    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Why this machine cannot hold so many connections, with `ends` (1 or 2) of each on it: the limit, its value and the remedy
/// in one line. `None` if no limit is exceeded.
pub fn refusal(facts: &Facts, connections: u64, ends: u64) -> Option<String> {
    let findings = limits::examine(facts, Some(connections), ends);
    let bad = findings.into_iter().find(|finding| finding.state == State::Bad)?;
    let remedy = bad.remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
    Some(format!("{}: {}: {}{remedy}", bad.subject, bad.evidence, bad.consequence))
}

/// Examines the machine for runs with both ends of so many connections on it; `None` for ordinary runs.
pub fn examine(facts: &Facts, connections: Option<u64>) -> Vec<Finding> {
    let mut findings = machine::examine(facts);
    findings.extend(limits::examine(facts, connections, 2));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_that_is_not_good_has_a_consequence() {
        let facts = Facts::read(std::time::Duration::from_millis(50));
        for connections in [None, Some(1_000_000)] {
            let findings = examine(&facts, connections);
            assert!(findings.len() >= 10, "{findings:#?}");
            for finding in findings {
                assert!(!finding.evidence.is_empty(), "{finding:?}");
                assert_eq!(finding.state == State::Good, finding.consequence.is_empty(), "{finding:?}");
            }
        }
    }
}
