//! Whether a result is accepted: the exit code that its bounds, failures and doubts make.
//!
//! Doubts can be allowed, for they say that a figure may be wrong. Failures cannot: they are accepted up to a bound on
//! their number or share, and without one not at all. That an agent of a fleet was lost cannot be accepted.

use crate::verdict::Kind;
use crate::{exit::ExitCode, result::RunResult, threshold::Threshold};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Acceptance {
    /// Bounds that must not be crossed. One on failures makes fewer of them acceptable.
    pub bounds: Vec<Threshold>,
    /// Kinds of doubts that are accepted.
    pub doubts: Vec<Kind>,
}

impl Acceptance {
    /// Accepts every doubt.
    pub fn allow_all(&mut self) {
        self.doubts = Kind::ALL.to_vec();
    }

    /// The exit code, and what crosses a bound or has failed, one sentence each. Of several reasons the first counts: a
    /// lost agent, a crossed bound, a failure, a doubt.
    pub fn conclude(&self, result: &RunResult) -> (ExitCode, Vec<String>) {
        let crossed: Vec<String> = self.bounds.iter().filter_map(|bound| bound.crossed(result)).collect();
        let is_limited = self.bounds.iter().any(Threshold::limits_failures);
        let first = |all: &[String]| all.first().cloned().unwrap_or_default();
        match &result.verdict {
            verdict if verdict.has_lost_an_agent() => {
                (ExitCode::Failed, vec![format!("error: {}; {}", first(&verdict.why), first(&verdict.remedy))])
            }
            _ if !crossed.is_empty() => {
                (ExitCode::Threshold, crossed.iter().map(|bound| format!("threshold crossed: {bound}")).collect())
            }
            verdict if verdict.has_failures() && !is_limited => {
                let [why, remedy] = [first(&verdict.why), first(&verdict.remedy)];
                let bound = "a bound such as --fail-if 'errors>1%' accepts some failures";
                (ExitCode::Failed, vec![format!("error: {why}; {remedy} ({bound})")])
            }
            verdict if verdict.doubts().any(|doubt| !self.doubts.contains(&doubt)) => (ExitCode::Untrusted, Vec::new()),
            _ => (ExitCode::Good, Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::judge, verdict::ValidityIssue};

    /// 10,000 requests, some of which failed or were abandoned, with a doubt of each of these kinds.
    fn result(failed: u64, abandoned: u64, doubts: &[Kind]) -> RunResult {
        let mut result = RunResult::new("test");
        result.load.measured_s = 10.0;
        let requests = &mut result.requests;
        (requests.failed, requests.abandoned) = (failed, abandoned);
        (requests.completed, requests.offered_rate) = (10_000 - failed - abandoned, Some(1000.0));
        requests.rate = requests.completed as f64 / 10.0;
        result.errors.status = failed;
        result.latency.response.count = 10_000;
        result.latency.response.p99_us = Some(900.0);
        result.verdict = judge(&result, None);
        for doubt in doubts {
            result.verdict.add(&match doubt {
                Kind::Disturbed => ValidityIssue::Steal { percent: 9.0 },
                Kind::ClientLimited => ValidityIssue::Ceiling { rate: 9.0, ceiling: 9.0 },
                other => panic!("no example of {other:?}"),
            });
        }
        result
    }

    #[test]
    fn a_crossed_bound_comes_before_failures_and_failures_before_doubts() {
        use ExitCode::{Failed, Good, Threshold, Untrusted};
        use Kind::{ClientLimited, Disturbed};
        let (good, one, all) = (result(0, 0, &[]), result(1, 0, &[]), result(10_000, 0, &[]));
        let (disturbed, both) = (result(0, 0, &[Disturbed]), result(0, 0, &[Disturbed, ClientLimited]));
        let one_disturbed = result(1, 0, &[Disturbed]);
        let (overloaded, died) = (result(0, 4000, &[]), result(130, 4778, &[]));
        let cases = [
            (&good, "", "", Good),
            (&good, "p99>1us", "", Threshold),
            (&disturbed, "", "", Untrusted),
            (&disturbed, "", "disturbed", Good),
            (&disturbed, "p99>1us", "disturbed", Threshold),
            (&both, "", "disturbed", Untrusted),
            (&both, "", "client-limited,disturbed", Good),
            (&one, "", "", Failed),
            (&one, "", "all", Failed),
            (&one, "p99>1s", "all", Failed),
            (&one, "errors>0.1%", "", Good),
            (&one, "failed>0", "all", Threshold),
            (&one, "errors<50%", "all", Threshold),
            (&one_disturbed, "", "", Failed),
            (&one_disturbed, "errors>0.1%", "", Untrusted),
            (&one_disturbed, "errors>0.1%", "disturbed", Good),
            (&all, "", "all", Failed),
            (&all, "errors>20%", "all", Threshold),
            // The rate was missed, and a bound counts what was left without an answer.
            (&overloaded, "", "", Untrusted),
            (&overloaded, "", "rate-missed", Good),
            (&overloaded, "errors>20%", "rate-missed", Threshold),
            (&died, "", "all", Failed),
            (&died, "errors>20%", "all", Threshold),
        ];
        for (number, (result, bounds, doubts, code)) in cases.into_iter().enumerate() {
            let list = |text: &'static str| text.split(',').filter(|part| !part.is_empty());
            let bounds: Vec<crate::Threshold> = list(bounds).map(|bound| bound.parse().unwrap()).collect();
            let mut acceptance = Acceptance { bounds, doubts: Vec::new() };
            match doubts {
                "all" => acceptance.allow_all(),
                doubts => acceptance.doubts = list(doubts).map(|doubt| doubt.parse().unwrap()).collect(),
            }
            let (found, said) = acceptance.conclude(result);
            assert_eq!(found, code, "case {number}: {:?} {doubts} {:?}", acceptance.bounds, result.verdict);
            assert_eq!(said.is_empty(), matches!(code, Good | Untrusted), "{said:?}");
        }
    }

    #[test]
    fn errors_cannot_be_allowed_and_doubts_have_names() {
        assert!("errors".parse::<Kind>().unwrap_err().contains("--fail-if 'errors>"));
        let unknown = "disturb".parse::<Kind>().unwrap_err();
        assert!(unknown.starts_with("'disturb' is none of too-few-samples, disturbed"), "{unknown}");
    }
}
