//! Response times, and service times of every protocol.

use super::{BASE, Better, Compared, Distribution, Figure, Gauge, Shown, Times, Unit, column, figures, gauge, indexed};

const fn response(statistic: &'static str) -> Option<Times> {
    Some(Times { distribution: Distribution::Response, statistic })
}

const fn of_last_second(name: &'static str, help: &'static str) -> Option<Gauge> {
    gauge(name, "s", help, 1e6)
}

figures! { FIGURES:
    MEAN {
        key: "mean",
        label: "mean response time",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Mean response time",
        path: "latency.response.mean_us",
        of: |result| result.latency.response.mean_us,
        times: response("mean"),
        bound: Some(""),
        indexed: indexed("mean_us"),
        is_exported: true,
        measure: "latency",
    }
    P50 {
        key: "p50",
        label: "response p50",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Median response time",
        path: "latency.response.p50_us",
        of: |result| result.latency.response.p50_us,
        times: response("p50"),
        bound: Some(""),
        column: column("response", "p50", 0, Shown::Time),
        indexed: indexed("p50_us"),
        compared: Compared::Always,
        is_exported: true,
        measure: "latency-p50",
        gauge: of_last_second("brunt_response_p50_seconds", "Median of the response times of the last second"),
    }
    P90 {
        key: "p90",
        label: "response p90",
        unit: Unit::Us,
        better: Better::Lower,
        help: "90th percentile of the response times",
        path: "latency.response.p90_us",
        of: |result| result.latency.response.p90_us,
        times: response("p90"),
        bound: Some(""),
        indexed: indexed("p90_us"),
        is_exported: true,
    }
    P95 {
        key: "p95",
        label: "response p95",
        unit: Unit::Us,
        better: Better::Lower,
        help: "95th percentile of the response times",
        path: "latency.response.p95_us",
        of: |result| result.latency.response.p95_us,
        times: response("p95"),
        bound: Some(""),
        column: column("response", "p95", 6, Shown::Time),
        indexed: indexed("p95_us"),
        is_exported: true,
    }
    P99 {
        key: "p99",
        label: "response p99",
        title: "Response time",
        unit: Unit::Us,
        better: Better::Lower,
        help: "99th percentile of the response times",
        path: "latency.response.p99_us",
        of: |result| result.latency.response.p99_us,
        times: response("p99"),
        bound: Some(""),
        column: column("response", "p99", 0, Shown::Time),
        indexed: indexed("p99_us"),
        compared: Compared::Always,
        is_exported: true,
        measure: "latency-p99",
        gauge: of_last_second("brunt_response_p99_seconds", "99th percentile of the response times of the last second"),
    }
    P999 {
        key: "p99.9",
        aliases: &["p999"],
        label: "response p99.9",
        unit: Unit::Us,
        better: Better::Lower,
        help: "99.9th percentile of the response times",
        path: "latency.response.p999_us",
        of: |result| result.latency.response.p999_us,
        times: response("p99.9"),
        bound: Some(""),
        column: column("response", "p99.9", 3, Shown::Time),
        indexed: indexed("p999_us"),
        is_exported: true,
        measure: "latency-p99-9",
        gauge: of_last_second("brunt_response_p999_seconds", "99.9th percentile of the response times of the last second"),
    }
    MAX {
        key: "max",
        label: "longest response time",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Longest response time",
        path: "latency.response.max_us",
        of: |result| result.latency.response.max_us,
        times: response("max"),
        bound: Some(""),
        indexed: indexed("max_us"),
        is_exported: true,
    }
    CENSORED {
        key: "censored",
        label: "requests without a complete reply",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "Share of the requests of the window without a complete reply, which count as longer than every answered one",
        path: "latency.response.censored",
        of: |result| result.latency.response.censored_percent(),
        indexed: indexed("censored_percent"),
    }
    SERVICE_MEAN {
        key: "service_mean",
        label: "mean service time",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Mean time from sending a request to its reply",
        path: "latency.service.mean_us",
        of: |result| result.latency.service.mean_us,
        times: Some(Times { distribution: Distribution::Service, statistic: "mean" }),
        column: column("service", "mean", 6, Shown::Time),
    }
}
