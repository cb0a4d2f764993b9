//! A finished experiment of two targets whose results have every figure, and one of an echo server that has few.

use crate::common::model::experiment;
use brunt_lab::plan::read;
use brunt_lab::run_directory::{Experiment, RunDirectory};
use brunt_lab::schedule::{Cell, Machine, cells};
use brunt_results::directory::Directory;
use brunt_results::env::Env;
use brunt_results::judge::judge;
use brunt_results::latency::new_histogram;
use brunt_results::result::{
    Bytes, Connections, Errors, Generator, Host, Load, Requests, Responses, Rest, Sends, Server,
};
use brunt_results::result::{Named, PartFigures};
use brunt_results::{LatencySummary, RunResult};
use std::collections::BTreeMap;
use std::{fs, path::Path};

const PLAN: &str = "name = 'figures'\ndescription = 'every figure'\nrepeats = 6\n[load]\nconnections = 2000\n\
    [sweep]\nrate = ['max', '20k']\n\
    [[target]]\nname = 'a'\ncommand = ['s', '{port}']\n\
    [[target]]\nname = 'b'\ncommand = ['s', '{port}']\n";
const ECHO: &str = "name = 'echo'\nrepeats = 2\n[load]\nconnections = 8\n\
    [[target]]\nname = 'e'\ncommand = ['s', '{port}']\n";
const REPEATS: u32 = 6;
/// Speed of the machine in each repeat.
const SPEED: [f64; REPEATS as usize] = [1.0, 1.012, 0.988, 1.004, 0.995, 1.008];

/// Every figure, of an HTTP server with this speed.
pub fn http(speed: f64, offered_rate: Option<f64>) -> RunResult {
    let rate = offered_rate.unwrap_or(100_000.0 * speed);
    let completed = (rate * 10.0) as u64;
    let mut result = RunResult::new("brunt");
    let mode = if offered_rate.is_some() { "open" } else { "closed" };
    result.load = Load {
        url: "http://127.0.0.1:8080/".into(),
        protocol: Some("http".into()),
        mode: mode.into(),
        connections: 2000,
        measured_s: 10.0,
        warmup_s: 1.0,
        ..Load::default()
    };
    result.requests =
        Requests { completed, failed: 20, unanswered: 5, abandoned: 3, rate, offered_rate, ..Requests::default() };
    result.sends = offered_rate.map(|_| Sends {
        count: completed,
        wakeups: completed / 2,
        per_wakeup_mean: 2.0,
        per_wakeup_p99: 5.0,
        close_percent: 12.5,
        scheduled_close_percent: 7.5,
        clumped: false,
        rest: Some(Rest { mean_us: 90_000.0, p50_us: 80_000.0, max_us: 200_000.0 }),
    });
    let latency = &mut result.latency;
    (latency.response, latency.service) = (summary(completed, 200.0 / speed), summary(completed, 180.0 / speed));
    latency.first_byte = Some(summary(completed, 90.0 / speed));
    (latency.lag, latency.error) = (summary(completed, 1.0), summary(20, 5000.0));
    let further = [("p97.5".to_owned(), 380.0 / speed), ("p99.99".to_owned(), 990.0 / speed)];
    latency.response.percentiles_us = further.into();
    result.errors = Errors { timeout: 5, status: 15, ..Errors::default() };
    result.connections = Connections {
        opened: 2010,
        peak: 2000,
        connect_rate_per_s: Some(12_345.0),
        served_percent: Some(99.9),
        jain_index: Some(0.987),
        ..Connections::default()
    };
    result.bytes = bytes(completed);
    let statuses = [("200".to_owned(), completed), ("503".to_owned(), 15)].into();
    result.responses = Some(Responses {
        lenient: Some(12),
        lenient_rules: Some([("bare LF (RFC 9112 2.2)".to_owned(), 12)].into()),
        refused_rules: Some([].into()),
        ..Responses::of(statuses, Some(completed * 1024))
    });
    result.generator = Generator {
        cpu_percent: Some(70.0),
        cores: vec![1],
        thread_cpu_percent: vec![70.0],
        rss_bytes: Some(30 << 20),
        ..Generator::default()
    };
    result.server = server(speed);
    result.host = Host {
        slab_start_bytes: Some(10 << 20),
        slab_bytes: Some(32 << 20),
        slab_sockets_start_bytes: Some(1 << 20),
        slab_sockets_bytes: Some(15 << 20),
        slab_io_uring_start_bytes: Some(0),
        slab_io_uring_bytes: Some(1 << 20),
        slab_epoll_start_bytes: Some(0),
        slab_epoll_bytes: Some(2 << 20),
        ..Host::default()
    };
    let response = summary(10_000, 150.0);
    let figures = PartFigures { completed: 9990, failed: 10, rate: 999.0, response, ..PartFigures::default() };
    result.names = vec![Named { name: "/cart".into(), figures }];
    result.verdict = judge(&result, None);
    result
}

/// Every count of bytes, those that only some loads have too.
fn bytes(completed: u64) -> Bytes {
    let mut all = serde_json::to_value(Bytes::of(completed * 80, completed * 1250)).unwrap();
    for (key, value) in all.as_object_mut().unwrap().iter_mut().filter(|(_, value)| value.is_null()) {
        *value = (completed * (2000 - 100 * key.len() as u64)).into();
    }
    serde_json::from_value(all).unwrap()
}

fn server(speed: f64) -> Server {
    Server {
        pid: Some(77),
        cpu_user_percent: Some(31.5),
        cpu_system_percent: Some(60.25),
        rss_start_bytes: Some(5 << 20),
        rss_anon_start_bytes: Some(3 << 20),
        rss_bytes: Some(25 << 20),
        rss_anon_bytes: Some(23 << 20),
        rss_peak_bytes: Some(26 << 20),
        cpu_us_per_request: Some(9.175 / speed),
        instructions_user_per_request: Some(4321.0),
        instructions_kernel_per_request: Some(23_456.0),
        cycles_per_request: Some(30_000.0),
        ..Server::default()
    }
}

fn summary(count: u64, p50: f64) -> LatencySummary {
    let us = |factor: f64| Some(p50 * factor);
    LatencySummary {
        count,
        mean_us: us(1.1),
        p50_us: us(1.0),
        p90_us: us(1.5),
        p95_us: us(1.75),
        p99_us: us(2.0),
        p999_us: us(4.0),
        max_us: us(9.0),
        ..LatencySummary::default()
    }
}

/// What every server has: rate and times, of few requests.
pub fn echo(speed: f64) -> RunResult {
    let mut result = RunResult::new("brunt");
    result.load = Load { url: "tcp://127.0.0.1:7100".into(), connections: 8, measured_s: 0.5, ..Load::default() };
    result.requests = Requests { completed: 500, rate: 1000.0 * speed, ..Requests::default() };
    result.latency.response = summary(500, 100.0);
    result.latency.service = summary(500, 100.0);
    result.connections = Connections { opened: 8, peak: 8, ..Connections::default() };
    result.verdict = judge(&result, None);
    result
}

fn env() -> Env {
    let reasons = [
        ("server.cpu_user_percent", "the server runs elsewhere"),
        ("server.rss_bytes", "the server runs elsewhere"),
        ("server.cpu_us_per_request", "the server runs elsewhere"),
        ("server.instructions_user_per_request", "no such counter"),
    ];
    Env {
        brunt: "0.1.0".into(),
        cpu: Some("a processor".into()),
        cpus_online: Some(2),
        started_unix_s: 1_769_846_709,
        absent: reasons.map(|(name, why)| (name.to_owned(), why.to_owned())).into(),
        ..Env::default()
    }
}

fn begin(dir: &Path, text: &str, repeats: u32) -> (RunDirectory, Experiment) {
    fs::create_dir_all(dir).unwrap();
    let store = RunDirectory::at(dir);
    let plan = read("p", text).unwrap();
    let cells = cells(&plan, &Machine { cores: vec![0, 1], open_files: 1 << 20 }, &BTreeMap::new());
    let trials = |cell: &Cell| (1..=repeats).map(|repeat| format!("{}/{repeat}", cell.id())).collect::<Vec<_>>();
    let experiment = Experiment {
        description: plan.description.clone(),
        started_unix_s: 1_769_846_709,
        order: cells.run.iter().flat_map(trials).collect(),
        ..experiment(&plan.name, repeats, cells)
    };
    store.begin(&experiment, text).unwrap();
    (store, experiment)
}

fn write(store: &RunDirectory, cell: &str, repeat: u32, result: &RunResult) {
    let directory = Directory::create(store.trial(cell, repeat)).unwrap();
    directory.write_env(&env()).unwrap();
    directory.write_hlog(&log()).unwrap();
    directory.write_result(result).unwrap();
}

/// An interval log of response times alone.
fn log() -> Vec<u8> {
    use hdrhistogram::serialization::{V2DeflateSerializer, interval_log::*};
    let mut histogram = new_histogram();
    (1..=1000u64).for_each(|us| histogram.record(us * 1000).unwrap());
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let second = std::time::Duration::from_secs(1);
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap()
        .write_histogram(&histogram, second, second, Tag::new("response"))
        .unwrap();
    bytes
}

/// Target `b` is a tenth slower than `a`.
pub fn write_http(dir: &Path) -> RunDirectory {
    let (store, experiment) = begin(dir, PLAN, REPEATS);
    for cell in &experiment.cells.run {
        for (repeat, speed) in (1..).zip(SPEED) {
            let speed = if cell.target == "b" { speed * 0.9 } else { speed };
            write(&store, cell.id(), repeat, &http(speed, cell.rate()));
        }
    }
    store
}

pub fn write_echo(dir: &Path) -> RunDirectory {
    let (store, experiment) = begin(dir, ECHO, 2);
    for cell in &experiment.cells.run {
        for (repeat, speed) in [(1, 1.0), (2, 1.01)] {
            write(&store, cell.id(), repeat, &echo(speed));
        }
    }
    store
}
