//! Pages of `brunt as`, parsed by lab's parsers of the tools' output, which find the values of the result.

use brunt_inputs::compat::{self, Measurement, Page};
use brunt_lab::testers::external::ParsedOutput;
use brunt_results::RunResult;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Bytes, Connections, Errors, Load, Requests, Responses};
use brunt_results::series::Second;
use std::collections::BTreeMap;

/// A result with replies of 159 bytes, 11 of them body.
fn result(completed: u64, measured_s: f64) -> RunResult {
    RunResult {
        load: Load { measured_s, ..Load::default() },
        requests: Requests { completed, rate: completed as f64 / measured_s, ..Requests::default() },
        connections: Connections { opened: 20, peak: 20, ..Default::default() },
        bytes: Bytes::of(0, completed * 159),
        responses: Some(Responses::of(BTreeMap::from([("200".to_owned(), completed)]), Some(completed * 11))),
        ..RunResult::new("brunt")
    }
}

/// The page of a command line, with 1000 times of 1 to 1000 us if there are replies.
fn page(line: &str, result: &RunResult) -> Page {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let invocation = compat::parse(&words).unwrap_or_else(|why| panic!("{line}: {why:?}"));
    let mut times = new_histogram();
    if result.requests.completed > 0 {
        (1..=1000u64).for_each(|us| times.record(us * 1000).unwrap());
    }
    let seconds = [Second { at_s: 1.0, completed: result.requests.completed, ..Second::default() }];
    let measured = Measurement { result, seconds: &seconds, response: times.clone(), service: times };
    (invocation.page)(&measured)
}

fn parse_output(tester: &str, text: &str, file: &str) -> ParsedOutput {
    let read = brunt_lab::testers::external(tester).unwrap().read;
    read(text, file).unwrap_or_else(|why| panic!("{why} in\n{text}"))
}

#[test]
fn pages_of_wrk_are_parsed_to_the_same_result() {
    let mut result = result(9593 - 1598, 1.0);
    result.errors = Errors { status: 1598, reset: 1500, protocol: 90, timeout: 9, ..Errors::default() };
    for line in ["wrk --latency http://h/", "wrk -R 10k -L http://h/", "wrk -R 10k -U http://h/"] {
        let parsed = parse_output("wrk", &page(line, &result).text, "");
        assert_eq!((parsed.completed, parsed.errors.total()), (9593 - 1598 - 9, 1598 + 1590 + 9), "{line}");
        assert_eq!(parsed.errors, Errors { status: 1598, reset: 1590, timeout: 9, ..Errors::default() });
        assert!((parsed.times.p99_us.unwrap() - 990.0).abs() < 1.0, "{:?}", parsed.times);
        assert_eq!(parsed.times.p999_us.is_some(), line.contains("-R"), "{line}");
        let lists_all = page(line, &result).text.contains("\n  Detailed Percentile spectrum:\n");
        assert_eq!(lists_all, line.contains("-R"), "{line}");
    }
    let none = parse_output("wrk", &page("wrk -L http://h/", &self::result(0, 1.0)).text, "");
    assert_eq!((none.completed, none.errors.total()), (0, 0));
}

#[test]
fn pages_of_ab_are_parsed_to_the_same_result() {
    let mut result = result(900, 2.0);
    result.errors = Errors { reset: 30, timeout: 10, connect: 5, protocol: 60, status: 100, ..Errors::default() };
    result.responses.as_mut().unwrap().statuses.insert("500".into(), 100);
    let page = page("ab -c 20 -n 1000 -e /x/t.csv http://h:81/p?q", &result);
    let parsed = parse_output("ab", &page.text, &page.files[0].1);
    assert_eq!(parsed.errors, Errors { reset: 40, connect: 5, protocol: 20, status: 100, ..Errors::default() });
    assert!((parsed.times.p99_us.unwrap() - 990.0).abs() < 1.0 && parsed.received == Some(900 * 159));
    assert_eq!(page.files[0].0, std::path::Path::new("/x/t.csv"));
    assert!(page.text.contains("Server Port:            81\n") && page.text.contains("Document Path:          /p?q\n"));
}

#[test]
fn documents_of_fortio_are_parsed_to_the_same_result() {
    let mut result = result(900, 2.0);
    result.errors = Errors { reset: 30, timeout: 10, status: 100, ..Errors::default() };
    result.responses.as_mut().unwrap().statuses.insert("500".into(), 100);
    let page = page("fortio load -json - -qps 500 -p 50,90,99,99.9 -r 0.00001 http://h/", &result);
    assert_eq!(page.files[0].0.as_os_str(), "-");
    let parsed = parse_output("fortio", &page.files[0].1, "");
    assert_eq!((parsed.completed, parsed.errors.total(), parsed.opened), (900, 140, Some(20)));
    assert_eq!(parsed.errors, Errors { reset: 40, status: 100, ..Errors::default() });
    assert_eq!((parsed.received, parsed.body_bytes), (Some(900 * 159), Some(900 * 11)));
    assert!((parsed.times.p99_us.unwrap() - 990.0).abs() < 1.0 && parsed.times.count == 1000);
    let none = self::page("fortio load -json - http://h/", &self::result(0, 1.0));
    assert_eq!(parse_output("fortio", &none.files[0].1, "").completed, 0);
}
