//! `brunt load --metrics`: pages that are fetched while the load runs, and clients that do not behave.

use crate::shared::consumers::{check, lacks, runs, sample};
use crate::shared::web_load::{Load, web};
use brunt_testkit::{LIMIT, Signal, alone, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

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
fn pages_grow_second_by_second_and_the_last_is_the_result() {
    let _turn = alone();
    let web = web("--service hello");
    let mut load = Load::start(web.address(), "-R 300 -c 4 -d 3s --warmup 1s --metrics 127.0.0.1:0");
    let address = address(&mut load);
    let mut pages = Vec::new();
    while let Some(page) = page(&address) {
        if pages.last() != Some(&page) {
            pages.push(page);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let ended = load.end();
    let url = format!("url=\"http://{}/\"", web.address());
    let window = format!("{url},phase=\"window\"");
    let completed = format!("brunt_requests_total{{{window},end=\"completed\"}}");
    let counts: Vec<f64> =
        pages.iter().filter(|page| page.contains(&completed)).map(|page| sample(page, &completed)).collect();
    assert!(pages.len() >= 4 && counts.len() >= 3 && counts.is_sorted(), "{counts:?}");
    let last = pages.last().unwrap();
    assert_eq!(sample(last, &completed) as u64, ended.count("/requests/completed"), "{}", ended.stderr);
    assert_eq!(sample(last, &format!("brunt_offered_requests_total{{{window}}}")), 900.0);
    let offered = sample(last, &format!("brunt_offered_requests_total{{{url},phase=\"warmup\"}}"));
    assert_eq!(offered, 300.0);
    let times = sample(last, &format!("brunt_response_seconds_count{{{window}}}"));
    assert_eq!(sample(last, &format!("brunt_response_seconds_bucket{{{window},le=\"+Inf\"}}")), times);
    assert!(times > 0.0 && times <= ended.count("/latency/response/count") as f64);
    assert!(sample(last, &format!("brunt_response_p50_seconds{{{url}}}")) > 1e-6, "{last}");
    assert!(sample(last, &format!("brunt_server_resident_memory_bytes{{{url}}}")) > 1e5, "{last}");
    if !lacks("promtool", runs("promtool", &["--version"])) {
        pages.iter().for_each(|page| check(page));
    }
}

#[test]
fn clients_that_misbehave_get_an_error_or_the_end_and_delay_nobody() {
    let _turn = alone();
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
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
    // No request waited for one of them for ever, or failed.
    load.signal(Signal::INT);
    let ended = load.end();
    let (completed, failed) = (ended.count("/requests/completed"), ended.count("/requests/failed"));
    assert!(completed > 0 && failed == 0, "{:#}", ended.result);
}

#[test]
fn a_port_in_use_and_an_address_of_no_form_are_errors_of_one_line() {
    let _turn = alone();
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
    let _turn = alone();
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
