//! What on this machine falsifies results or stands in their way: evidence, consequence, remedy.
//!
//! Reading ([`Facts`]) and judging ([`examine`]) are apart, so that every judgement can be tested on a machine that does
//! not have the fault. Nothing here changes a setting: the remedy is a command for the reader to run.

mod facts;
mod limits;
mod machine;

pub use facts::Facts;

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Good,
    /// Could not be read here; may be good or bad.
    Unknown,
    /// Costs precision, or will matter for bigger runs.
    Warn,
    /// Results are wrong or runs fail until it is mended.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, as `open files`.
    pub subject: String,
    /// How it is.
    pub state: State,
    /// What was seen.
    pub evidence: String,
    /// What that does to a result; empty when it is good.
    pub consequence: String,
    /// The command that mends it, where there is one.
    pub remedy: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn good(subject: &str, evidence: impl Into<String>) -> Self {
        Self::new(subject, State::Good, evidence, "", None)
    }

    /// It could not be read.
    pub fn unknown(subject: &str, evidence: impl Into<String>, consequence: &str) -> Self {
        Self::new(subject, State::Unknown, evidence, consequence, None)
    }

    /// Something is not as it should be.
    pub fn new(
        subject: &str,
        state: State,
        evidence: impl Into<String>,
        consequence: impl Into<String>,
        remedy: Option<String>,
    ) -> Self {
        Self { subject: subject.to_owned(), state, evidence: evidence.into(), consequence: consequence.into(), remedy }
    }
}

/// What a run will want of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Connections; `None` for what is usual.
    pub connections: Option<u64>,
    /// How many ends of each are on this machine: 1 or 2.
    pub ends: u64,
}

impl Default for Needs {
    fn default() -> Self {
        Self { connections: None, ends: 2 }
    }
}

/// Why this machine cannot hold so many connections, `ends` of each on it: the limit, its value and what mends it, on one
/// line. `None` if it can, as far as the limits tell.
pub fn refusal(facts: &Facts, connections: u64, ends: u64) -> Option<String> {
    let findings = limits::examine(facts, Needs { connections: Some(connections), ends });
    let bad = findings.into_iter().find(|finding| finding.state == State::Bad)?;
    let remedy = bad.remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
    Some(format!("{}: {}: {}{remedy}", bad.subject, bad.evidence, bad.consequence))
}

/// Judges the facts, machine first, then limits.
pub fn examine(facts: &Facts, needs: Needs) -> Vec<Finding> {
    let mut findings = machine::examine(facts);
    findings.extend(limits::examine(facts, needs));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_examined_and_every_fault_has_a_consequence() {
        let facts = Facts::read(std::time::Duration::from_millis(50));
        for needs in [Needs::default(), Needs { connections: Some(1_000_000), ends: 2 }] {
            let findings = examine(&facts, needs);
            assert!(findings.len() >= 10, "{findings:#?}");
            for finding in findings {
                assert!(!finding.evidence.is_empty(), "{finding:?}");
                assert_eq!(finding.state == State::Good, finding.consequence.is_empty(), "{finding:?}");
            }
        }
    }
}
