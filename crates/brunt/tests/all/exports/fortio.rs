//! `fortio report` lists and serves the file, and its page's script makes a chart of it.

use super::scene::{PRECISION, Scene, assert_near, quantile_s};
use crate::shared::consumers::{lacks, runs};
use brunt_testkit::{Running, free_port, until_some};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// `fortio report` over a folder, killed at the end of the test.
struct Report {
    _running: Running,
    port: u16,
}

impl Report {
    fn start(scene: &Scene) -> Self {
        let port = free_port();
        let mut command = Command::new("fortio");
        command.current_dir(scene.home.path()).args(["report", "-redirect-port", "disabled", "-data-dir", "data"]);
        command.args(["-http-port", &format!("127.0.0.1:{port}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { _running: Running::start(&mut command), port }
    }

    /// The body of a page; retries, because fortio listens before its pages exist.
    fn get(&self, path: &str) -> String {
        until_some(&format!("fortio has {path}"), || {
            let reply = self.ask(path).ok()?;
            let (head, body) = reply.split_once("\r\n\r\n")?;
            head.contains(" 200 ").then(|| body.to_owned())
        })
    }

    /// With HTTP/1.0, replies end with the connection.
    fn ask(&self, path: &str) -> io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(connection, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
        let mut reply = String::new();
        connection.read_to_string(&mut reply)?;
        Ok(reply)
    }
}

#[test]
fn fortios_own_page_charts_the_distribution() {
    if lacks("fortio", runs("fortio", &["version"]) && runs("node", &["--version"])) {
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.home.path().join("data")).unwrap();
    scene.brunt(&["export", "--to", "fortio", "http", "--out", "data/2026-01-31-080510_brunt.json"]);
    scene.brunt(&["export", "--to", "fortio", "tcp", "--out", "data/tcp.json"]);
    let report = Report::start(&scene);
    let list = report.get("/data/index.tsv");
    assert!(list.contains("2026-01-31-080510_brunt.json") && list.contains("tcp.json"), "{list}");
    let page = report.get("/");
    let script = page.split('"').find(|part| part.ends_with("fortio_chart.js")).unwrap();
    fs::write(scene.home.path().join("chart.js"), report.get(&format!("/{script}"))).unwrap();
    fs::write(scene.home.path().join("http.json"), report.get("/data/2026-01-31-080510_brunt.json")).unwrap();
    // Drawing is stubbed; the data passed to it is checked.
    let drive = "const vm = require('vm'), fs = require('fs');\n\
        const any = new Proxy(function () {}, {get: () => any, set: () => true, apply: () => any, construct: () => any});\n\
        const page = vm.createContext({console, Chart: any, document: any, window: any});\n\
        vm.runInContext(fs.readFileSync('chart.js', 'utf8'), page);\n\
        const chart = page.fortioResultToJsChartData(JSON.parse(fs.readFileSync('http.json', 'utf8')));\n\
        console.log(JSON.stringify(chart));\n";
    let mut node = Command::new("node");
    let output = node.current_dir(scene.home.path()).args(["-e", drive]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let chart: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let title = chart["title"].to_string();
    for words in
        ["brunt ok - http://127.0.0.1:8080/", "2000 target qps (1950 actual) 16 connections for 10s", "2.5% errors"]
    {
        assert!(title.contains(words), "{words} is not in {title}");
    }
    // The figures of the title, and the same recomputed from the buckets.
    for (words, share) in [("p50 ", 0.5), ("p99 ", 0.99), ("p99.9 ", 0.999)] {
        let figure = title.split_once(words).unwrap().1.split(' ').next().unwrap();
        assert_near(figure.parse::<f64>().unwrap(), quantile_s(share) * 1e3, 0.02);
        let points = chart["dataP"].as_array().unwrap();
        let point = points.iter().find(|point| point["y"].as_f64().unwrap() >= share * 100.0 - 1e-3).unwrap();
        assert_near(point["x"].as_f64().unwrap(), quantile_s(share) * 1e3, 2.0 * PRECISION);
    }
}

#[test]
fn every_bucket_and_percentile_is_that_of_the_histogram() {
    let scene = Scene::new();
    let http = scene.json(&["export", "--to", "fortio", "http"]);
    assert_eq!((&http["RunType"], &http["StartTime"]), (&"HTTP".into(), &"2026-01-31T08:05:10Z".into()));
    assert_eq!(http["RetCodes"], serde_json::json!({"200": 19_500, "503": 300, "-1": 200}));
    let histogram = &http["DurationHistogram"];
    let buckets = histogram["Data"].as_array().unwrap();
    let count: u64 = buckets.iter().map(|bucket| bucket["Count"].as_u64().unwrap()).sum();
    assert_eq!((count, histogram["Count"].as_u64()), (20_000, Some(20_000)));
    for pair in buckets.windows(2) {
        let of = |bucket: &serde_json::Value, key: &str| bucket[key].as_f64().unwrap();
        assert!(of(&pair[0], "End") <= of(&pair[1], "Start") && of(&pair[0], "Percent") < of(&pair[1], "Percent"));
    }
    assert_eq!(buckets.last().unwrap()["Percent"], 100.0);
    for percentile in histogram["Percentiles"].as_array().unwrap() {
        let share = (percentile["Percentile"].as_f64().unwrap() * 100.0).round() / 1e4;
        assert_near(percentile["Value"].as_f64().unwrap(), quantile_s(share), PRECISION);
    }
    let tcp = scene.json(&["export", "--to", "fortio", "tcp"]);
    assert_eq!((&tcp["RunType"], &tcp["Destination"]), (&"TCP".into(), &"tcp://127.0.0.1:7100".into()));
    assert_eq!(tcp["RetCodes"], serde_json::json!({"OK": 20_000}));
}
