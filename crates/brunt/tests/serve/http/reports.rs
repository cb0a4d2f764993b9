//! Metrics and access log.

use crate::http::on_every_model;
use crate::shared::client::*;
use brunt_testkit::Signal;
use std::time::Duration;

on_every_model! {
    metrics_count_requests_and_bytes
    the_log_has_a_line_for_each_request
}

fn metrics_count_requests_and_bytes(model: &str) {
    let routes = "[[route]]\npath = \"/\"\ntext = \"x\"\n[[route]]\npath = \"/reset\"\nname = \"breaks\"\nfault = { kind = \"reset\" }\n";
    let (server, _directory) = start_routes(model, routes, "--metrics 127.0.0.1:0");
    let mut client = Client::connect(server.address());
    (0..5).for_each(|_| assert_eq!(client.get("/").status, 200));
    assert_eq!(client.get("/none").status, 404);
    client.send("nonsense\r\n\r\n");
    assert_eq!(client.answer().status, 400);
    let mut client = Client::connect(server.address());
    client.send("GET /reset HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.reset().0);
    let lines = [
        "brunt_http_requests_total{listener=\"listener-1\",status=\"200\"} 5",
        "brunt_http_requests_total{listener=\"listener-1\",status=\"404\"} 1",
        "brunt_http_requests_total{listener=\"listener-1\",status=\"400\"} 1",
        "brunt_http_parse_refusals_total 1",
        "brunt_http_connections_total 3",
        "brunt_http_faults_total{kind=\"reset\"} 1",
        "brunt_http_handler_seconds_count{route=\"breaks\"} 1",
    ];
    let metrics = Client::connect(server.addresses[1]).metrics(&lines.map(str::to_owned));
    assert_eq!(metrics.field("Content-Type"), Some("text/plain; version=0.0.4"));
    // Every line is a comment, or a name with a number.
    for line in metrics.text().lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("brunt_http_") && value.parse::<f64>().is_ok(), "{line}");
    }
    assert_eq!(Client::connect(server.addresses[1]).get("/").status, 404);
}

fn the_log_has_a_line_for_each_request(model: &str) {
    let directory = brunt_testkit::home();
    let file = directory.path().join("access.log");
    let server = start(model, &format!("--service httpbin --access-log {}", file.display()));
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/bytes/100?a=\"").status, 200);
    assert_eq!(client.get("/status/503").status, 503);
    (0..1000).for_each(|_| assert_eq!(client.get("/health").status, 200));
    std::thread::sleep(Duration::from_millis(10));
    server.signal(Signal::TERM);
    assert!(server.end().0.success());
    let log = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 1002);
    assert!(
        lines[0].starts_with("127.0.0.1 - - [") && lines[0].ends_with("] \"GET /bytes/100?a=%22 HTTP/1.1\" 200 100"),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains("\"GET /status/503 HTTP/1.1\" 503 "), "{}", lines[1]);
}
