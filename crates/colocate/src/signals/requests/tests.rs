//! Sources against files, programs and servers whose requests are known.

use super::*;
use brunt_testkit::{home, until, until_some};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// Long enough that no pause of a machine makes a request slow.
const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 300.0 };

fn source(from: &From) -> Source {
    Source::start(from, OBJECTIVE, Some(100.0), Path::new("/no/such/brunt")).unwrap()
}

/// Windows of a source, each once, until they satisfy `enough`.
fn windows(source: &mut Source, enough: impl Fn(&[Requests]) -> bool) -> Vec<Requests> {
    let (mut windows, mut end) = (Vec::new(), f64::MIN);
    until("the source has enough windows", || {
        source.poll(Instant::now());
        if let Some((at, value)) = source.newest
            && at > end
        {
            end = at;
            println!("{value:?}");
            windows.push(value);
        }
        enough(&windows)
    });
    windows
}

fn count(windows: &[Requests]) -> u64 {
    windows.iter().map(|requests| requests.count).sum()
}

fn slow(windows: &[Requests]) -> u64 {
    windows.iter().map(|requests| requests.slow).sum()
}

fn line(count: u64) -> String {
    format!(r#"{{"seconds":0.1,"count":{count},"slow":1,"latency_ms":2,"offered":50}}"#)
}

#[test]
fn a_file_is_followed_when_it_appears_is_truncated_and_is_replaced() {
    let home = home();
    let path = home.path().join("counts");
    let mut source = source(&From::File(path.clone()));
    assert_eq!(source.poll(Instant::now()), None);
    let append = |text: &str| {
        OpenOptions::new().create(true).append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let mut expect = |counted| assert_eq!(count(&windows(&mut source, |windows| !windows.is_empty())), counted);
    // A torn line waits for its end.
    append(&format!("{}\n{}", line(10), &line(100)[..20]));
    expect(10);
    append(&line(100)[20..]);
    append("\n");
    until("the torn line is whole", || source_has(&mut source, 100));
    let other = home.path().join("other");
    fs::write(&other, line(1000) + "\n").unwrap();
    fs::rename(&other, &path).unwrap();
    until("the other file is read", || source_has(&mut source, 1000));
    append(&(line(1) + "\nno counts\n\u{1b}[31m\n" + &line(2000) + "\n"));
    until("what was appended is read", || source_has(&mut source, 2000) || source_has(&mut source, 2001));
    fs::write(&path, line(3) + "\n").unwrap();
    until("the truncated file is read", || source_has(&mut source, 3));
    assert!(source.warning().unwrap().starts_with("'no counts' is not a line of counts"));
    assert_eq!((source.warning(), source.ended()), (None, None));
    let reading = source.poll(Instant::now()).unwrap();
    assert_eq!((reading.value.load, reading.value.slow), (Some(0.5), 1));
}

fn source_has(source: &mut Source, count: u64) -> bool {
    source.poll(Instant::now()).is_some_and(|reading| reading.value.count == count)
}

#[test]
fn what_a_file_has_before_the_start_is_of_the_past() {
    let home = home();
    let path = home.path().join("counts");
    fs::write(&path, line(10) + "\n").unwrap();
    let mut source = source(&From::File(path.clone()));
    thread::sleep(Duration::from_millis(50));
    assert_eq!(source.poll(Instant::now()), None);
    let error = Source::start(&From::File(home.path().to_owned()), OBJECTIVE, None, Path::new("brunt")).unwrap_err();
    assert!(error.to_string().contains(&home.path().display().to_string()), "{error}");
}

#[test]
fn a_program_prints_counts_and_its_end_is_told_with_what_it_said() {
    let script = format!("for n in 1 2 3; do echo '{}'; sleep 0.05; done; echo 'no more' >&2; exit 3", line(7));
    let mut source = source(&From::Command(["sh", "-c", &script].map(str::to_owned).into()));
    assert_eq!(count(&windows(&mut source, |windows| count(windows) >= 21)), 21);
    until("the program has ended", || source.ended().is_some());
    thread::sleep(Duration::from_millis(50));
    assert_eq!(source.ended().unwrap(), "sh, the source of the counts, has ended (exit code 3): no more");
    let missing = From::Command(vec!["/no/such/program".to_owned()]);
    let error = Source::start(&missing, OBJECTIVE, None, Path::new("brunt")).unwrap_err();
    assert!(error.to_string().contains("cannot start '/no/such/program'"), "{error}");
}

#[test]
fn a_program_and_its_children_end_with_the_source() {
    let home = home();
    let path = home.path().join("alive");
    let script = format!("trap '' TERM; while true; do date >> {}; sleep 0.02; done", path.display());
    let source = source(&From::Command(["sh", "-c", &script].map(str::to_owned).into()));
    until("the program runs", || path.exists());
    drop(source);
    let length = fs::metadata(&path).unwrap().len();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(fs::metadata(&path).unwrap().len(), length);
}

/// A server that answers what `reply` makes of the bytes of a request, after its number.
fn serve(reply: impl Fn(u64, &[u8]) -> Option<Vec<u8>> + Clone + Send + 'static) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let number = Arc::new(AtomicU64::new(0));
    let answer = move |mut stream: TcpStream, number: Arc<AtomicU64>| {
        let mut request = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut request) {
            let Some(reply) = reply(number.fetch_add(1, Relaxed), &request[..length]) else { return };
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, number) = (answer.clone(), Arc::clone(&number));
            thread::spawn(move || answer(stream, number));
        }
    });
    address
}

fn probe(url: String) -> From {
    From::Probe { url, every: Duration::from_millis(5) }
}

#[test]
fn a_probe_counts_replies_as_fast_and_a_service_that_stops_answering_as_slow() {
    let address = serve(|number, request| {
        if number >= 50 {
            thread::sleep(Duration::from_secs(3600));
        }
        Some(request.to_vec())
    });
    let mut source = source(&probe(format!("tcp://{address}")));
    let windows = windows(&mut source, |windows| slow(windows) >= 100);
    // Fifty had a reply; of the others, those in flight at the time.
    assert_eq!(count(&windows) - slow(&windows), 50, "{windows:?}");
    let last = windows[windows.len() - 1];
    assert!(last.count == last.slow && last.latency_ms > OBJECTIVE.limit_ms, "{last:?}");
}

#[test]
fn a_probe_over_http_takes_failures_as_slow_and_names_the_first() {
    let address = serve(|number, request| {
        assert!(request.starts_with(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:"));
        let head = if number % 2 == 0 { "200 OK" } else { "503 Busy" };
        Some(format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\nok").into_bytes())
    });
    let mut source = source(&probe(format!("http://{address}/health")));
    let windows = windows(&mut source, |windows| slow(windows) >= 20);
    let fast = count(&windows) - slow(&windows);
    assert!(fast.abs_diff(slow(&windows)) <= 2 + 64, "{windows:?}");
    let warning = source.warning().unwrap();
    assert!(warning.contains("status 503"), "{warning}");
}

#[test]
fn a_probe_of_nothing_fails_at_once_and_each_failure_counts() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut source = source(&probe(format!("tcp://{address}")));
    let windows = windows(&mut source, |windows| count(windows) >= 20);
    assert_eq!(count(&windows), slow(&windows));
}

#[test]
fn metrics_become_counts_whatever_resets() {
    let address = serve(|number, _| {
        // Ten requests a look, two of them slow; the service starts again once.
        let n = if number < 5 { number + 3 } else { number - 4 };
        let of = |le: &str, per: u64| format!("http_seconds_bucket{{path=\"/a\",le=\"{le}\"}} {}\n", per * n);
        let body = ["# TYPE http_seconds histogram\n", &of("0.1", 5), &of("0.3", 8), &of("+Inf", 10)].concat();
        let close = "Connection: close\r\n";
        Some(format!("HTTP/1.0 200 OK\r\n{close}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
    });
    let metrics = |histogram: &str| From::Prometheus {
        url: format!("http://{address}/metrics"),
        histogram: histogram.to_owned(),
        every: Duration::from_millis(20),
    };
    let mut source = source(&metrics("http_seconds"));
    let windows = windows(&mut source, |windows| count(windows) >= 100);
    assert_eq!(count(&windows) % 10, 0);
    assert_eq!(slow(&windows) * 5, count(&windows));
    assert!(windows.iter().all(|requests| requests.load.is_some() && requests.latency_ms > 0.0), "{windows:?}");
    let other = Objective { limit_ms: 200.0, ..OBJECTIVE };
    let mut source = Source::start(&metrics("http_seconds"), other, None, Path::new("brunt")).unwrap();
    let why = until_some("the source has ended", || source.ended());
    assert!(why.contains("the limit 200 ms is no bound") && why.contains("100 ms or 300 ms"), "{why}");
    let mut source = Source::start(&metrics("other"), OBJECTIVE, None, Path::new("brunt")).unwrap();
    let warning = until_some("a warning", || source.warning());
    assert!(warning.contains("no histogram other"));
}

#[test]
fn wrong_sources_are_refused_in_a_line() {
    let every = Duration::from_millis(5);
    for (url, needle) in [
        ("https://a/", "https is not supported"),
        ("tcp://127.0.0.1", "tcp://HOST:PORT"),
        ("127.0.0.1:80", "write http://127.0.0.1:80 or tcp://127.0.0.1:80"),
        ("unix:///run/echo", "http://HOST[:PORT]/PATH"),
        ("http://", "http://HOST[:PORT]/PATH"),
    ] {
        let refused = Source::start(&From::Probe { url: url.to_owned(), every }, OBJECTIVE, None, Path::new("brunt"));
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(needle) && why.contains(url), "{why}");
    }
    let objective = Objective { quantile: 0.95, ..OBJECTIVE };
    let refused = Source::start(&From::Load(Vec::new()), objective, None, Path::new("brunt")).unwrap_err();
    assert!(refused.to_string().contains("no quantile 0.95"), "{refused}");
    let metrics = From::Prometheus { url: "tcp://127.0.0.1:1".to_owned(), histogram: "a".to_owned(), every };
    assert!(Source::start(&metrics, OBJECTIVE, None, Path::new("brunt")).is_err());
    let often = From::Probe { url: "tcp://127.0.0.1:1".to_owned(), every: Duration::ZERO };
    assert!(Source::start(&often, OBJECTIVE, None, Path::new("brunt")).is_err());
}
