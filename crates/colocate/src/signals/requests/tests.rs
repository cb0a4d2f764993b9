//! Sources against files, programs and servers whose requests are known.

use super::*;
use brunt_testkit::{home, until, until_some};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
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
        source.poll(clock::now());
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
    assert_eq!(source.poll(clock::now()), None);
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
    assert_eq!((source.warning(), source.ended(clock::now())), (None, None));
    let reading = source.poll(clock::now()).unwrap();
    assert_eq!((reading.value.load, reading.value.slow), (Some(0.5), 1));
}

fn source_has(source: &mut Source, count: u64) -> bool {
    source.poll(clock::now()).is_some_and(|reading| reading.value.count == count)
}

#[test]
fn what_a_file_has_before_the_start_is_of_the_past() {
    let home = home();
    let path = home.path().join("counts");
    fs::write(&path, line(10) + "\n").unwrap();
    let mut source = source(&From::File(path.clone()));
    OpenOptions::new().append(true).open(&path).unwrap().write_all((line(3) + "\n").as_bytes()).unwrap();
    assert_eq!(count(&windows(&mut source, |windows| !windows.is_empty())), 3);
    let error = Source::start(&From::File(home.path().to_owned()), OBJECTIVE, None, Path::new("brunt")).unwrap_err();
    assert!(error.to_string().contains(&home.path().display().to_string()), "{error}");
}

#[test]
fn a_program_prints_counts_and_its_end_is_told_with_what_it_said() {
    let script = format!("for n in 1 2 3; do echo '{}'; sleep 0.05; done; echo 'no more' >&2; exit 3", line(7));
    let mut source = source(&From::Command(["sh", "-c", &script].map(str::to_owned).into()));
    assert_eq!(count(&windows(&mut source, |windows| count(windows) >= 21)), 21);
    // Its last words may come after its end.
    let expected = "sh, the source of the counts, has ended (exit code 3): no more";
    until("the program has ended", || source.ended(clock::now()).is_some_and(|why| why == expected));
    let missing = From::Command(vec!["/no/such/program".to_owned()]);
    let error = Source::start(&missing, OBJECTIVE, None, Path::new("brunt")).unwrap_err();
    assert!(error.to_string().contains("cannot start '/no/such/program'"), "{error}");
}

#[test]
fn a_program_and_its_children_end_with_the_source() {
    let home = home();
    let path = home.path().join("pids");
    let script = format!("trap '' TERM; sleep 1000 & echo $$ $! >{0}.new; mv {0}.new {0}; wait", path.display());
    let source = source(&From::Command(["sh", "-c", &script].map(str::to_owned).into()));
    let pids = until_some("the program runs", || fs::read_to_string(&path).ok());
    drop(source);
    for pid in pids.split_whitespace().map(|pid| pid.parse().unwrap()) {
        until("it has ended", || brunt_meter::proc_stat::has_ended(pid));
    }
}

/// A server that answers what `reply` makes of the bytes of a request, after its number.
pub(super) fn serve(reply: impl Fn(u64, &[u8]) -> Option<Vec<u8>> + Clone + Send + 'static) -> std::net::SocketAddr {
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

/// In its thread. What it counts exactly is in `probe/tests.rs`.
#[test]
fn a_probe_sees_a_service_that_answers_and_one_that_stops() {
    let stopped = Arc::new(AtomicBool::new(false));
    let is_stopped = Arc::clone(&stopped);
    let address = serve(move |_, request| Some(if is_stopped.load(Relaxed) { Vec::new() } else { request.to_vec() }));
    let mut source = source(&From::Probe { url: format!("tcp://{address}"), every: Some(Duration::from_millis(5)) });
    windows(&mut source, |windows| count(windows) > slow(windows));
    stopped.store(true, Relaxed);
    let is_slow = |last: &Requests| last.count > 0 && last.count == last.slow && last.latency_ms > OBJECTIVE.limit_ms;
    windows(&mut source, |windows| windows.last().is_some_and(is_slow));
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
    let why = until_some("the source has ended", || source.ended(clock::now()));
    assert!(why.contains("the limit 200 ms is no bound") && why.contains("100 ms or 300 ms"), "{why}");
    let mut source = Source::start(&metrics("other"), OBJECTIVE, None, Path::new("brunt")).unwrap();
    until("a warning", || source.warning().is_some_and(|warning| warning.contains("no histogram other")));
}

#[test]
fn wrong_sources_are_refused_in_a_line() {
    let every = Duration::from_millis(5);
    for (url, needle) in [
        ("https://a/", "https is not supported"),
        ("tcp://127.0.0.1", "tcp://HOST:PORT"),
        ("unix:///run/echo", "http://HOST[:PORT]/PATH"),
        ("http://", "http://HOST[:PORT]/PATH"),
    ] {
        let refused = Source::start(
            &From::Probe { url: url.to_owned(), every: Some(every) },
            OBJECTIVE,
            None,
            Path::new("brunt"),
        );
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(needle) && why.contains(url), "{why}");
    }
    let objective = Objective { quantile: 0.95, ..OBJECTIVE };
    let refused = Source::start(&From::Load(Vec::new()), objective, None, Path::new("brunt")).unwrap_err();
    assert!(refused.to_string().contains("no quantile 0.95"), "{refused}");
    let metrics = From::Prometheus { url: "tcp://127.0.0.1:1".to_owned(), histogram: "a".to_owned(), every };
    assert!(Source::start(&metrics, OBJECTIVE, None, Path::new("brunt")).is_err());
    let often = From::Probe { url: "tcp://127.0.0.1:1".to_owned(), every: Some(Duration::ZERO) };
    assert!(Source::start(&often, OBJECTIVE, None, Path::new("brunt")).is_err());
}

#[test]
fn a_load_is_started_again_every_200_ms_for_ten_seconds() {
    let (begin, ms) = (clock::now(), Duration::from_millis);
    let mut again = Begin::new(begin);
    let steps = [199, 200, 399, 400, 9_999, 10_000].map(|at| again.step(begin + ms(at)));
    assert_eq!(steps, [Some(false), Some(true), Some(false), Some(true), Some(true), None]);
}
