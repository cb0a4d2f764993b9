//! `--short`: the result in five lines.

use crate::format::{connections, or_dash, percent, rate, shown, time};
use crate::summary::Facts;
use brunt_results::RunResult;
use brunt_results::figure::{COST, Figure, OFFERED_RATE, RATE};

/// Load, rate, response times, cost and verdict, a line each.
pub fn page(facts: &Facts) -> String {
    let RunResult { load, latency, generator, verdict, .. } = facts.result;
    let of = |figure: &Figure| (figure.of)(facts.result);
    let interrupted = if facts.result.interrupted { ", INTERRUPTED" } else { "" };
    let offered = of(&OFFERED_RATE).map_or(String::new(), |offered| format!(" of {} offered", rate(offered)));
    let times = super::summary::columns(facts)
        .into_iter()
        .map(|column| format!("{column} {}", shown(&latency.response, &column)));
    let kinds = facts.result.failure_words();
    let kinds = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
    let doubt = verdict.why.first().map_or(String::new(), |why| format!(": {why}"));
    let whose = if facts.result.server.upstreams.is_empty() { "server" } else { "service" };
    let cpu = or_dash(facts.result.server.service_percent(), percent);
    let cost = or_dash(of(&COST), time);
    format!(
        "{}, {}, {:.2} s{interrupted}\n{} answered{offered}, {} failed{kinds}\nresponse {}\n\
         {whose} {cost} of CPU a request, {cpu} of a core; generator {}\nverdict {}{doubt}\n",
        load.url,
        connections(load.connections, facts.result.has_changing_connections()),
        load.measured_s,
        or_dash(of(&RATE), rate),
        facts.result.failures(),
        times.collect::<Vec<_>>().join(", "),
        or_dash(generator.cpu_percent, percent),
        verdict.kind.word(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::env::Env;
    use brunt_results::verdict::{ValidityIssue, Verdict};

    #[test]
    fn five_lines_in_full() {
        let mut result = RunResult::new("brunt");
        result.load.url = "http://127.0.0.1/".to_owned();
        (result.load.connections, result.load.measured_s) = (10, 5.0);
        (result.requests.rate, result.requests.offered_rate) = (999.0, Some(1000.0));
        result.latency.response.count = 4995;
        (result.latency.response.p50_us, result.latency.response.p99_us) = (Some(80.0), Some(950.0));
        result.server.cpu_us_per_request = Some(9.5);
        let page = |result: &RunResult| {
            let env = Env::default();
            page(&Facts { result, env: &env, no_server: None, percentiles: &["50".parse().unwrap()] })
        };
        let expected = "\
http://127.0.0.1/, 10 connections, 5.00 s
999 requests/s answered of 1000 requests/s offered, 0 failed
response mean -, p50 80.0 us, max -
server 9.50 us of CPU a request, - of a core; generator -
verdict ok
";
        assert_eq!(page(&result), expected);
        (result.requests.failed, result.errors.timeout, result.requests.abandoned) = (2, 2, 3);
        assert!(page(&result).contains("1000 requests/s offered, 5 failed (2 timeout, 3 unanswered)\n"));
        result.verdict = Verdict::of(vec![ValidityIssue::RunQueue { whose: "generator", percent: 9.0 }]);
        assert!(page(&result).ends_with("9 % of the time\n") && page(&result).lines().count() == 5);
    }
}
