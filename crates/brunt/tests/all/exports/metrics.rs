//! `brunt load --metrics`: a page that is fetched while the load runs, and clients that do not behave. What the pages of a load say,
//! second by second, is shown in a simulated world: `tests/sim/metrics.rs`.

use crate::shared::consumers::{check, lacks, runs, sample};
use crate::shared::web_load::{Load, web};
use brunt_results::{latency::new_histogram, series::Second};
use brunt_testkit::{LIMIT, Signal, uninterrupted, until, until_some};
use brunt_view::metrics::Sinks;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::{fs, thread, time::Duration};

/// The reply to these bytes, as much of it as comes.
fn ask(address: &str, request: &[u8]) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut reply = Vec::new();
    // A reset ends the reply.
    let _ = stream.write_all(request).and_then(|()| stream.read_to_end(&mut reply));
    String::from_utf8(reply).unwrap()
}

/// The page, unless the load is over.
fn page(address: &str) -> Option<String> {
    let reply = ask(address, b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let (head, body) = reply.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    let length = format!("Content-Length: {}", body.len());
    head.contains(&length).then(|| body.to_owned())
}

/// The address in the line that the load prints.
fn address(load: &mut Load) -> String {
    load.heard("metrics at http://").trim_end_matches("/metrics").to_owned()
}

#[test]
fn a_running_load_has_a_page() {
    let web = web("--service hello");
    let mut load = Load::start(web.address(), "-R 300 -c 4 -d 10m --warmup 0s --metrics 127.0.0.1:0");
    let address = address(&mut load);
    let url = format!("url=\"http://{}/\"", web.address());
    let window = format!("{url},phase=\"window\"");
    let completed = format!("brunt_requests_total{{{window},end=\"completed\"}}");
    // The first second may have no reply where the machine pauses.
    let page = until_some("a second with replies", || {
        thread::sleep(Duration::from_millis(50));
        page(&address).filter(|page| page.contains(&completed) && sample(page, &completed) > 0.0)
    });
    let times = sample(&page, &format!("brunt_response_seconds_count{{{window}}}"));
    assert_eq!(sample(&page, &format!("brunt_response_seconds_bucket{{{window},le=\"+Inf\"}}")), times);
    assert!(times > 0.0 && sample(&page, &format!("brunt_server_resident_memory_bytes{{{url}}}")) > 1e5, "{page}");
    load.signal(Signal::INT);
    let ended = load.end();
    let counted = ended.count("/requests/completed") as f64;
    assert!(sample(&page, &completed) <= counted, "{}", ended.stderr);
    if !lacks("promtool", runs("promtool", &["--version"])) {
        check(&page);
    }
}

/// The load ends, with a scraper that has had a page, once the last one is fetched.
#[test]
fn the_last_page_is_waited_for() {
    let sinks = || Sinks::open(Some(&"127.0.0.1:0".parse().unwrap()), None, "a load", &[]).unwrap();
    let second = |at_s: f64| Second { at_s, completed: 7, ..Second::default() };
    let times = new_histogram();
    let mut fetched = sinks();
    let address = fetched.address().unwrap().to_string();
    fetched.take(&second(1.0), &times);
    assert!(page(&address).unwrap().contains("end=\"completed\"} 7\n"));
    fetched.take(&second(2.0), &times);
    thread::scope(|scope| {
        let end = scope.spawn(|| fetched.end(LIMIT));
        assert!(page(&address).unwrap().contains("end=\"completed\"} 14\n"));
        assert_eq!(end.join().unwrap(), None);
    });
    // Without a scraper nothing is waited for: the test would take this long.
    let mut unseen = sinks();
    unseen.take(&second(1.0), &times);
    assert_eq!(unseen.end(LIMIT), None);
}

#[test]
fn clients_that_misbehave_get_an_error_or_the_end_and_delay_no_other() {
    let web = web("--service hello");
    let mut load = Load::start(web.address(), "-R 100 -c 2 -d 10m --warmup 0s --metrics 127.0.0.1:0");
    let address = address(&mut load);
    for (request, answer) in [
        (&b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "405"),
        (b"HEAD /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
        (b"GET /metrics\r\n\r\n", "400"),
        (&[b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: ".as_slice(), &[b'x'; 9000]].concat(), "431"),
    ] {
        let reply = ask(&address, request);
        assert!(reply.starts_with(&format!("HTTP/1.1 {answer} ")), "{answer}: {reply}");
    }
    // Those that send nothing delay no other request, and are closed.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert!(page(&address).is_some());
    for mut stream in silent {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        assert!(matches!(uninterrupted(|| stream.read(&mut [0; 1])), Ok(0) | Err(_)));
    }
    // No request waited for one of them for ever, or failed.
    load.signal(Signal::INT);
    let ended = load.end();
    let (completed, failed) = (ended.count("/requests/completed"), ended.count("/requests/failed"));
    assert!(completed > 0 && failed == 0, "{:#}", ended.result);
}

#[test]
fn a_port_in_use_and_an_address_of_no_form_are_errors_of_one_line() {
    let web = web("--service hello");
    let port = web.address().port();
    for (value, code, needle) in [
        (web.address().to_string(), 1, "Address already in use"),
        (format!(":{port}"), 1, "choose another address or port"),
        ("9100".to_owned(), 2, "write HOST:PORT, as 127.0.0.1:9100, or :PORT"),
        ("192.0.2.1:9100".to_owned(), 1, "--metrics 192.0.2.1:9100: cannot listen there"),
    ] {
        let ended = Load::start(web.address(), &format!("-n 1 --quiet --metrics {value}")).end_in_any_way();
        let first = ended.stderr.lines().next().unwrap_or_default();
        assert!(ended.code == Some(code) && first.contains(needle), "{value}: {:?} {}", ended.code, ended.stderr);
        assert!(code == 2 || ended.stderr.lines().count() == 1, "{}", ended.stderr);
    }
}

#[test]
fn its_threads_keep_off_the_cores_of_the_load() {
    if brunt_meter::affinity::allowed().unwrap().len() < 2 {
        return println!("skipped: there is one core");
    }
    let web = web("--service hello");
    let core = brunt_meter::affinity::allowed().unwrap()[0];
    let flags = "-R 100 -c 1 -d 10m --warmup 0s --metrics :0 --push otlp=http://127.0.0.1:1";
    let mut load = Load::start(web.address(), &format!("--cores {core} {flags}"));
    let address = address(&mut load).replace("[::]", "127.0.0.1");
    assert!(page(&address).is_some());
    let pid = load.pid();
    let cores = |thread: &str| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let is_called = |task: &PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == thread);
        let task = tasks.flatten().map(|task| task.path()).find(is_called)?;
        let status = fs::read_to_string(task.join("status")).ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
        Some(list.parse::<brunt_results::Cores>().unwrap().0)
    };
    for thread in ["metrics", "push"] {
        // A thread begins where it was started.
        until(&format!("{thread} is off the core of the load"), || {
            cores(thread).is_some_and(|cores| !cores.contains(&core))
        });
    }
    load.signal(Signal::INT);
    load.end();
}
