//! Doubts and failures as they arise: each kind of issue in the verdict so far is told of once.

use brunt_results::verdict::{Kind, Verdict};
use std::collections::BTreeMap;

/// Seconds in a row that an issue must hold, so that a single bad one is no doubt. Failures count at once.
const HELD: u32 = 3;

/// Seconds in a row so far, by kind of issue; `HELD` once it was told of.
#[derive(Debug, Default)]
pub struct Doubts(BTreeMap<Kind, u32>);

impl Doubts {
    /// A line for each kind that is new in the verdict after a second.
    pub fn arising(&mut self, at_s: f64, verdict: &Verdict) -> Vec<String> {
        self.0.retain(|kind, seconds| *seconds == HELD || verdict.kinds.contains(kind));
        let mut lines = Vec::new();
        for (first, kind) in verdict.kinds.iter().enumerate() {
            let seconds = self.0.entry(*kind).or_default();
            if *seconds == HELD || verdict.kinds[..first].contains(kind) {
                continue;
            }
            *seconds = if *kind == Kind::Errors { HELD } else { *seconds + 1 };
            if *seconds == HELD {
                let of_kind = |all: &[String]| {
                    let all = verdict.kinds.iter().zip(all).filter(|(of, _)| *of == kind);
                    all.map(|(_, one)| one.as_str()).collect::<Vec<_>>().join("; ")
                };
                let (why, remedy) = (of_kind(&verdict.why), of_kind(&verdict.remedy));
                let at_s = (at_s * 10.0).round() / 10.0;
                lines.push(format!("verdict so far, after {at_s} s: {}: {why}; {remedy}", kind.word()));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::verdict::ValidityIssue;

    fn arising(doubts: &mut Doubts, at_s: f64, issues: &[ValidityIssue]) -> Vec<String> {
        doubts.arising(at_s, &Verdict::of(issues.to_vec()))
    }

    #[test]
    fn a_kind_is_told_of_once_after_three_seconds_of_it() {
        let missed = ValidityIssue::RateMissed { offered: 1000.0, achieved: 800.0, waited: Some(0.5) };
        let steal = ValidityIssue::Steal { percent: 9.0 };
        let mut doubts = Doubts::default();
        assert!(arising(&mut doubts, 1.0, std::slice::from_ref(&missed)).is_empty());
        assert!(arising(&mut doubts, 2.0, &[]).is_empty());
        for at_s in [3.0, 4.0] {
            assert!(arising(&mut doubts, at_s, &[missed.clone(), steal.clone()]).is_empty());
        }
        let lines = arising(&mut doubts, 5.0, &[missed.clone(), steal.clone(), steal.clone()]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("verdict so far, after 5 s: rate-missed: 800 requests/s were answered of 1000"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("verdict so far, after 5 s: disturbed: ") && lines[1].contains("9"), "{lines:?}");
        for at_s in [6.0, 7.0, 8.0, 9.0] {
            let issues = if at_s == 6.0 { vec![] } else { vec![missed.clone()] };
            assert!(arising(&mut doubts, at_s, &issues).is_empty());
        }
    }

    #[test]
    fn failures_are_told_of_at_once() {
        let exit = ValidityIssue::ServerExited { pid: 7, after_s: 1.2 };
        let lines = arising(&mut Doubts::default(), 1.5, &[exit]);
        assert!(
            lines.len() == 1 && lines[0].starts_with("verdict so far, after 1.5 s: errors: server pid 7 exited"),
            "{lines:?}"
        );
    }
}
