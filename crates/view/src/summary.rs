//! Text summary of a result as aligned rows. A pure function of the result.
//!
//! Figures without enough data are dashes: quantiles with fewer than ten values beyond them, and absent figures.

mod connections;
mod fleet;
mod names;
mod sends;
mod server;
mod steps;

pub(crate) use server::cpu;

use crate::format::{amount, bytes, connections, or_dash, percent, plural, rate, shown, supported, time};
use crate::told;
use brunt_results::env::Env;
use brunt_results::result::{Handshakes, Responses};
use brunt_results::{Cores, Percentile, RunResult};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Input of the summary.
#[derive(Debug)]
pub struct Facts<'a> {
    pub result: &'a RunResult,
    /// Environment, with the reasons for absent figures.
    pub env: &'a Env,
    /// Reason why no server was metered.
    pub no_server: Option<&'a str>,
    /// Shown instead of the usual ones, if there are any.
    pub percentiles: &'a [Percentile],
}

/// Formats the summary, ending in a newline.
pub fn page(facts: &Facts) -> String {
    let result = facts.result;
    let mut rows = Rows::default();
    rows.text(&headline(result));
    rows.text(&mode(result));
    rows.text("");
    latency(&mut rows, facts);
    rows.text("");
    for table in [names::table(&result.names), steps::table(&result.steps)] {
        if !table.is_empty() {
            rows.text(&table);
        }
    }
    requests(&mut rows, result);
    sends::rows(result).iter().for_each(|(name, text)| rows.row(name, text));
    generator(&mut rows, result);
    fleet::rows(result.fleet.as_ref()).iter().for_each(|(name, text)| rows.row(name, text));
    result.probe.iter().for_each(|probe| rows.row("probe", &fleet::probe(probe)));
    server::rows(&mut rows, facts);
    rows.row("verdict", result.verdict.kind.word());
    for (why, remedy) in result.verdict.why.iter().zip(&result.verdict.remedy) {
        rows.row("", &format!("{why}; {remedy}"));
    }
    rows.0
}

/// Rows with aligned text columns.
#[derive(Debug, Default)]
struct Rows(String);

impl Rows {
    fn text(&mut self, line: &str) {
        self.0 += line;
        self.0.push('\n');
    }
    fn row(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, "  {name:<11} {text}");
    }
}

fn headline(result: &RunResult) -> String {
    let load = &result.load;
    let size = load.request_bytes.map_or(String::new(), |size| format!(", messages of {size} B"));
    let interrupted = if result.interrupted { ", INTERRUPTED" } else { "" };
    format!(
        "{}{size}, {}, measured {:.2} s after {:.2} s of warm-up{interrupted}",
        load.url,
        connections(result.load.connections, result.has_changing_connections()),
        load.measured_s,
        load.warmup_s
    )
}

/// Requests of each connection, of which the first and the last take little of its time.
const MANY_TURNS: u64 = 20;

fn mode(result: &RunResult) -> String {
    let load = &result.load;
    let achieved = rate(result.requests.rate);
    match result.requests.offered_rate {
        Some(offered) => {
            let arrival = load.arrival.as_deref().unwrap_or("scheduled");
            let due = result.expected_rate().unwrap_or(offered);
            let share = match due > 0.0 {
                true => format!("{:.1} %", result.requests.rate / due * 100.0),
                false => "none was due in the window".to_owned(),
            };
            let tick = load.send_tick_us.map_or(String::new(), |tick| format!(" sent every {}", time(tick)));
            format!("open loop, {arrival} arrivals{tick}: {} offered, {achieved} answered ({share})", rate(offered))
        }
        None => {
            // With a number of connections that changes, the law holds in each step. Of few requests, many connections get none.
            let is_known = !result.latency.response.is_bound("mean");
            let is_busy = result.requests.completed >= MANY_TURNS * load.connections;
            let has_law = result.requests.rate > 0.0 && result.steps.is_empty() && is_known && is_busy;
            let mean = result.latency.response.mean_us.filter(|_| has_law);
            let law = mean.map_or(String::new(), |mean| {
                let law = time(load.connections as f64 / result.requests.rate * 1e6);
                let mean = time(mean);
                format!(
                    "\n  latency at saturation follows from Little's law: connections / rate = {law}, mean = {mean}"
                )
            });
            format!("closed loop: {achieved} answered{law}")
        }
    }
}

const USUAL: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

/// Columns of times: the mean, percentiles in their order, the largest.
pub(crate) fn columns(facts: &Facts) -> Vec<String> {
    let mut chosen = facts.percentiles.to_vec();
    chosen.sort_by(|a, b| a.quantile().total_cmp(&b.quantile()));
    chosen.dedup();
    let chosen: Vec<String> = chosen.iter().map(Percentile::to_string).collect();
    let percentiles = if chosen.is_empty() { USUAL.map(str::to_owned).to_vec() } else { chosen };
    ["mean".to_owned()].into_iter().chain(percentiles).chain(["max".to_owned()]).collect()
}

fn latency(rows: &mut Rows, facts: &Facts) {
    let columns = columns(facts);
    let all = &facts.result.latency;
    // Where every reply came in one receive, the first byte came when the last one did.
    let first_byte = all.first_byte.as_ref().filter(|times| **times != all.service);
    let error = Some(&all.error).filter(|times| times.count > 0);
    let mut table = vec![("", columns.clone())];
    for (name, summary) in [
        ("response", Some(&all.response)),
        ("service", Some(&all.service)),
        ("first byte", first_byte),
        ("lag", Some(&all.lag)),
        ("error", error),
    ] {
        if let Some(summary) = summary {
            table.push((name, columns.iter().map(|column| shown(summary, column)).collect()));
        }
    }
    let width = |least: usize, cell: &String| least.max(cell.len());
    let width = table.iter().flat_map(|(_, cells)| cells).fold(8, width);
    for (name, cells) in table {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
        rows.row(name, &cells.join(" "));
    }
    let censored = all.response.censored;
    if columns.iter().any(|column| supported(&all.response, column).is_some() && all.response.is_bound(column)) {
        let requests = plural(censored, "request");
        rows.row(
            "",
            &format!("> is a lower bound: {requests} without a complete reply, longer than every answered one"),
        );
    }
}

fn requests(rows: &mut Rows, result: &RunResult) {
    let requests = &result.requests;
    let (completed, failed, unanswered) = (requests.completed, requests.failed, requests.unanswered);
    let waited = requests.waited.filter(|waited| *waited > 0);
    let waited = waited.map_or(String::new(), |waited| format!(", {waited} waited for a free connection"));
    rows.row(
        "requests",
        &format!(
            "{completed} completed, {failed} failed, {unanswered} unanswered at the end{waited}{}",
            told::known(result, "requests")
        ),
    );
    let errors = result.failure_words();
    rows.row("errors", if errors.is_empty() { "none" } else { &errors });
    if let Some(responses) = &result.responses {
        rows.row("replies", &replies(responses, result.bytes_per_reply()));
        for (name, joint, rules) in
            [("lenient", " with", &responses.lenient_rules), ("refused", ":", &responses.refused_rules)]
        {
            if let Some(rules) = rules.as_ref().filter(|rules| !rules.is_empty()) {
                rows.row(name, &by_rule(rules, joint));
            }
        }
        if let Some((all, followed)) = responses.redirects.zip(responses.followed) {
            let late = if followed < all { ", the others would have been after the end" } else { "" };
            rows.row("redirects", &format!("{all}, {followed} of them followed, each by a request of its own{late}"));
        }
    }
    connections::rows(rows, result);
    if let Some(handshakes) = &result.handshakes {
        rows.row("handshakes", &self::handshakes(handshakes));
    }
    let (sent, received) = (per_second(result, result.bytes.sent), per_second(result, result.bytes.received));
    rows.row("payload", &format!("{sent} sent, {received} received"));
}

/// Statuses, and bytes of a reply, of which `whole` are those of head and body.
fn replies(responses: &Responses, whole: Option<f64>) -> String {
    let all: u64 = responses.statuses.values().sum();
    if all == 0 {
        return "none".to_owned();
    }
    let body = responses.body_bytes.map(|count| bytes(count as f64 / all as f64));
    let each = match (whole.map(bytes), body) {
        (Some(whole), Some(body)) => format!("; {whole} each, of it {body} of body"),
        (Some(whole), None) => format!("; {whole} each"),
        (None, Some(body)) => format!("; {body} of body each"),
        (None, None) => String::new(),
    };
    let statuses = responses.statuses.iter().map(|(status, count)| format!("{count} with status {status}"));
    statuses.collect::<Vec<_>>().join(", ") + &each
}

/// Counts of replies by rule.
fn by_rule(rules: &BTreeMap<String, u64>, joint: &str) -> String {
    let noun = |count| if count == 1 { "reply" } else { "replies" };
    let one = |(rule, count): (&String, &u64)| format!("{count} {}{joint} {rule}", noun(*count));
    rules.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Counts, durations, protocol versions.
fn handshakes(handshakes: &Handshakes) -> String {
    let Handshakes { full, resumed, failed, time: summary, protocols } = handshakes;
    let figure = |name| Some(format!("{name} {}", time(supported(summary, name)?)));
    let figures: Vec<String> = ["mean", "p50", "p99", "max"].into_iter().filter_map(figure).collect();
    let protocols: Vec<&str> = protocols.keys().map(String::as_str).collect();
    let counts = format!("{full} full, {resumed} resumed, {failed} failed");
    let parts = [counts, figures.join(", "), protocols.join(", ")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn generator(rows: &mut Rows, result: &RunResult) {
    let generator = &result.generator;
    let threads: Vec<String> = generator.thread_cpu_percent.iter().map(|p| format!("{p:.1}")).collect();
    let ceiling = generator.ceiling_rate.filter(|ceiling| *ceiling > 0.0).map(|ceiling| {
        let share = result.requests.rate / ceiling * 100.0;
        format!("; {share:.0} % of its own ceiling, {}", rate(ceiling))
    });
    let instructions = generator.instructions_user_per_request;
    let parts = [
        Some(format!("CPU {}", or_dash(generator.cpu_percent, percent))),
        generator.spin_percent.map(|spin| format!(", of it {} spent waiting", percent(spin))),
        (!threads.is_empty()).then(|| format!("; by thread {}", threads.join(" "))),
        (!generator.cores.is_empty()).then(|| format!("; on cores {}", Cores(generator.cores.clone()))),
        instructions.map(|count| format!("; {} user instructions/request", amount(count))),
        ceiling,
    ];
    let told = told::known(result, "generator");
    rows.row("generator", &parts.into_iter().flatten().chain([told]).collect::<String>());
}

fn per_second(result: &RunResult, count: u64) -> String {
    format!("{}/s", bytes(count as f64 / result.load.measured_s.max(1e-9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::{LatencySummary, result::*};
    use serde_json::json;

    fn part<T: serde::de::DeserializeOwned>(json: serde_json::Value) -> T {
        serde_json::from_value(json).unwrap()
    }

    fn summary(us: f64) -> LatencySummary {
        let [mean, p90, p95, p99, p999, max] = [1.1, 1.5, 2.0, 4.0, 20.0, 300.0].map(|factor| us * factor);
        part(json!({
            "count": 4000, "mean_us": mean, "p50_us": us, "p90_us": p90, "p95_us": p95, "p99_us": p99, "p999_us": p999,
            "max_us": max, "percentiles_us": {"p97.5": p99},
        }))
    }

    fn result() -> RunResult {
        let load = Load {
            url: "tcp://127.0.0.1:7100".into(),
            request_bytes: Some(100),
            connections: 10,
            measured_s: 2.0,
            warmup_s: 0.4,
            arrival: Some("constant".into()),
            ..Load::default()
        };
        let (offered, waited) = (Some(2000.0), Some(3));
        let lag = summary(0.8);
        let core = Core { core: 0, cpu_percent: 40.0, softirq_percent: 12.5 };
        RunResult {
            load,
            requests: Requests { completed: 4000, rate: 2000.0, offered_rate: offered, waited, ..Requests::default() },
            latency: Latency { response: summary(60.0), service: summary(59.0), lag, ..Latency::default() },
            errors: Errors { timeout: 2, ..Errors::default() },
            connections: Connections {
                opened: 10,
                peak: 10,
                connect_rate_per_s: Some(9000.0),
                ..Connections::default()
            },
            bytes: Bytes::of(400_000, 400_000),
            generator: part(json!({
                "cpu_percent": 20.0, "spin_percent": 8.0, "cores": [1], "thread_cpu_percent": [20.0],
                "run_queue_wait_percent": 0.5, "instructions_user_per_request": 2500.0, "ceiling_rate": 10_000.0,
            })),
            server: part(json!({
                "pid": 77, "cpu_user_percent": 2.0, "cpu_system_percent": 6.0, "busiest_thread_percent": 8.0,
                "rss_bytes": 15 << 20, "threads": 1, "cpu_us_per_request": 40.0, "instructions_user_per_request": 1200.0,
                "instructions_kernel_per_request": 12_000.0, "cycles_per_request": 34_000.0, "voluntary_switches": 4000,
                "involuntary_switches": 8, "minor_faults": 12, "major_faults": 1, "network_received_bytes": 400_000,
                "network_sent_bytes": 400_000, "retransmitted_segments": 1,
            })),
            host: Host { cores: Some(vec![core, Core::default()]), ..Host::default() },
            ..RunResult::new("brunt")
        }
    }

    #[test]
    fn a_page_in_full() {
        let (result, env) = (result(), Env::default());
        let expected = "\
tcp://127.0.0.1:7100, messages of 100 B, 10 connections, measured 2.00 s after 0.40 s of warm-up
open loop, constant arrivals: 2000 requests/s offered, 2000 requests/s answered (100.0 %)

                  mean      p50      p90      p95      p99    p99.9      max
  response     66.0 us  60.0 us  90.0 us   120 us   240 us        -  18.0 ms
  service      64.9 us  59.0 us  88.5 us   118 us   236 us        -  17.7 ms
  lag           880 ns   800 ns  1.20 us  1.60 us  3.20 us        -   240 us

  requests    4000 completed, 0 failed, 0 unanswered at the end, 3 waited for a free connection
  errors      2 timeout
  connections 10 opened, 10 at most at a time
  payload     195 KiB/s sent, 195 KiB/s received
  generator   CPU 20.0 %, of it 8.0 % spent waiting; by thread 20.0; on cores 1; 2.50k user instructions/request; 20 % of its own ceiling, 10000 requests/s
  server      pid 77: CPU 8.0 % (user 2.0 %, system 6.0 %), busiest of 1 thread 8.0 %, RSS 15.0 MiB
  cost        40.0 us CPU/request (user 10.0 us, system 30.0 us), 1.20k user instructions, 12.0k kernel instructions, 34.0k cycles
  network     195 KiB/s to the server, 195 KiB/s from it, 1 segment sent again
  kernel      1.00 context switches/request (8 of all involuntary); 13 page faults (1 from a disk); softirq 12.5 % of a core on the whole machine
  verdict     ok
";
        assert_eq!(page(&Facts { result: &result, env: &env, no_server: None, percentiles: &[] }), expected);
        let percentiles = ["97.5", "p50", "97.5"].map(|text| text.parse().unwrap());
        let chosen = page(&Facts { result: &result, env: &env, no_server: None, percentiles: &percentiles });
        assert!(
            chosen.contains("    mean      p50    p97.5      max\n  response     66.0 us  60.0 us   240 us  18.0 ms\n"),
            "{chosen}"
        );
    }

    #[test]
    fn replies_have_every_status_and_handshakes_what_there_is() {
        let mut responses = Responses { body_bytes: Some(1200), ..Responses::default() };
        assert_eq!(replies(&responses, None), "none");
        responses.statuses = [("200".to_owned(), 90), ("503".to_owned(), 10)].into();
        let expected = "90 with status 200, 10 with status 503; 150 B each, of it 12 B of body";
        assert_eq!(replies(&responses, Some(150.0)), expected);
        let unknown = "90 with status 200, 10 with status 503; 12 B of body each";
        assert_eq!(replies(&responses, None), unknown);
        let rules = [("bare LF (RFC 9112 2.2)".to_owned(), 12), ("bare CR (RFC 9112 2.2)".to_owned(), 1)].into();
        let expected = "1 reply with bare CR (RFC 9112 2.2), 12 replies with bare LF (RFC 9112 2.2)";
        assert_eq!(by_rule(&rules, " with"), expected);
        let failed = Handshakes { failed: 3, ..Handshakes::default() };
        assert_eq!(handshakes(&failed), "0 full, 0 resumed, 3 failed");
        // With 100 values only one lies beyond the 99th percentile.
        let time = part(json!({"count": 100, "mean_us": 250.0, "p50_us": 250.0, "p99_us": 250.0, "max_us": 250.0}));
        let protocols = [("TLS 1.3 X".to_owned(), 100)].into();
        let both = Handshakes { full: 2, resumed: 98, failed: 0, time, protocols };
        let expected = "2 full, 98 resumed, 0 failed; mean 250 us, p50 250 us, max 250 us; TLS 1.3 X";
        assert_eq!(handshakes(&both), expected);
    }

    #[test]
    fn nothing_measured_makes_dashes_and_no_division_by_zero() {
        let mut result = result();
        result.requests = Requests::default();
        (result.latency, result.server) = (Latency::default(), Server::default());
        result.load.measured_s = 0.0;
        let env = Env::default();
        let page = page(&Facts { result: &result, env: &env, no_server: Some("it is far away"), percentiles: &[] });
        assert!(page.contains("not metered: it is far away"), "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
