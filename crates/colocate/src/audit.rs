//! The audit log: each decision with the readings that it was made on, a line of JSON each, and what another policy would have
//! decided on them.

use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use crate::policy::choice::Choice;
use crate::policy::{Decision, Reason};
use crate::readings::Readings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::time::Duration;

/// First line of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub version: u32,
    pub policy: String,
    pub objective: Objective,
    pub bounds: Bounds,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Seconds since the start.
    pub now: f64,
    pub readings: Readings,
    #[serde(flatten)]
    pub decision: Decision,
}

pub const VERSION: u32 = 1;

/// Writes a log.
#[derive(Debug)]
pub struct Log<W>(W);

impl<W: Write> Log<W> {
    pub fn begin(out: W, header: &Header) -> io::Result<Self> {
        let mut log = Self(out);
        log.line(header)?;
        Ok(log)
    }

    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        self.line(record)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        self.0.write_all(b"\n")
    }
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("line {line} is no {what}: {why}")]
    Line { line: usize, what: &'static str, why: String },
    #[error("it has version {0}, and {VERSION} is read")]
    Version(u32),
    #[error("its policy: {0}")]
    Policy(#[from] crate::policy::choice::Unknown),
}

/// What a policy decides on the readings of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Replay {
    /// Of the log, and the one that decided again.
    pub logged: String,
    pub policy: String,
    pub decisions: u64,
    /// Decisions with the same allotment for the same reason.
    pub equal: u64,
    /// Seconds of the first that is not.
    pub first_difference: Option<f64>,
    /// Cores in the mean: logged, and decided again.
    pub cores: [f64; 2],
    /// Decisions by reason: logged, and decided again.
    pub reasons: BTreeMap<Reason, [u64; 2]>,
}

/// Decides again with the log's own policy, or another.
///
/// A last line that was cut off, as a crash leaves it, is not read.
pub fn replay(mut log: impl BufRead, other: Option<Choice>) -> Result<Replay, Unreadable> {
    let mut text = String::new();
    log.read_line(&mut text)?;
    let header: Header = parsed(&text, 1, "header of an audit log")?;
    if header.version != VERSION {
        return Err(Unreadable::Version(header.version));
    }
    let choice = other.map_or_else(|| header.policy.parse(), Ok)?;
    let mut policy = choice.policy(header.objective, header.bounds);
    let mut replay = Replay { logged: header.policy, policy: choice.to_string(), ..Replay::default() };
    for line in 2.. {
        text.clear();
        log.read_line(&mut text)?;
        if !text.ends_with('\n') {
            break;
        }
        let record: Record = parsed(&text, line, "decision")?;
        replay.add(&record, policy.decide(Duration::from_secs_f64(record.now), &record.readings));
    }
    replay.cores = replay.cores.map(|sum| sum / replay.decisions.max(1) as f64);
    Ok(replay)
}

fn parsed<T: for<'a> Deserialize<'a>>(text: &str, line: usize, what: &'static str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable::Line { line, what, why: error.to_string() })
}

impl Replay {
    fn add(&mut self, record: &Record, again: Decision) {
        self.decisions += 1;
        match again == record.decision {
            true => self.equal += 1,
            false => self.first_difference = self.first_difference.or(Some(record.now)),
        }
        for (index, decision) in [record.decision, again].into_iter().enumerate() {
            let Allotment { cores, .. } = decision.allotment;
            self.cores[index] += cores;
            self.reasons.entry(decision.reason).or_default()[index] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Job, Load, Scenario, Trouble, preset, simulate};

    fn log_of(policy: Choice) -> Vec<u8> {
        let (machine, service, objective) = preset::server();
        let load = Load::Steps { low: 0.3, high: 0.8, period: 20.0 };
        let scenario = Scenario {
            machine,
            service,
            objective,
            job: Job::MEMORY,
            turns: None,
            load,
            seconds: 120,
            policy,
            missing: 0.1,
            knows_load: true,
            trouble: Trouble::default(),
            seed: 7,
        };
        let header = Header { version: VERSION, policy: policy.to_string(), objective, bounds: scenario.bounds() };
        let mut log = Log::begin(Vec::new(), &header).unwrap();
        simulate(&scenario, |record| log.add(record).unwrap());
        log.0
    }

    #[test]
    fn a_log_decides_the_same_again_and_something_else_under_another_policy() {
        for policy in [Choice::Graded, Choice::Heracles(1.0), Choice::Prototype, Choice::Static(2.0)] {
            let log = log_of(policy);
            let same = replay(&log[..], None).unwrap();
            assert_eq!((same.decisions, same.equal, same.first_difference), (6000, 6000, None), "{policy}");
        }
        let other = replay(&log_of(Choice::Graded)[..], Some(Choice::None)).unwrap();
        assert_eq!((other.equal, other.cores[1], other.reasons[&Reason::Fixed]), (0, 8.0, [0, 6000]));
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_other_damage_named() {
        let log = log_of(Choice::Graded);
        assert_eq!(replay(&log[..log.len() - 5], None).unwrap().decisions, 5999);
        let text = String::from_utf8(log).unwrap();
        for (damaged, said) in [
            (text.replacen("\"version\":1", "\"version\":9", 1), "it has version 9"),
            (text.replacen("graded", "gradual", 1), "'gradual' is no policy"),
            (text.replacen("{\"now\"", "{\"new\"", 1), "line 2 is no decision"),
            (String::new(), "line 1 is no header"),
        ] {
            let error = replay(damaged.as_bytes(), None).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
