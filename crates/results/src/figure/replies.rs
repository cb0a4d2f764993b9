//! Figures of HTTP: absent where replies have no status.

use super::{BASE, Better, Compared, Distribution, Figure, Shown, Times, Unit, column, family, figures, indexed};
use crate::result::RunResult;

const fn first_byte(statistic: &'static str) -> Option<Times> {
    Some(Times { distribution: Distribution::FirstByte, statistic })
}

/// Service times, because every tester reports them.
const fn service(statistic: &'static str) -> Option<Times> {
    Some(Times { distribution: Distribution::Service, statistic })
}

figures! { FIGURES:
    FIRST_BYTE_P50 {
        key: "first_byte_p50",
        label: "first byte p50",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Median time from sending a request to the first byte of its reply; absent where every reply came whole",
        path: "latency.first_byte",
        of: |result| of_http(result, &FIRST_BYTE_P50),
        times: first_byte("p50"),
        column: column("1st byte", "p50", 4, Shown::Time),
    }
    FIRST_BYTE_P99 {
        key: "first_byte_p99",
        label: "first byte p99",
        unit: Unit::Us,
        better: Better::Lower,
        help: "99th percentile of the times from sending a request to the first byte of its reply",
        path: "latency.first_byte",
        of: |result| of_http(result, &FIRST_BYTE_P99),
        times: first_byte("p99"),
        column: column("1st byte", "p99", 4, Shown::Time),
    }
    SERVICE_P50 {
        key: "service_p50",
        label: "service p50",
        unit: Unit::Us,
        better: Better::Lower,
        help: "Median time from sending a request to its reply",
        path: "latency.service.p50_us",
        of: |result| of_http(result, &SERVICE_P50),
        times: service("p50"),
        column: column("service", "p50", 4, Shown::Time),
    }
    // Ratios are formed within a trial, because trials differ in speed.
    SERVICE_P90_SHARE {
        key: "service_p90_share",
        label: "service p90 to p50",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "90th percentile of the service times, in percent of the median",
        path: "latency.service.p90_us",
        of: |result| share_of_p50(result, &SERVICE_P90_SHARE),
        times: service("p90"),
        column: column("p90", "/p50", 4, Shown::Percent),
    }
    SERVICE_P99_SHARE {
        key: "service_p99_share",
        label: "service p99 to p50",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "99th percentile of the service times, in percent of the median",
        path: "latency.service.p99_us",
        of: |result| share_of_p50(result, &SERVICE_P99_SHARE),
        times: service("p99"),
        column: column("p99", "/p50", 4, Shown::Percent),
    }
    SERVICE_P999_SHARE {
        key: "service_p99.9_share",
        label: "service p99.9 to p50",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "99.9th percentile of the service times, in percent of the median",
        path: "latency.service.p999_us",
        of: |result| share_of_p50(result, &SERVICE_P999_SHARE),
        times: service("p99.9"),
        column: column("p99.9", "/p50", 5, Shown::Percent),
    }
    SOCKETS {
        key: "sockets",
        label: "sockets",
        unit: Unit::Count,
        better: Better::Lower,
        help: "Connections opened in the whole run",
        path: "connections.opened",
        of: |result| result.responses.as_ref().map(|_| result.connections.opened as f64).filter(|opened| *opened > 0.0),
        column: column("sockets", "used", 5, Shown::Number(0)),
    }
    BYTES_PER_RESPONSE {
        key: "bytes_per_response",
        label: "bytes a response",
        unit: Unit::Bytes,
        help: "Bytes of a reply, head and body if the tester counts both, else the body; failed replies included",
        path: "bytes.received",
        of: |result| result.bytes_per_reply(),
        column: column("bytes", "per resp", 6, Shown::Number(0)),
    }
    LENIENT_REPLIES {
        key: "lenient_replies",
        label: "replies read leniently",
        unit: Unit::Count,
        better: Better::Lower,
        help: "Replies that break a rule of HTTP/1 and were read leniently",
        path: "responses.lenient",
        of: |result| result.responses.as_ref()?.lenient.map(|count| count as f64),
        part: Err("of which they are not counted"),
        bound: Some("replies that break a rule of HTTP/1, as in lenient_replies>0"),
    }
    GENERATOR_CPU {
        key: "generator_cpu",
        label: "CPU of the generator",
        unit: Unit::CpuPercent,
        help: "CPU of the generator's busiest thread; 100 is its core",
        path: "generator.thread_cpu_percent",
        of: |result| {
            result.responses.as_ref()?;
            result.generator.thread_cpu_percent.iter().copied().reduce(f64::max)
        },
    }
    RECEIVED_PER_BODY_BYTE {
        key: "received_per_body_byte",
        label: "bytes received for a byte of body",
        unit: Unit::Ratio,
        better: Better::Lower,
        help: "Bytes read from the sockets, TLS records included, for each byte of body in good replies",
        path: "bytes.read",
        of: |result| Some(result.bytes.read? as f64 / result.bytes.good_body.filter(|body| *body > 0)? as f64),
        part: Err("whose share of the bytes is unknown"),
        bound: Some("bytes read for a byte of body, as in received_per_body_byte>1.2"),
        column: column("received", "per body B", 7, Shown::Number(3)),
        indexed: indexed("received_per_body_byte"),
        compared: Compared::Asked,
        is_exported: true,
        measure: "received-per-body-byte",
        prometheus: family("brunt_received_bytes_per_body_byte", 1.0),
        computed: Some(|result| match result.bytes.read {
            _ if result.responses.is_none() => "measured of HTTP alone",
            Some(_) => "no good reply had a body",
            None => "counted neither by slices nor by other testers",
        }),
    }
}

/// The statistic that the figure is.
fn of_http(result: &RunResult, figure: &Figure) -> Option<f64> {
    result.responses.as_ref()?;
    let times = figure.times?;
    times.distribution.summary(result)?.figure(times.statistic).flatten()
}

/// The same in percent of the median.
fn share_of_p50(result: &RunResult, figure: &Figure) -> Option<f64> {
    let p50 = of_http(result, &SERVICE_P50).filter(|p50| *p50 > 0.0)?;
    Some(of_http(result, figure)? / p50 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{absent, written};
    use crate::result::{Bytes, Responses};

    #[test]
    fn bytes_for_a_byte_of_body_are_those_of_sockets_and_of_good_replies_or_absent_with_a_reason() {
        let of = |bytes: Bytes, responses: Option<Responses>| {
            let result = RunResult { bytes, responses, ..RunResult::new("any") };
            let why = absent(&result).find(|(key, _)| key == "figures.received_per_body_byte").map(|(_, why)| why);
            (written(&result).figures["received_per_body_byte"], why)
        };
        let counted =
            |read: u64, good_body: u64| Bytes { read: Some(read), good_body: Some(good_body), ..Bytes::of(9, 110) };
        assert_eq!(of(counted(150, 100), Some(Responses::default())), (Some(1.5), None));
        for (bytes, responses, why) in [
            (counted(150, 0), Some(Responses::default()), "no good reply had a body"),
            (Bytes::of(9, 110), Some(Responses::default()), "counted neither by slices nor by other testers"),
            (Bytes::of(9, 110), None, "measured of HTTP alone"),
        ] {
            assert_eq!(of(bytes, responses), (None, Some(why.to_owned())));
        }
    }
}
