use super::*;
use crate::live::snapshot;
use brunt_results::LatencySummary;
use brunt_results::agents::AgentNow;
use brunt_results::result::Server;
use brunt_results::series::{Line, SoFar};
use brunt_results::start::LoadStart;
use std::path::Path;

/// Compares text with a file of this folder.
fn golden(name: &str, actual: &str) {
    brunt_testkit::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/live/rows").join(name), actual);
}

fn begun(rate: Option<f64>) -> Model {
    let mut model = Model::default();
    model.begin(LoadStart {
        url: "tcp://127.0.0.1:7100".into(),
        connections: 10,
        rate,
        warmup_s: 1.0,
        duration_s: 9.0,
        no_server: rate.is_none().then(|| "it is far away".to_owned()),
        ..LoadStart::default()
    });
    model
}

fn summary(count: u64, us: f64) -> LatencySummary {
    LatencySummary {
        count,
        mean_us: Some(us * 1.2),
        p50_us: Some(us),
        p90_us: Some(us * 1.5),
        p99_us: Some(us * 4.0),
        p999_us: Some(us * 20.0),
        max_us: Some(us * 300.0),
        ..LatencySummary::default()
    }
}

#[test]
fn agents_have_one_row_however_many_they_are() {
    let agent = |number: u64| AgentNow {
        id: format!("a{number}"),
        seconds: 9,
        p99_us: Some(100.0 * number as f64),
        thread_cpu_percent: Some(number as f64),
        ..AgentNow::default()
    };
    let row = |agents: Vec<AgentNow>| {
        let model = Model { agents, ..begun(None) };
        rows(&model).into_iter().find(|(name, _)| *name == "agents").map(|(_, text)| text)
    };
    assert_eq!(row(Vec::new()), None);
    assert_eq!(row(vec![agent(2)]), Some("1: all in time; busiest thread 2.0 %".to_owned()));
    let mut all: Vec<AgentNow> = (1..=100).map(agent).collect();
    let figures = "p99 100 us (a1) to 10.0 ms (a100); busiest thread 100.0 %";
    assert_eq!(row(all.clone()), Some(format!("100: all in time; {figures}")));
    (all[1].is_late, all[6].lost) = (true, Some("no answer for 5 s".to_owned()));
    assert_eq!(
        row(all),
        Some(format!("100: a2 late (its second 10 is missing), a7 LOST (no answer for 5 s); {figures}"))
    );
}

/// Seconds with all that a line may have; the third is shorter.
fn whole(at: u64) -> Line {
    let so_far = SoFar {
        response: summary(2000 * (at - 1), 60.0),
        lag_p99_us: Some(3.0),
        waited: 7,
        busiest_thread_percent: Some(20.0),
        ..SoFar::default()
    };
    Line {
        at_s: if at == 3 { 2.5 } else { at as f64 },
        warmup: at == 1,
        offered: Some(2000),
        completed: Some(1990 + at),
        failed: Some(0),
        connections: Some(10),
        censored_share: None,
        p50_us: Some(61.0),
        p99_us: Some(241.5),
        p999_us: Some(1201.0),
        lag_p99_us: Some(3.0),
        generator_cpu_percent: Some(20.0 + at as f64),
        server_cpu_user_percent: Some(21.0 + at as f64),
        server_cpu_system_percent: Some(60.0),
        server_rss_bytes: Some(15 << 20),
        server_threads: Some(4),
        host_steal_percent: Some(0.0),
        so_far: Some(Box::new(so_far)),
    }
}

/// What a tester that tells little has.
fn little(at: u64) -> Line {
    Line { at_s: at as f64, completed: (at != 3).then_some(1000), failed: Some(at % 2), ..Line::default() }
}

fn result() -> RunResult {
    let mut result = RunResult::new("brunt");
    (result.load.url, result.load.connections) = ("tcp://127.0.0.1:7100".into(), 10);
    (result.load.measured_s, result.requests.rate) = (4.0, 1995.0);
    (result.requests.completed, result.requests.failed) = (7980, 3);
    result.requests.offered_rate = Some(2000.0);
    result.errors.timeout = 3;
    result.latency.response = summary(7980, 70.0);
    result.latency.lag = summary(7980, 1.0);
    result.generator.cpu_percent = Some(33.0);
    (result.server.cpu_user_percent, result.server.cpu_system_percent) = (Some(2.0), Some(6.0));
    (result.server.cpu_us_per_request, result.server.rss_bytes) = (Some(41.0), Some(15 << 20));
    (result.server.busiest_thread_percent, result.server.threads) = (Some(5.0), Some(2));
    result
}

#[test]
fn pages_and_snapshots_of_a_load_that_goes_on_and_of_one_that_has_ended() {
    let fed = |rate: Option<f64>, line: fn(u64) -> Line, seconds: u64| {
        let mut model = begun(rate);
        (1..=seconds).for_each(|at| assert!(model.push(line(at))));
        model
    };
    let ended = |mut model: Model, change: fn(&mut RunResult)| {
        let mut result = result();
        change(&mut result);
        model.end(result);
        model
    };
    let all = [
        ("nothing", fed(Some(2000.0), whole, 0)),
        ("warm-up", fed(Some(2000.0), whole, 1)),
        ("one second", fed(Some(2000.0), whole, 2)),
        ("four seconds", fed(Some(2000.0), whole, 4)),
        ("of another tester", fed(None, little, 4)),
        ("ended", ended(fed(Some(2000.0), whole, 4), |_| ())),
        ("ended, no lines", ended(Model::default(), |result| result.interrupted = true)),
        (
            "ended, closed, not metered",
            ended(fed(None, little, 2), |result| {
                (result.requests.offered_rate, result.server) = (None, Server::default());
                (result.requests.completed, result.requests.failed) = (0, 0);
            }),
        ),
    ];
    let said = |(name, model): &(&str, Model)| format!("== {name}\n{}{}\n", page(model), snapshot(model));
    golden("pages.txt", &all.iter().map(said).collect::<String>());
}
