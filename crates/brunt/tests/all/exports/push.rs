//! `brunt load --push otlp=URL`: what a collector gets, and collectors that fail.

use crate::shared::consumers::{lacks, runs};
use crate::shared::web_load::{Load, web};
use brunt_results::{latency::new_histogram, series::Second};
use brunt_testkit::{LIMIT, Running, read_head, told, until};
use brunt_view::metrics::Sinks;
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Gets requests, and gives these answers one after another, the last one again and again.
struct Collector {
    url: String,
    /// Head and body of each request.
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

/// The status of no answer at all.
const NEVER: u16 = 0;

impl Collector {
    fn start(answers: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("otlp=http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, next) = (Arc::clone(&requests), AtomicUsize::new(0));
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                let request = receive(&stream);
                let answer = answers[next.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)];
                if answer == NEVER {
                    held.push(stream);
                    continue;
                }
                kept.lock().unwrap().push(request);
                let reply = format!("HTTP/1.1 {answer} Said\r\nContent-Length: 2\r\n\r\n{{}}");
                let _ = (&stream).write_all(reply.as_bytes());
            }
        });
        Self { url, requests }
    }
}

fn receive(stream: &TcpStream) -> (String, String) {
    let mut input = BufReader::new(stream);
    let head = read_head(&mut input).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    input.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// The metrics of all intervals, those of each by name.
fn intervals(collector: &Collector) -> Vec<Vec<Value>> {
    let requests = collector.requests.lock().unwrap();
    let bodies = requests.iter().map(|(_, body)| serde_json::from_str::<Value>(body).unwrap());
    let resources = bodies.flat_map(|body| body["resourceMetrics"].as_array().unwrap().clone());
    resources.map(|resource| resource["scopeMetrics"][0]["metrics"].as_array().unwrap().clone()).collect()
}

/// Fails unless the keys and the kinds of values are those of OTLP's JSON encoding.
fn assert_encoded(key: &str, value: &Value) {
    let number = |value: &Value| value.as_str().is_some_and(|text| text.parse::<u64>().is_ok());
    match (key, value) {
        ("startTimeUnixNano" | "timeUnixNano" | "count" | "asInt", value) => assert!(number(value), "{key}: {value}"),
        ("bucketCounts", Value::Array(all)) => assert!(all.iter().all(number), "{value}"),
        ("aggregationTemporality", value) => assert_eq!(value, 1),
        ("sum", Value::Number(_)) | ("asDouble" | "min" | "max", _) => assert!(value.is_f64(), "{key}: {value}"),
        ("isMonotonic", value) => assert_eq!(value, true),
        (_, Value::Array(all)) => all.iter().for_each(|one| assert_encoded(key, one)),
        (_, Value::Object(all)) => {
            for (key, value) in all {
                assert!(key.starts_with(|c: char| c.is_ascii_lowercase()), "{key}");
                assert!(key.chars().all(|c| c.is_ascii_alphanumeric()), "{key}");
                assert_encoded(key, value);
            }
        }
        _ => (),
    }
}

fn attribute<'v>(point: &'v Value, name: &str) -> Option<&'v str> {
    let attributes = point["attributes"].as_array()?;
    attributes.iter().find(|one| one["key"] == name)?["value"]["stringValue"].as_str()
}

fn text(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// The sum of a counter over all intervals of the window.
fn sum(intervals: &[Vec<Value>], name: &str, end: Option<&str>) -> u64 {
    let metrics = intervals.iter().flatten().filter(|metric| metric["name"] == name);
    let points = metrics.flat_map(|metric| metric["sum"]["dataPoints"].as_array().unwrap());
    let points = points.filter(|point| attribute(point, "phase") == Some("window") && attribute(point, "end") == end);
    points.map(|point| text(&point["asInt"])).sum()
}

/// A second of the window, but for the first one.
fn second(number: u64) -> Second {
    Second {
        at_s: number as f64,
        warmup: number == 1,
        offered: Some(200),
        sent: 200,
        completed: 190 + number,
        failed: 2,
        p99_us: Some(1500.0),
        ..Second::default()
    }
}

/// Pushes these seconds, waits for `heard` after each, and ends; returns what it says then.
fn push(url: &str, seconds: u64, mut heard: impl FnMut(u64)) -> Option<String> {
    let mut sinks = Sinks::open(None, Some(&url.parse().unwrap()), "http://a/", &[]).unwrap();
    sinks.started();
    for number in 1..=seconds {
        let mut times = new_histogram();
        times.record_n(1_500_000, 190 + number).unwrap();
        sinks.take(&second(number), &times);
        heard(number);
    }
    sinks.end(LIMIT)
}

#[test]
fn deltas_add_up_to_the_seconds_in_the_encoding_of_otlp() {
    let collector = Collector::start(&[200]);
    let received = |number: u64| {
        until("the second is pushed", || collector.requests.lock().unwrap().len() as u64 == number);
    };
    assert_eq!(push(&collector.url, 4, received), None);
    for (head, body) in collector.requests.lock().unwrap().iter() {
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("Content-Type: application/json\r\n"), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_encoded("", &body);
        let resource = &body["resourceMetrics"][0]["resource"];
        assert_eq!(
            (attribute(resource, "service.name"), attribute(resource, "url")),
            (Some("brunt"), Some("http://a/"))
        );
    }
    let intervals = intervals(&collector);
    assert_eq!(intervals.len(), 4, "{intervals:#?}");
    assert_eq!(sum(&intervals, "brunt_requests_total", Some("completed")), 192 + 193 + 194);
    assert_eq!(sum(&intervals, "brunt_requests_total", Some("failed")), 6);
    assert_eq!(sum(&intervals, "brunt_offered_requests_total", None), 600);
    let mut end = None;
    for (number, interval) in (1..).zip(&intervals) {
        let histogram = interval.iter().find(|metric| metric["name"] == "brunt_response_seconds").unwrap();
        assert_eq!(histogram["unit"], "s");
        let point = &histogram["histogram"]["dataPoints"][0];
        let counts: Vec<u64> = point["bucketCounts"].as_array().unwrap().iter().map(text).collect();
        assert_eq!((counts.iter().sum::<u64>(), text(&point["count"])), (190 + number, 190 + number));
        assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
        let (start, stop) = (text(&point["startTimeUnixNano"]), text(&point["timeUnixNano"]));
        assert!(stop == start + 1_000_000_000 && end.is_none_or(|end| end == start), "{point}");
        end = Some(stop);
    }
}

#[test]
fn the_messages_of_the_protocol_are_parsed_from_them() {
    // `pip install opentelemetry-proto`.
    if lacks("opentelemetry", runs("python3", &["-c", "import opentelemetry.proto.metrics.v1.metrics_pb2"])) {
        return;
    }
    let collector = Collector::start(&[200]);
    assert_eq!(push(&collector.url, 4, |_| ()), None);
    let bodies: String = collector.requests.lock().unwrap().iter().map(|(_, body)| format!("{body}\n")).collect();
    assert!(bodies.lines().count() == collector.requests.lock().unwrap().len(), "a body is one line");
    let mut python = Command::new("python3");
    python.args(["-c", include_str!("otlp.py")]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut python = Running::start(&mut python);
    python.child().stdin.take().unwrap().write_all(bodies.as_bytes()).unwrap();
    let found: Value = serde_json::from_str(&told(&python.output(), 0).0).unwrap();
    assert_eq!(found["brunt_requests_total completed"], 192 + 193 + 194, "{found:#}");
    assert_eq!(found["brunt_offered_requests_total"], 600);
    assert!(found["brunt_response_seconds"].as_u64() > Some(0), "{found:#}");
    assert!(found["brunt_response_p99_seconds"].as_u64() >= Some(2), "{found:#}");
}

#[test]
fn intervals_that_could_not_be_taken_are_sent_again_and_count_once() {
    let collector = Collector::start(&[503, 503, 200]);
    let refused_twice = |number: u64| {
        if number == 3 {
            until("two refusals", || collector.requests.lock().unwrap().len() >= 2);
        }
    };
    assert_eq!(push(&format!("{}/custom?key=1", collector.url), 3, refused_twice), None);
    let mut requests = collector.requests.lock().unwrap();
    assert!(requests.len() >= 3 && requests[0].0.starts_with("POST /custom?key=1 "), "{requests:?}");
    requests.drain(..2);
    drop(requests);
    assert_eq!(sum(&intervals(&collector), "brunt_requests_total", Some("completed")), 192 + 193);
}

#[test]
fn collectors_that_fail_lose_intervals() {
    let (refuses, silent) = (Collector::start(&[500]), Collector::start(&[NEVER]));
    for (url, seconds, why) in [
        (refuses.url, 3, "the collector answered 500 Internal Server Error"),
        (silent.url, 1, "no answer within 2s"),
        ("otlp=http://127.0.0.1:1".to_owned(), 3, "refused"),
    ] {
        let note = push(&url, seconds, |_| ()).unwrap();
        let lost = format!("{seconds} of {seconds} intervals were not pushed to http://");
        assert!(note.starts_with(&lost) && note.contains(why), "{note}");
    }
}

#[test]
fn a_load_is_pushed_second_by_second() {
    let (web, collector) = (web("--service hello"), Collector::start(&[200]));
    let flags = "-R 200 -c 4 -d 500ms --warmup 100ms --push";
    let ended = Load::start(web.address(), &format!("{flags} {}", collector.url)).end();
    let sum = |name: &str, end| sum(&intervals(&collector), name, end);
    // The load waits two seconds for the last one to be pushed.
    if !ended.stderr.contains("not pushed") {
        assert_eq!(sum("brunt_requests_total", Some("completed")), ended.count("/requests/completed"));
        assert_eq!(sum("brunt_offered_requests_total", None), 100);
    }
    let url = format!("http://{}/", web.address());
    for (_, body) in collector.requests.lock().unwrap().iter() {
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(attribute(&body["resourceMetrics"][0]["resource"], "url"), Some(url.as_str()));
    }
}

#[test]
fn a_load_goes_on_without_its_collector() {
    let web = web("--service hello");
    let flags = "-n 10 --warmup 0s --push otlp=http://127.0.0.1:1";
    let ended = Load::start(web.address(), flags).end();
    assert!(ended.stderr.contains(" intervals were not pushed to http://"), "{}", ended.stderr);
    assert_eq!(ended.count("/requests/completed"), 10);
    let quiet = Load::start(web.address(), &format!("{flags} --quiet")).end();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_collector_with_tls_is_pushed_to_if_its_certificate_is_trusted() {
    let home = brunt_testkit::home();
    let (certificate, key) = (home.path().join("a.pem"), home.path().join("a.key"));
    let identity = brunt_tls::Identity::self_signed(&["localhost".to_owned()]).unwrap();
    std::fs::write(&certificate, identity.certificates_pem()).unwrap();
    std::fs::write(&key, identity.key_pem()).unwrap();
    let flags = format!("--service hello --tls-cert {} --tls-key {}", certificate.display(), key.display());
    let (web, secure) = (web("--service hello"), web(&flags));
    let port = secure.address().port();
    let run = |trusted: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command
            .arg("load")
            .arg(format!("http://{}/", web.address()))
            .args("-n 100 --warmup 0s --json - --push".split(' '));
        command.arg(format!("otlp=https://localhost:{port}")).arg("--allow-untrusted");
        if trusted {
            command.env("SSL_CERT_FILE", &certificate);
        }
        Load::of(command).end().stderr
    };
    assert!(!run(true).contains("not pushed"));
    let refused = run(false);
    assert!(refused.contains("not pushed") && refused.contains("certificate"), "{refused}");
}

#[test]
fn values_of_no_form_are_refused() {
    for (value, needle) in [
        ("http://127.0.0.1:4318", "write otlp=URL"),
        ("otlp=tcp://127.0.0.1:1", "http:// or https://"),
        ("otlp=http://me:pw@h/", "names a user"),
    ] {
        let ended = Load::start("127.0.0.1:1", &format!("--push {value}")).end_in_any_way();
        assert!(ended.code == Some(2) && ended.stderr.contains(needle), "{value}: {}", ended.stderr);
    }
}
