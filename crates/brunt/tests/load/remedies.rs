//! Remedies that say what to do: each is followed, and its condition is gone.

use crate::shared::server::Server;
use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{listener, read_head};
use serde_json::Value;
use std::io::{BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A server whose reply to a request, by its target, is what `answer` writes.
fn server(answer: fn(&str, &mut TcpStream)) -> SocketAddr {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut input = BufReader::new(stream.try_clone().unwrap());
                while let Some(head) = read_head(&mut input) {
                    answer(head.split(' ').nth(1).unwrap(), &mut stream);
                }
            });
        }
    });
    address
}

/// A client that has gone is none of its business.
fn say(stream: &mut TcpStream, text: impl AsRef<[u8]>) {
    let _ = stream.write_all(text.as_ref());
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn result(url: &str, flags: &str) -> Value {
    json(&load(url, &format!("--warmup 0s --no-meter --quiet --json - {flags}")).output().unwrap())
}

/// The load with `wrong` flags has this remedy, and none for errors with the right ones.
#[track_caller]
fn followed((wrong_url, wrong): (&str, &str), remedy: &str, (url, right): (&str, &str)) {
    let before = result(wrong_url, wrong);
    assert!(before["verdict"]["kinds"].to_string().contains("errors"), "{before:#}");
    let remedies = before["verdict"]["remedy"].to_string() + &before["verdict"]["why"].to_string();
    assert!(remedies.contains(remedy), "{remedies}");
    let after = result(url, right);
    assert!(!after["verdict"]["kinds"].to_string().contains("errors"), "{after:#}");
    assert!(number(&after, "requests.completed") > 0.0 && number(&after, "requests.failed") == 0.0, "{after:#}");
}

#[test]
fn a_target_that_is_slower_than_the_timeout_is_given_more() {
    let slow = server(|_, stream| {
        thread::sleep(Duration::from_millis(150));
        say(stream, OK);
    });
    let url = format!("http://{slow}/");
    followed((&url, "-n 4 -c 2 -T 50ms"), "or raise --timeout", (&url, "-n 4 -c 2 -T 1m"));
}

#[test]
fn a_target_that_answers_part_of_the_requests_too_late_is_given_more_time() {
    let slow = server(|path, stream| {
        if path == "/slow" {
            thread::sleep(Duration::from_millis(150));
        }
        say(stream, OK);
    });
    let url = format!("http://{slow}/");
    let flags = |timeout| format!("http://{slow}/slow -n 8 -c 2 -T {timeout}");
    followed((&url, &flags("50ms")), "lower -R or -c, or raise --timeout", (&url, &flags("1m")));
}

#[test]
fn replies_that_are_right_are_accepted() {
    let missing = server(|_, stream| say(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"));
    let url = format!("http://{missing}/");
    followed((&url, "-n 4 -c 1"), "--expect-status accepts it", (&url, "-n 4 -c 1 --expect-status 404"));
    for (wrong, right) in [("--expect-body some", "--expect-body none"), ("--expect-length 5", "--expect-length 4")] {
        let flags = |more| format!("-n 4 -c 1 --expect-status 404 {more}");
        followed((&url, &flags(wrong)), "correct --expect-length or --expect-body", (&url, &flags(right)));
    }
}

#[test]
fn a_port_that_ends_connections_without_a_byte_is_loaded_over_tls() {
    // As some TLS servers do with what is no handshake.
    let hangs_up = server(|_, stream| _ = stream.shutdown(Shutdown::Both));
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "http", "--service", "hello", "--listen", "127.0.0.1:0", "--tls"]);
    let secure = Server::start(command);
    let url = format!("http://{hangs_up}/");
    let right = "-n 4 -c 1 --insecure";
    followed(
        (&url, "-n 4 -c 1"),
        "where the port speaks TLS, use https://",
        (&format!("https://{}/", secure.address()), right),
    );
    let once = load(&url, "--once").output().unwrap();
    let said = String::from_utf8_lossy(&once.stderr).into_owned();
    assert!(once.status.code() == Some(1) && said.contains("where the port speaks TLS, use https://"), "{said}");
}

#[test]
fn a_target_that_speaks_http2_is_loaded_through_what_speaks_http1() {
    let (target, http2) = (Target::start_web(), server(|_, stream| say(stream, b"\0\0\0\x04\0\0\0\0\0")));
    let url = format!("http://{http2}/");
    let right = format!("-n 4 -c 1 --connect-to 127.0.0.1:{}", target.port());
    followed((&url, "-n 4 -c 1"), "--connect-to a proxy that translates", (&url, &right));
}

#[test]
fn the_url_to_which_a_redirect_leads_is_loaded() {
    let target = Target::start_web();
    let moves = server(|path, stream| {
        // Its port is in the path.
        let port = path.trim_start_matches('/');
        say(
            stream,
            format!("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:{port}/new\r\nContent-Length: 0\r\n\r\n"),
        );
    });
    let (old, new) = (format!("http://{moves}/{}", target.port()), target.http("/new"));
    let remedy = format!("a redirect to {new}, on another scheme, host or port (301)");
    followed((&old, "-n 4 -c 1 -L"), &remedy, (&new, "-n 4 -c 1 -L"));
}

#[test]
fn limits_of_heads_are_raised_by_the_flags_that_are_named() {
    let large = server(|path, stream| match path {
        "/fields" => say(stream, format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", "A: b\r\n".repeat(1500))),
        _ => {
            let value = "v".repeat(300 << 10);
            say(stream, format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {value}\r\n\r\n"));
        }
    });
    for (path, flag, value) in [("head", "--max-header", "1MiB"), ("fields", "--max-fields", "2000")] {
        let url = format!("http://{large}/{path}");
        followed((&url, "-n 4 -c 1"), &format!("({flag} allows more)"), (&url, &format!("-n 4 -c 1 {flag} {value}")));
    }
}

#[test]
fn fewer_connections_need_fewer_files() {
    let target = Target::start_web();
    let url = target.http("/");
    let limited = |connections: u32, flags: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -n 120; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_brunt"), "load", &url]);
        shell.args("-n 1000 --warmup 0s --no-meter --quiet --json - --allow-untrusted".split(' '));
        shell.args(["-c", &connections.to_string()]).args(flags.split_whitespace()).output().unwrap()
    };
    // What one process cannot hold is shared by several, but for a calibration, which is that of one.
    let refused = limited(400, "--calibrate");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("lower -c"), "{said}");
    for (connections, flags) in [(40, "--calibrate"), (400, "")] {
        let after = json(&limited(connections, flags));
        assert_eq!(
            (number(&after, "requests.completed"), number(&after, "requests.failed")),
            (1000.0, 0.0),
            "{after:#}"
        );
    }
}
