//! Requests without a reply are longer than every answered one in every output, and connections that a server ends or keeps open
//! have their own counts.

use crate::shared::target::{json, load, number};
use brunt_testkit::{assert_code, home, listener, read_head, text};
use serde_json::Value;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

/// What a server does with a request that it does not answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Drops {
    Silence,
    Reset,
    /// Closes the connection, as after the last reply.
    Close,
    /// Drops none, and keeps connections open whose last request asks it to close them.
    Nothing,
}

/// A server that answers all but every `nth` request of a connection.
fn server(nth: u32, drops: Drops) -> SocketAddr {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || talk(stream, nth, drops));
        }
    });
    address
}

fn talk(mut stream: TcpStream, nth: u32, drops: Drops) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    for number in 1.. {
        if drops == Drops::Reset && number % nth == 0 {
            // A close with the request unread is a reset.
            let _ = stream.peek(&mut [0]);
            return;
        }
        // A client that has gone meanwhile is as well.
        let Some(_) = read_head(&mut input) else { return };
        match drops {
            _ if number % nth > 0 || drops == Drops::Nothing => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
            Drops::Close => return,
            Drops::Silence | Drops::Reset | Drops::Nothing => {
                let _ = input.read_to_end(&mut Vec::new());
            }
        }
    }
}

fn run(address: SocketAddr, flags: &str) -> Output {
    let flags = format!("-c 8 --warmup 0s --no-meter --quiet --allow-untrusted {flags}");
    load(&format!("http://{address}/"), &flags).output().unwrap()
}

fn export(format: &str, directory: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["export", "--to", format]).args(more).arg(directory).output().unwrap()
}

#[test]
fn requests_that_a_server_drops_are_above_every_limit_in_every_output() {
    for drops in [Drops::Silence, Drops::Reset] {
        let (address, home) = (server(20, drops), home());
        let directory = home.path().join("result");
        let run = |flags: &str| run(address, &format!("-n 2000 -T 200ms {flags}"));
        let output = run(&format!("--fail-if p99>1h,p50>1h --json - --out {}", directory.display()));
        assert_code(&output, &[99]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("p99>1h: it was more than") && !said.contains("p50>1h"), "{drops:?}: {said}");
        let result = json(&output);
        assert_eq!(number(&result, "latency.response.count"), 2000.0);
        let censored = number(&result, "latency.response.censored");
        assert_eq!(censored, number(&result, "requests.failed"), "{result:#}");
        // Those of the last connections may not come to their 20th, and a server that gets no processor answers late.
        assert!((90.0..200.0).contains(&censored), "{result:#}");
        let least_us =
            if drops == Drops::Silence { 199_800.0 } else { number(&result, "latency.service.max_us") - 0.1 };
        assert!(number(&result, "latency.response.p99_us") >= least_us, "{result:#}");
        let page = text(&run(""));
        let response = page.lines().find(|line| line.trim_start().starts_with("response")).unwrap();
        // The mean, p99 and the longest; p99.9 needs more requests.
        assert_eq!(response.matches("> ").count(), 3, "{page}");
        assert!(page.contains("without a complete reply, longer than every answered one"), "{page}");
        let short = text(&run("--short"));
        assert!(short.contains("p99 > ") && short.contains("p50 ") && !short.contains("p50 > "), "{short}");
        exports_say_it(&directory, censored as u64, least_us);
        listed(&directory);
    }
}

/// Of a line, of which some are quoted and have commas.
fn fields(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let ends = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    line.split(ends).collect()
}

fn exports_say_it(directory: &Path, censored: u64, least_us: f64) {
    let note = format!("{censored} of 2000 requests got no complete reply");
    for format in ["hgrm", "fortio", "k6", "vegeta"] {
        let exported = text(&export(format, directory, &[]));
        assert!(exported.contains(&note), "{exported}");
        let service = text(&export(format, directory, &["--tag", "service"]));
        assert!(!service.contains("no complete reply"), "{service}");
    }
    let csv = String::from_utf8(export("csv", directory, &[]).stdout).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(fields).collect();
    let column = lines[0].iter().position(|name| *name == "latency.response.censored").unwrap();
    assert_eq!(lines[1][column], censored.to_string(), "{csv}");
    let prometheus = text(&export("prometheus", directory, &[]));
    let of = |quantile: &str| {
        let begin = |line: &&str| line.starts_with("brunt_response_quantiles_seconds{") && line.contains(quantile);
        let line = prometheus.lines().find(begin).unwrap_or_else(|| panic!("{prometheus}"));
        line.split(' ').next_back().unwrap().parse::<f64>().unwrap()
    };
    assert!(of("quantile=\"0.99\"") * 1e6 >= least_us, "{prometheus}");
    // Formats of single figures leave out what is a lower bound.
    let bencher: Value = serde_json::from_slice(&export("bencher", directory, &[]).stdout).unwrap();
    let measures = bencher.as_object().unwrap().values().next().unwrap();
    assert!(measures["latency-p50"].is_object() && measures["latency-p99"].is_null(), "{measures}");
    assert_code(&export("github", directory, &["--figure", "p99"]), &[2]);
    assert_code(&export("github", directory, &["--figure", "p50"]), &[0]);
}

fn listed(directory: &Path) {
    let state = home();
    let list = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let output = command.arg("list").args(flags).env("BRUNT_STATE_DIR", state.path()).output().unwrap();
        assert_code(&output, &[0]);
        text(&output)
    };
    list(&["--rebuild", directory.to_str().unwrap()]);
    assert!(list(&["--trials"]).contains("> "), "{}", list(&["--trials"]));
    let shows = |bound: &str| list(&["--trials", "--where", bound, "--json"]).contains("censored_percent");
    assert_eq!(["p99<1h", "p99>1h", "p50<1h", "p50>1h", "max<1h"].map(shows), [false, true, true, false, false]);
}

#[test]
fn a_server_that_closes_after_a_number_of_requests_is_told_from_one_that_resets() {
    let address = server(8, Drops::Close);
    let output = run(address, "-n 500 --pipeline 4 --json -");
    assert_code(&output, &[1]);
    let result = json(&output);
    let closed = number(&result, "errors.closed");
    assert!(closed > 40.0 && closed == number(&result, "requests.failed"), "{result:#}");
    assert_eq!(number(&result, "connections.closed_after"), 7.0, "{result:#}");
    let why = result["verdict"]["why"][0].as_str().unwrap();
    assert!(why.contains("the target closes each connection after 7 replies"), "{why}");
    assert!(result["verdict"]["remedy"][0].as_str().unwrap().contains("--reuse"), "{result:#}");
    // What the remedy says.
    let mended = json(&run(address, "-n 500 --reuse 7 --json -"));
    assert_eq!((number(&mended, "requests.completed"), number(&mended, "requests.failed")), (500.0, 0.0), "{mended:#}");
}

#[test]
fn a_server_that_keeps_connections_open_is_not_waited_for_and_is_named() {
    let result = json(&run(server(1, Drops::Nothing), "-n 200 --no-keepalive --json -"));
    assert_eq!(number(&result, "requests.completed"), 200.0);
    // The end of the load may come before the end of its last eight connections.
    assert!((192.0..=200.0).contains(&number(&result, "connections.kept_open")), "{result:#}");
    let page = text(&run(server(1, Drops::Nothing), "-n 40 --no-keepalive"));
    assert!(page.contains(" reset that the target kept open when it was to close"), "{page}");
}
