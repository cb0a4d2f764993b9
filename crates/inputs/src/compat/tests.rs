//! Pages compared byte by byte with output captured from the tools themselves.

use super::{ArgError, Invocation, Measurement, Page, ab, fortio, spread::Spread, wrk};
use brunt_results::RunResult;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Bytes, Connections, Load, Requests, Responses};
use brunt_results::series::Second;
use std::collections::BTreeMap;

const WRK_GOOD: &str = include_str!("../../../lab/tests/testers/said/wrk-good.txt");
const WRK_NONE: &str = include_str!("../../../lab/tests/testers/said/wrk-none.txt");
const WRK_MIXED: &str = include_str!("../../../lab/tests/testers/said/wrk-mixed.txt");
const AB_KEEP: &str = include_str!("../../../lab/tests/testers/said/ab-keep.txt");
const AB_GOOD: &str = include_str!("../../../lab/tests/testers/said/ab-good.txt");
const FORTIO: &str = include_str!("../../../lab/tests/testers/said/fortio-text.txt");
const FORTIO_RATE: &str = include_str!("../../../lab/tests/testers/said/fortio-rate.txt");

fn invocation(line: &str) -> Result<Invocation, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let parsed = match words[0].as_str() {
        "wrk" => wrk::parse(&words[1..]),
        "ab" => ab::parse(&words[1..]),
        _ => fortio::parse(&words[1..]),
    };
    parsed.map_err(|refusal| match refusal {
        ArgError::Help(text) | ArgError::Usage(text) => text,
    })
}

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
fn page(line: &str, result: &RunResult) -> (String, Page) {
    let invocation = invocation(line).unwrap_or_else(|why| panic!("{line}: {why}"));
    let mut times = new_histogram();
    if result.requests.completed > 0 {
        (1..=1000u64).for_each(|us| times.record(us * 1000).unwrap());
    }
    let seconds = [Second { at_s: 1.0, completed: result.requests.completed, ..Second::default() }];
    let measured = Measurement { result, seconds: &seconds, response: times.clone(), service: times };
    (invocation.head, (invocation.page)(&measured))
}

#[track_caller]
fn assert_has(real: &str, line: &str) {
    assert!(real.lines().any(|real| real == line.trim_end_matches('\n')), "{line:?} is not a line of\n{real}");
}

#[test]
fn rows_equal_those_of_wrk() {
    let us = |mean: f64, stdev: f64, max: f64, within: f64| Spread { mean, stdev, max, within };
    for (real, name, spread, show) in [
        (WRK_GOOD, "Latency", us(960.0, 1230.0, 6800.0, 84.48), wrk::time_us as fn(f64) -> String),
        (WRK_GOOD, "Req/Sec", us(26_110.0, 2740.0, 30_900.0, 80.0), wrk::metric),
        (WRK_MIXED, "Req/Sec", us(4810.0, 839.07, 5820.0, 75.0), wrk::metric),
        (WRK_NONE, "Latency", us(0.0, 0.0, 0.0, f64::NAN), wrk::time_us),
        (WRK_NONE, "Req/Sec", us(0.0, 0.0, 0.0, f64::NAN), wrk::metric),
    ] {
        let mut row = String::new();
        wrk::stats(&mut row, name, spread, show);
        assert_has(real, &row);
    }
    let mut result = result(26_128, 26_128.0 / 25_926.14);
    result.bytes.received = 4_152_361;
    let (head, page) = page("wrk -t1 -c20 -d1s --latency http://127.0.0.1:18080/", &result);
    for line in head.lines().chain(page.text.lines().filter(|line| !line.contains(['%', 'u']) || line.contains("sec:")))
    {
        assert!(WRK_GOOD.contains(line) || line.contains("Req/Sec"), "{line:?} is not of\n{WRK_GOOD}");
    }
    for line in ["  Thread Stats   Avg      Stdev     Max   +/- Stdev", "  Latency Distribution"] {
        assert!(page.text.contains(line) && WRK_GOOD.contains(line));
    }
    let totals = "  26128 requests in 1.01s, 3.96MB read\nRequests/sec:  25926.14\nTransfer/sec:      3.93MB\n";
    assert!(page.text.contains(totals));
}

#[test]
fn rows_equal_those_of_ab() {
    let (count, rate) = (66_593u64, 66_552.87);
    let mut result = result(count, count as f64 / rate);
    (result.bytes.received, result.responses.as_mut().unwrap().body_bytes) = (10_588_287, Some(732_523));
    let (head, page) = page("ab -q -k -c20 -t1 -n300000 http://127.0.0.1:18080/", &result);
    // Differs: the first line, the server's name, and the times, which are invented here.
    let made_up = ["This is", "Server Software", "Document Length", "Connect:", "Processing:", "Total:", "%"];
    let own = |line: &&str| !made_up.iter().any(|word| line.contains(word));
    head.lines().chain(page.text.lines()).filter(own).for_each(|line| assert_has(AB_KEEP, line));
    // Missing here: the copyright notice and the time to the first byte.
    let lacks = [&made_up[..], &["Copyright", "Licensed", "Waiting:"]].concat();
    let all = format!("{head}{}", page.text);
    for line in AB_KEEP.lines().filter(|line| !lacks.iter().any(|word| line.contains(word))) {
        // The slow request's connection took a millisecond.
        assert!(all.lines().any(|ours| ours == line) || line.starts_with("Connect:"), "{line:?} is not in\n{all}");
    }
    let mut row = String::new();
    let times = ab::Times { min: 1, mean: 2, stdev: 0.7, median: 1, max: 8 };
    times.row(&mut row, "Total:", true);
    times.warning(&mut row, "the total time");
    row.lines().for_each(|line| assert_has(AB_GOOD, line));
}

#[test]
fn lines_equal_those_of_fortio() {
    let mut result = result(1000, 0.027_026_157);
    result.connections.opened = 2;
    let (head, page) = page("fortio load -c 2 -n 1000 -qps 0 http://127.0.0.1:18080/", &result);
    let gomax = format!("[gomax {}]", std::thread::available_parallelism().map_or(1, usize::from));
    let starting = head.lines().nth(1).unwrap().replace(&gomax, "[gomax 2]");
    assert_has(FORTIO, &starting);
    for start in ["Ended after", "# range", "Sockets used", "Code 200"] {
        assert_has(FORTIO, page.text.lines().find(|line| line.starts_with(start)).unwrap());
    }
    assert!(page.text.ends_with("All done 1000 calls (plus 0 warmup) 0.501 ms avg, 37001.2 qps\n"), "{}", page.text);
    let head = self::page("fortio load -c 2 -qps 100 -t 1s http://127.0.0.1:18080/", &result).0;
    assert_has(FORTIO_RATE, &head.lines().nth(1).unwrap().replace(&gomax, "[gomax 2]"));
    // Lines that scripts search for.
    for (start, value) in [("# target 50% ", 0.0005), ("# target 99.9% ", 0.000_999)] {
        let line = page.text.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        assert!((line.parse::<f64>().unwrap() - value).abs() < 2e-6, "{line}");
    }
    let counts = page.text.lines().filter(|line| line.starts_with('>')).map(|line| line.rsplit(' ').next().unwrap());
    assert_eq!(counts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), 1000);
}

#[test]
fn command_lines_are_translated() {
    let fortio = format!("-H User-Agent: fortio.org/fortio-brunt-{}", env!("CARGO_PKG_VERSION"));
    let replacements = [
        ("{ab}", "-H User-Agent: ApacheBench/2.3 -H Accept: */*"),
        ("{fortio}", &fortio),
        ("{always}", "--quiet --allow-untrusted"),
    ];
    for (line, load) in [
        ("wrk h:80", "http://h:80 -t 2 -c 10 -d 10s --warmup 0s --timeout 2s {always}"),
        (
            "wrk -t4 -c1k -d2m -R20k -T 5 -s a.lua http://h/",
            "http://h/ -t 4 -c 1000 -d 2m --warmup 0s --timeout 5s {always} -R 20k --script a.lua",
        ),
        (
            "wrk -s a.lua http://h/ -d 1s -- x -y",
            "http://h/ -t 2 -c 10 -d 1s --warmup 0s --timeout 2s {always} --script a.lua -- x -y",
        ),
        ("ab http://h/", "http://h/ {ab} -n 1 -c 1 --timeout 30s --warmup 0s --no-keepalive --http1.0 {always}"),
        (
            "ab -kc 9 -t 5 -p f -T a/b -C x=1 -A u:p h/",
            "http://h/ -X POST --body @f -H Cookie: x=1 -H Authorization: Basic dTpw {ab} -H Content-Type: a/b \
             -n 50000 -c 9 --timeout 30s --warmup 0s -d 5s --http1.0 {always}",
        ),
        (
            "fortio load -qps=0 -keepalive=false -t 1m -X PUT http://h/",
            "http://h/ --no-keepalive {fortio} -c 4 -X PUT -d 1m --timeout 3s --warmup 0s {always}",
        ),
        (
            "fortio load -n 10 -payload x http://h/",
            "http://h/ {fortio} -c 4 -X POST --body x -R 8 -n 10 --timeout 3s --warmup 0s {always}",
        ),
        (
            "fortio load -qps -1 -t 1m30s -user u:p -H user-agent:x -payload-size 3 -a=f -log-errors=0 h/",
            "http://h/ -H Authorization: Basic dTpw -H user-agent:x -c 4 -X POST --body xxx -d 90s \
             --timeout 3s --warmup 0s {always}",
        ),
        ("fortio load -t 0 -qps 100 h/", "http://h/ {fortio} -c 4 -R 100 -d 24h --timeout 3s --warmup 0s {always}"),
        (
            "ab -v 2 -B 127.0.0.2 -H Accept:text/plain h/",
            "http://h/ --source 127.0.0.2 -H Accept:text/plain -H User-Agent: ApacheBench/2.3 -n 1 -c 1 --timeout 30s \
             --warmup 0s --no-keepalive --http1.0 {always}",
        ),
    ] {
        let load = replacements.iter().fold(load.to_owned(), |load, (name, words)| load.replace(name, words));
        assert_eq!(invocation(line).map(|invocation| invocation.load.join(" ")), Ok(load), "{line}");
    }
    let close = wrk::parse(&["-H", "Connection: Close", "h"].map(str::to_owned));
    assert!(close.is_ok_and(|invocation| invocation.load.contains(&"--no-keepalive".to_owned())));
}

#[test]
fn unsupported_flags_are_errors() {
    for (line, needle) in [
        ("wrk -x http://h/", "no flag '-x'"),
        ("wrk -t8 -c4 http://h/", "connections must be >= threads"),
        ("wrk -d soon http://h/", "-d: 'soon'"),
        ("wrk", "no address"),
        ("wrk ftp://h/", "ftp://h/"),
        ("wrk http://a/ http://b/", "what is 'http://b/'"),
        ("ab -X proxy:1 http://h/", "no flag '-X'"),
        ("ab -n 1 -c 2 http://h/", "concurrency level"),
        ("fortio server", "the one command is load"),
        ("fortio load -jitter http://h/", "no flag '-jitter'"),
        ("fortio load -nocatchup http://h/", "no flag '-nocatchup'"),
        ("fortio load -p 50,abc http://h/", "'abc'"),
        ("fortio load -p 101 http://h/", "-p: '101'"),
        ("fortio load -qps many http://h/", "-qps: 'many'"),
        ("fortio load -t 5 http://h/", "-t: '5' is not a time"),
        ("fortio load -keepalive=perhaps http://h/", "-keepalive: 'perhaps'"),
        ("fortio load -payload-size 1G http://h/", "-payload-file"),
    ] {
        let why = invocation(line).err().unwrap_or_else(|| panic!("{line} was taken"));
        assert!(why.contains(needle) && !why.contains('\n'), "{line}: {why}");
    }
    assert!(invocation("ab --help").err().unwrap().contains("-n N"));
}
