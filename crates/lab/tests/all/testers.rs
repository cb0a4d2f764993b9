//! Recorded outputs of external testers: good runs, runs against a server that resets connections and reports failures,
//! runs without a reply, and truncated outputs.
//!
//! `said/` holds outputs of wrk 4.1, ab 2.3 (2.4.71), hey 0.1.4, h2load 1.52, fortio 1.75 and
//! oha 1.16, against nginx (`good`), and against a server that answers one request of seven with a status of 500 and
//! resets another (`mixed`). Lists of single errors are shortened, JSON is without its blanks.

use brunt_lab::plan::settings::Settings;
use brunt_lab::plan::tester::EXTERNAL;
use brunt_lab::testers::external;
use brunt_lab::testers::external::{LoadSpec, ParsedOutput};
use brunt_results::{LatencySummary, result::Errors};
use std::{collections::BTreeMap, fs, time::Duration};

fn said(file: &str) -> String {
    let path = format!("{}/tests/testers/said/{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn read(tester: &str, output: &str, file: &str) -> Result<ParsedOutput, String> {
    (external(tester).unwrap().read)(output, file)
}

#[track_caller]
fn told(tester: &str, output: &str) -> ParsedOutput {
    let table = if tester == "ab" { output.replace(".txt", ".csv") } else { String::new() };
    let table = if table == "ab-none.csv" || table.is_empty() { String::new() } else { said(&table) };
    read(tester, &said(output), &table).unwrap_or_else(|why| panic!("{output}: {why}"))
}

fn statuses(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    all.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect()
}

/// Microseconds: mean, median, 90th, 99th, 99.9th percentile, largest.
fn times(count: u64, us: [Option<f64>; 6]) -> LatencySummary {
    let [mean_us, p50_us, p90_us, p99_us, p999_us, max_us] = us;
    LatencySummary { count, mean_us, p50_us, p90_us, p99_us, p999_us, max_us, ..LatencySummary::default() }
}

#[track_caller]
fn assert_near(seen: &LatencySummary, expected: &LatencySummary) {
    assert_eq!(seen.count, expected.count);
    for name in ["mean", "p50", "p90", "p99", "p99.9", "max"] {
        match (seen.figure(name).unwrap(), expected.figure(name).unwrap()) {
            (None, None) => {}
            (Some(seen), Some(expected)) if (seen - expected).abs() < 1e-6 * expected.abs().max(1.0) => {}
            (seen, expected) => panic!("{name}: {seen:?} is not {expected:?}"),
        }
    }
}

#[test]
fn wrk() {
    let good = told("wrk", "wrk-good.txt");
    assert_eq!((good.completed, good.errors.total(), good.measured_s), (26_128, 0, 1.01));
    let expected = [Some(960.0), Some(270.0), Some(2880.0), Some(5220.0), None, Some(6800.0)];
    assert_near(&good.times, &times(26_128, expected));
    assert_eq!(good.received, Some(4_152_361));
    assert_eq!((good.opened, good.body_bytes, good.statuses.len()), (None, None, 0));

    let mixed = told("wrk", "wrk-mixed.txt");
    assert_eq!(mixed.errors, Errors { reset: 1599, status: 1598, ..Errors::default() });
    assert_eq!((mixed.completed, mixed.errors.total()), (9593 - 1598, 1599 + 1598));

    let none = told("wrk", "wrk-none.txt");
    assert_eq!((none.completed, none.errors.total(), none.times), (0, 0, LatencySummary::default()));

    // Four replies, each after 3 s: too late for the timeout of 2 s, and not among the times.
    let late = told("wrk", "wrk-timeout.txt");
    assert_eq!(late.errors, Errors { timeout: 4, ..Errors::default() });
    assert_eq!((late.completed, late.errors.total(), late.times), (0, 4, LatencySummary::default()));
}

/// wrk2, without its spectrum.
#[test]
fn wrk2() {
    let text = "Running 30s test @ http://127.0.0.1:80/index.html\n  2 threads and 100 connections\n  \
        Thread calibration: mean lat.: 9747 usec, rate sampling interval: 21 msec\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     6.46ms    1.93ms  12.34ms   67.66%\n    \
        Req/Sec     1.05k     1.12k    2.50k    64.84%\n  Latency Distribution (HdrHistogram - Recorded Latency)\n \
        50.000%    6.67ms\n 75.000%    7.78ms\n 90.000%    9.14ms\n 99.000%   11.18ms\n 99.900%   12.30ms\n\
        100.000%   12.35ms\n\n  60018 requests in 30.00s, 19.81MB read\nRequests/sec:   2000.28\nTransfer/sec:    676.18KB\n";
    let told = read("wrk", text, "").unwrap();
    let expected = [Some(6460.0), Some(6670.0), Some(9140.0), Some(11_180.0), Some(12_300.0), Some(12_340.0)];
    assert_near(&told.times, &times(60_018, expected));
}

#[test]
fn ab() {
    let good = told("ab", "ab-good.txt");
    assert_eq!((good.completed, good.errors.total(), good.measured_s), (12_461, 0, 1.001));
    let expected = [None, Some(1433.0), Some(1951.0), Some(4808.0), None, Some(8032.0)];
    assert_near(&good.times, &times(12_461, expected));
    assert_eq!((good.received, good.body_bytes), (Some(1_918_994), Some(137_071)));
    assert_eq!(told("ab", "ab-keep.txt").completed, 66_593);

    // Each reset is a failed receive and an exception; five of seven requests succeeded.
    let mixed = told("ab", "ab-mixed.txt");
    assert_eq!(mixed.errors, Errors { reset: 382, status: 382, ..Errors::default() });
    assert_eq!((mixed.completed, mixed.errors.total()), (2673 - 382 - 382, 764));

    let none = told("ab", "ab-none.txt");
    assert_eq!((none.completed, none.errors.total(), none.times), (0, 0, LatencySummary::default()));
    let refused = told("ab", "ab-refused.txt");
    assert_eq!((refused.completed, refused.errors.total()), (0, 44_068));
}

#[test]
fn fortio() {
    let good = told("fortio", "fortio-good.json");
    assert_eq!((good.completed, good.errors.total(), good.opened), (5000, 0, Some(20)));
    assert_eq!(good.statuses, statuses(&[("200", 5000)]));
    assert_eq!((good.received, good.body_bytes), (Some(795_000), Some(55_000)));
    assert!((good.measured_s - 1.000798145).abs() < 1e-9);
    let us = [242.268_389, 235.281_690, 385.023_855, 625.0, 4_308.914_421, 4419.241];
    let seen = &good.times;
    let figures = [seen.mean_us, seen.p50_us, seen.p90_us, seen.p99_us, seen.p999_us, seen.max_us];
    for (seen, expected) in figures.into_iter().zip(us) {
        assert!((seen.unwrap() - expected).abs() < 0.1, "{seen:?} is not {expected}");
    }
    let mixed = told("fortio", "fortio-mixed.json");
    assert_eq!(mixed.errors, Errors { reset: 317, status: 1106, ..Errors::default() });
    assert_eq!((mixed.completed, mixed.errors.total(), mixed.opened), (5534, 1423, Some(2224)));
    assert_eq!(mixed.statuses, statuses(&[("200", 5534), ("500", 1106)]));
}

#[test]
fn hey() {
    let good = told("hey", "hey-good.txt");
    assert_eq!((good.completed, good.errors.total(), good.measured_s), (19_609, 0, 1.0034));
    let expected = [Some(1000.0), Some(900.0), Some(1800.0), Some(5100.0), None, Some(7500.0)];
    assert_near(&good.times, &times(19_609, expected));
    assert_eq!((good.received, good.body_bytes), (None, Some(215_699)));
    let mixed = told("hey", "hey-mixed.txt");
    assert_eq!(mixed.errors, Errors { reset: 4, status: 993, ..Errors::default() });
    assert_eq!((mixed.completed, mixed.statuses), (4964, statuses(&[("200", 4964), ("500", 993)])));
    let late = told("hey", "hey-timeout.txt");
    assert_eq!(late.errors, Errors { timeout: 4, ..Errors::default() });
    assert_eq!((late.completed, late.times), (0, LatencySummary::default()));
    assert_eq!(told("hey", "hey-rate.txt").completed, 400);
}

#[test]
fn h2load() {
    let good = told("h2load", "h2load-good.txt");
    assert_eq!((good.completed, good.errors.total(), good.measured_s), (24_961, 0, 1.0));
    assert_near(&good.times, &times(24_961, [Some(799.0), None, None, None, None, Some(16_350.0)]));
    assert_eq!((good.received, good.body_bytes), (Some(3_968_799), Some(274_571)));
    assert_eq!(good.statuses, statuses(&[("2xx", 24_961)]));
    let missing = told("h2load", "h2load-404.txt");
    assert_eq!((missing.completed, missing.errors.status, missing.errors.total()), (0, 400, 400));
    assert_eq!(missing.statuses, statuses(&[("4xx", 400)]));
    assert_eq!(told("h2load", "h2load-mixed.txt").errors, Errors { status: 10, ..Errors::default() });
    // h2load aborts when a request times out.
    let why = read("h2load", &said("h2load-timeout.txt"), "").unwrap_err();
    assert!(why.contains("no 'finished in'"), "{why}");
}

#[test]
fn oha() {
    let good = told("oha", "oha-good.json");
    assert_eq!((good.completed, good.errors.total(), good.body_bytes), (6_261, 0, Some(68_871)));
    assert!((good.measured_s - 1.007023901).abs() < 1e-9);
    let us = [Some(3_151.127), Some(1_885.137), Some(6_523.655), Some(9_191.618), Some(15_425.311), Some(15_455.937)];
    assert_near(&good.times, &times(6_261, us));
    // Requests aborted at its end are not errors.
    let mixed = told("oha", "oha-mixed.json");
    assert_eq!(mixed.errors, Errors { reset: 591, status: 591, ..Errors::default() });
    assert_eq!((mixed.completed, mixed.statuses), (2955, statuses(&[("200", 2955), ("500", 591)])));
    let late = told("oha", "oha-timeout.json");
    assert_eq!(late.errors, Errors { timeout: 12, ..Errors::default() });
    assert_eq!((late.completed, late.times), (0, LatencySummary::default()));
    let refused = told("oha", "oha-refused.json");
    assert_eq!(refused.errors, Errors { connect: 1_226, ..Errors::default() });
    assert_eq!(told("oha", "oha-rate.json").completed, 400);
}

#[test]
fn at_a_rate_only_corrected_times_are_response_times() {
    let ask = LoadSpec { rate: Some(400.0), ..plain() };
    for (tester, output, corrects) in [("oha", "oha-rate.json", true), ("hey", "hey-rate.txt", false)] {
        let (result, absent) = external(tester).unwrap().result(&ask, told(tester, output));
        let (told, other) = match corrects {
            true => (&result.latency.response, &result.latency.service),
            false => (&result.latency.service, &result.latency.response),
        };
        assert!(told.count == 400 && *other == LatencySummary::default(), "{tester}: {:?}", result.latency);
        assert!(absent.contains_key(if corrects { "latency.service" } else { "latency.response" }), "{absent:?}");
    }
    let (closed, _) = external("oha").unwrap().result(&plain(), told("oha", "oha-good.json"));
    assert_eq!(closed.latency.response, closed.latency.service);
}

#[test]
fn truncated_output_is_an_error_and_never_a_panic() {
    for (tester, output, table) in [
        ("wrk", "wrk-mixed.txt", ""),
        ("ab", "ab-mixed.txt", "ab-mixed.csv"),
        ("fortio", "fortio-mixed.json", ""),
        ("hey", "hey-good.txt", ""),
        ("h2load", "h2load-good.txt", ""),
        ("oha", "oha-mixed.json", ""),
    ] {
        let (whole, table) = (said(output), if table.is_empty() { String::new() } else { said(table) });
        let good = read(tester, &whole, &table).unwrap();
        for end in 0..whole.len() {
            let Some(part) = whole.get(..end) else { continue };
            // A part yields the figures of the whole, or an error.
            match read(tester, part, &table) {
                Err(why) => assert!(!why.contains('\n') && !why.is_empty(), "{why}"),
                Ok(told) => assert!(
                    told.completed == good.completed && told.errors.total() == good.errors.total()
                        || end + 40 > whole.len(),
                    "{tester}: {end} of {} bytes were taken for the whole: {told:?}",
                    whole.len()
                ),
            }
        }
    }
    for tester in EXTERNAL.into_iter().filter_map(|tester| external(tester.name)) {
        for text in ["", "\n", "{}", "\u{0}\u{fffd} requests in , read", "Requests/sec: \n requests in 1s, "] {
            assert!((tester.read)(text, "").is_err(), "{tester:?} took {text:?} for a run");
        }
    }
    let why = read("ab", &said("ab-good.txt"), "Percentage served,Time in ms\n0,1\n").unwrap_err();
    assert!(why.contains("ab.csv") && why.contains("50 %"), "{why}");
}

/// A closed loop.
fn plain() -> LoadSpec {
    LoadSpec {
        url: "http://127.0.0.1:81/x".into(),
        connections: 100,
        cores: vec![0, 1],
        duration: Duration::from_millis(2500),
        requests: None,
        rate: None,
        keepalive: true,
        timeout: None,
        dir: "/d".into(),
    }
}

#[test]
fn the_load_becomes_each_testers_arguments() {
    let plain = plain();
    let words = |tester: &str, ask: &LoadSpec| (external(tester).unwrap().args)(ask).join(" ");
    for (tester, line) in [
        ("wrk", "-t2 -c100 -d3s --latency"),
        ("ab", "-q -l -r -c 100 -t 3 -n 900000 -e /d/ab.csv -k"),
        ("fortio", "load -c 100 -t 2500ms -qps 0 -r 0.00001 -p 50,90,99,99.9 -loglevel Error -json -"),
        ("hey", "-z 2500ms -c 100 -cpus 2"),
        ("h2load", "--h1 -c 100 -t 2 -D 2500ms"),
        ("oha", "--no-tui --output-format json -c 100 -z 2500ms --worker-threads 2"),
    ] {
        assert_eq!(words(tester, &plain), format!("{line} http://127.0.0.1:81/x"), "{tester}");
    }
    let short =
        LoadSpec { keepalive: false, timeout: Some(Duration::from_millis(1500)), connections: 1, ..plain.clone() };
    assert!(words("wrk", &short).starts_with("-t1 -c1 -d3s --latency --timeout 2s -H Connection: close "));
    assert!(words("ab", &short).contains(" -s 2 http") && !words("ab", &short).contains("-k"));
    assert!(words("fortio", &short).contains("-timeout 1500ms -keepalive=false"));
    assert!(words("hey", &short).contains("-t 2 -disable-keepalive"));
    assert!(words("oha", &short).contains("-t 1500ms --disable-keepalive"));
    let secret = LoadSpec { url: "https://127.0.0.1:81/x".into(), ..plain.clone() };
    for (tester, flag) in
        [("wrk", ""), ("ab", "-k "), ("fortio", "-k "), ("hey", ""), ("h2load", ""), ("oha", "--insecure ")]
    {
        assert!(words(tester, &secret).ends_with(&format!("{flag}https://127.0.0.1:81/x")), "{tester}");
    }
    let counted = LoadSpec { requests: Some(5000), ..plain.clone() };
    for (tester, flags) in [
        ("ab", "-t 3 -n 5000 "),
        ("fortio", "-c 100 -n 5000 -qps"),
        ("hey", "-n 5000 -c"),
        ("h2load", "-n 5000 "),
        ("oha", "-n 5000 "),
    ] {
        assert!(words(tester, &counted).contains(flags), "{tester}: {}", words(tester, &counted));
    }
    let rate = LoadSpec { rate: Some(10_000.0), ..plain };
    assert!(words("fortio", &rate).contains("-qps 10000 "));
    assert!(words("hey", &rate).contains("-q 100 "));
    assert!(words("h2load", &rate).contains("--rps 100 "));
    assert!(words("oha", &rate).contains("-q 10000 --latency-correction "));
}

#[test]
fn unsupported_loads_are_reported_before_the_start() {
    for (set, refuse) in [
        (vec![], vec![]),
        (vec![("rate", "1k")], vec!["wrk", "ab"]),
        (vec![("rate", "1k"), ("arrival", "poisson")], vec!["wrk", "ab", "fortio", "hey", "h2load", "oha"]),
        (vec![("arrival", "poisson")], vec![]),
        (vec![("keepalive", "false")], vec!["h2load"]),
        (vec![("vary", "1")], vec![]),
        (vec![("requests", "1M")], vec!["wrk"]),
        (vec![("vary", "4k")], vec!["wrk", "ab", "fortio", "hey", "h2load", "oha"]),
    ] {
        let mut settings = Settings::default();
        settings.set("path", "/").unwrap();
        set.iter().for_each(|(name, value)| drop(settings.set(name, value).unwrap()));
        let refusing = EXTERNAL.iter().filter_map(|tester| {
            settings.set("tester", tester.name).unwrap();
            Some((tester.name, settings.tester_limitation()?))
        });
        let names: Vec<&str> = refusing
            .inspect(|(name, why)| assert!(why.starts_with(name) && why.contains("tester brunt"), "{why}"))
            .inspect(|(name, why)| assert!(!why[name.len()..].contains(name), "{why}"))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, refuse, "{set:?}");
    }
}
