//! The page of `brunt load --metrics`, fetched after each second of a load: a client and a server of this machine beside the world.

use crate::worlds::{LAG, SECOND, Serve, US, WAY, address, exact, observed, open, times};
use brunt_load::{Observer, Options, Target};
use brunt_results::{LatencySummary, series::Second};
use brunt_testkit::{LIMIT, read_head};
use brunt_view::metrics::Sinks;
use hdrhistogram::Histogram;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The page now.
fn page(metrics: SocketAddr) -> String {
    let mut stream = TcpStream::connect(metrics).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let (mut input, mut body) = (BufReader::new(stream), String::new());
    let head = read_head(&mut input).unwrap();
    input.read_to_string(&mut body).unwrap();
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    body
}

struct Scraper {
    sinks: Sinks,
    pages: Vec<String>,
}

impl Observer for Scraper {
    fn started(&mut self, _: &[u32]) {
        self.sinks.started();
    }

    fn recorded(&mut self, second: &Second, response: &Histogram<u64>) {
        self.sinks.take(second, response);
        self.pages.push(page(self.sinks.address().unwrap()));
    }
}

/// The value of each sample, in order: `None` if the page has no such sample.
fn samples(pages: &[String], name: &str) -> Vec<Option<f64>> {
    let value = |page: &String| {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|value| value.parse().unwrap())
    };
    pages.iter().map(value).collect()
}

#[test]
fn pages_grow_second_by_second_and_the_last_is_the_result() {
    // Two seconds of warm-up, and a window of three.
    let target = Target::Echo { address: address().into(), size: 64, reuse: None };
    let options = Options { duration: 3 * SECOND, ..open(target, 1000.0, 4, 1) };
    let sinks = Sinks::open(Some(&"127.0.0.1:0".parse().unwrap()), None, "sim", &[]).unwrap();
    let mut scraper = Scraper { sinks, pages: Vec::new() };
    assert!(!page(scraper.sinks.address().unwrap()).contains("brunt_requests_total{"));
    let (report, _) = observed(&exact(), &options, Serve::echo("sleep=75us", 1), &mut scraper).unwrap();
    let Scraper { sinks, pages } = scraper;
    let of = |phase: &str, figure: &str, more: &str| {
        samples(&pages, &format!("brunt_{figure}{{url=\"sim\",phase=\"{phase}\"{more}}}"))
    };
    let (warm, window) = ([1000.0, 2000.0, 2000.0, 2000.0, 2000.0].map(Some), [0.0, 0.0, 1000.0, 2000.0, 3000.0]);
    let window = window.map(|count| (count > 0.0).then_some(count));
    for (figure, more) in [
        ("requests_total", ",end=\"completed\""),
        ("sent_requests_total", ""),
        ("offered_requests_total", ""),
        ("response_seconds_count", ""),
        ("response_seconds_bucket", ",le=\"+Inf\""),
    ] {
        assert_eq!(
            (of("warmup", figure, more), of("window", figure, more)),
            (warm.to_vec(), window.to_vec()),
            "{figure}"
        );
    }
    assert_eq!(report.result.requests.completed, 3000);
    let last = |figure: &str| samples(&pages, &format!("brunt_{figure}{{url=\"sim\"}}"));
    assert_eq!(last("elapsed_seconds"), [1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
    assert_eq!(last("requests_per_second"), [Some(1000.0); 5]);
    let p50_us = LatencySummary::of(&times(1000, LAG + 76 * US + WAY)).p50_us;
    assert_eq!(last("response_p50_seconds")[2..], [p50_us.map(|us| us / 1e6); 3]);
    assert_eq!(last("warmup"), [1.0, 1.0, 0.0, 0.0, 0.0].map(Some));
    // Its last page has been fetched.
    assert_eq!(sinks.end(LIMIT), None);
}
