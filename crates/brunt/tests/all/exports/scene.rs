//! Results with a known distribution, and their exports.

use brunt_results::directory::Directory;
use brunt_results::env::Env;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Requests, Responses, Server};
use brunt_results::{LatencySummary, RunResult};
use brunt_testkit::told;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Resolution of the histogram.
pub const PRECISION: f64 = 0.0011;
const COUNT: u64 = 20_000;

pub struct Scene {
    pub home: brunt_testkit::Home,
}

/// Nanoseconds from 50 us to about 1.2 s, most of them below a millisecond; ascending.
pub fn values() -> Vec<u64> {
    let value = |number: u64| {
        let share = number as f64 / COUNT as f64;
        (50_000.0 + 400_000.0 * share / (1.0005 - share).powf(1.05)) as u64
    };
    (0..COUNT).map(value).collect()
}

/// The quantile of this share, in seconds.
pub fn quantile_s(share: f64) -> f64 {
    let values = values();
    let rank = (share * values.len() as f64).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1] as f64 / 1e9
}

pub fn mean_s() -> f64 {
    values().iter().sum::<u64>() as f64 / COUNT as f64 / 1e9
}

#[track_caller]
pub fn assert_near(found: f64, expected: f64, precision: f64) {
    assert!((found / expected - 1.0).abs() <= precision, "{found} should be {expected}");
}

/// An HTTP result with 500 failures beside the completed requests, or an echo result without failures.
pub fn write(dir: &Path, is_http: bool) {
    let mut histogram = new_histogram();
    values().into_iter().for_each(|nanos| histogram.record(nanos).unwrap());
    let mut result = RunResult::new("brunt");
    result.load.url = if is_http { "http://127.0.0.1:8080/" } else { "tcp://127.0.0.1:7100" }.to_owned();
    result.load.connections = 16;
    result.load.measured_s = 10.0;
    result.load.warmup_s = 1.0;
    let failed = if is_http { 500 } else { 0 };
    let completed = COUNT - failed;
    let rate = completed as f64 / 10.0;
    result.requests = Requests { completed, failed, rate, offered_rate: Some(2000.0), ..Requests::default() };
    result.latency.response = LatencySummary::of(&histogram);
    if is_http {
        result.errors.status = 300;
        result.errors.timeout = 200;
        let statuses = [("200".to_owned(), completed), ("503".to_owned(), 300)].into();
        result.responses = Some(Responses::of(statuses, None));
    }
    result.connections.opened = 16;
    result.bytes.sent = 1_000_000;
    result.bytes.received = 3_000_000;
    result.server = Server {
        cpu_user_percent: Some(10.0),
        cpu_system_percent: Some(30.0),
        cpu_us_per_request: Some(200.0),
        rss_peak_bytes: Some(5 << 20),
        ..Server::default()
    };
    let directory = Directory::create(dir).unwrap();
    // 2026-01-31 08:05:09 UTC
    let env = Env { brunt: "0.1.0".into(), started_unix_s: 1_769_846_709, ..Env::default() };
    directory.write_env(&env).unwrap();
    directory.write_result(&result).unwrap();
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut log, &mut serializer)
        .unwrap()
        .write_histogram(&histogram, Duration::from_secs(1), Duration::from_secs(10), Tag::new("response"))
        .unwrap();
    directory.write_hlog(&log).unwrap();
}

impl Scene {
    /// One HTTP result in `http`, one echo result in `tcp`.
    pub fn new() -> Self {
        let home = brunt_testkit::home();
        write(&home.path().join("http"), true);
        write(&home.path().join("tcp"), false);
        Self { home }
    }

    /// A run of two targets with two repeats each, made of these results by a tester script.
    pub fn with_run() -> Self {
        let scene = Self::new();
        let plan = "name = 'scene'\nrepeats = 2\n[load]\nconnections = 1000\nduration = '50ms'\nwarmup = '0s'\n\
            [sweep]\nsize = ['100B', '1KiB']\n\
            [[target]]\nname = 'echo'\nserve = { service = 'echo', model = 'epoll' }\n";
        fs::write(scene.home.path().join("plan.toml"), plan).unwrap();
        let script = "while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\ncp tcp/* $out/\n";
        fs::write(scene.home.path().join("load"), script).unwrap();
        scene.brunt(&["run", "plan.toml", "--quiet", "--tester", "sh"]);
        scene
    }

    /// Output of brunt; asserts exit code 0.
    #[track_caller]
    pub fn brunt(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.current_dir(self.home.path()).env("BRUNT_STATE_DIR", "state").args(args);
        told(&command.stdin(Stdio::null()).output().unwrap(), 0).0
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.brunt(args)).unwrap()
    }
}
