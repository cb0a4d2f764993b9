//! `--proxy`: loads through a proxy.

use crate::shared::proxy::{AUTHORIZATION, Answer, Proxy};
use crate::shared::server::Server;
use crate::shared::target::{PATIENCE, Run, Target, json, load, number};
use brunt_testkit::{Signal, assert_code, text, until};
use std::fs;
use std::process::Command;
use std::time::Instant;

const USUAL: &str = "--warmup 0s --json - --quiet --allow-untrusted";

#[test]
fn requests_go_through_a_tunnel_as_they_are_to_a_host_that_only_the_proxy_knows() {
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::Tunnel, target.port());
    let flags = format!("-n 200 -c 4 --expect-body /a {USUAL} --proxy {}", proxy.url());
    let output = load("http://app.invalid/a?x", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (200.0, 0.0));
    assert_eq!(result["server"]["pid"], serde_json::Value::Null);
    let heads = proxy.heads();
    assert_eq!(heads, ["CONNECT app.invalid:80 HTTP/1.1\r\nHost: app.invalid:80\r\n\r\n"; 4]);
    let flags = format!("-n 20 -c 2 --no-keepalive {USUAL} --proxy {}", proxy.url());
    let output = load("http://app.invalid:81/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(proxy.heads().len() >= 24 && proxy.heads()[4].contains("app.invalid:81"), "{:?}", proxy.heads());
}

#[test]
fn tls_is_with_the_target_and_its_handshakes_are_counted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args("serve http --listen 127.0.0.1:0 --service hello --tls".split(' '));
    let target = Server::start(command);
    let proxy = Proxy::start(Answer::Tunnel, target.address().port());
    let flags = format!("-k -n 200 -c 3 --no-resumption {USUAL} --proxy {}", proxy.url());
    let output = load("https://localhost/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (200.0, 0.0), "{result:#}");
    // All requests may be done by the connections that are ready first.
    assert!((1.0..=3.0).contains(&number(&result, "handshakes.full")), "{result:#}");
    assert!(proxy.heads().iter().all(|head| head == "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n"));
}

#[test]
fn credentials_are_sent_to_the_proxy_and_are_in_no_result() {
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::TunnelKnown, target.port());
    let home = brunt_testkit::home();
    let (file, out) = (home.path().join("proxy"), home.path().join("out"));
    fs::write(&file, "me:secret\n").unwrap();
    let flags =
        format!("-n 20 -c 2 {USUAL} --proxy {} --proxy-auth {} --out {}", proxy.url(), file.display(), out.display());
    let output = load("http://app.invalid/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(proxy.heads().iter().all(|head| head.contains(AUTHORIZATION)), "{:?}", proxy.heads());
    for entry in fs::read_dir(&out).unwrap() {
        let text = String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap()).into_owned();
        assert!(!text.contains("secret") && !text.contains("bWU6c2VjcmV0"), "{text}");
    }
    let env = fs::read_to_string(out.join("env.json")).unwrap();
    assert!(env.contains("the target is behind --proxy: name its process with --server-pid"), "{env}");
    let flags = format!("--once --proxy {} --proxy-auth {}", proxy.url(), file.display());
    let output = load("http://app.invalid/hello", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let page = text(&output);
    assert!(page.contains("  tunnel ") && page.contains("  app.invalid:80\n") && page.contains("GET /hello"), "{page}");
    assert!(!page.contains("bWU6") && page.contains(&proxy.address.to_string()), "{page}");
}

#[test]
fn a_proxy_that_refuses_ends_the_load_with_a_line_that_says_why() {
    let start = |answer| Proxy::start(answer, 1).url();
    for (url, timeout, why) in [
        (start(Answer::TunnelKnown), "2m", "the proxy answered 407 Proxy Authentication Required"),
        (start(Answer::Close), "2m", "the proxy closed the connection without an answer"),
        (start(Answer::Nothing), "300ms", "did not answer one attempt to connect within 300ms"),
        ("http://127.0.0.1:1".to_owned(), "2m", "efused"),
    ] {
        let begun = Instant::now();
        let flags = format!("-T {timeout} -c 2 -d 600s --quiet --proxy {url}");
        let output = load("http://app.invalid/", &flags).output().unwrap();
        assert_code(&output, &[1]);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.contains(why) && line.contains(&url["http://".len()..]), "{line}");
        assert!(line.lines().count() == 1 && begun.elapsed() < PATIENCE, "{line}");
        let output = load("http://app.invalid/", &format!("--once -T {timeout} --proxy {url}")).output().unwrap();
        assert_code(&output, &[1]);
    }
}

#[test]
fn refusals_within_the_load_are_connect_errors_with_the_status() {
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::TunnelFirst(5), target.port());
    let flags = format!("-c 1 -d 600s --no-keepalive {USUAL} --accept-any-result --proxy {}", proxy.url());
    let run = Run::start(load("http://app.invalid/", &flags));
    // The sixth is the first that is refused, and the seventh is asked for once its error is counted.
    until("a second refusal", || proxy.heads().len() >= 7);
    run.signal(Signal::INT);
    let output = run.end();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!(number(&result, "requests.completed"), 5.0);
    assert!(number(&result, "errors.connect") >= 1.0, "{result:#}");
    assert_eq!(result["first_connect_error"]["error"], "the proxy answered 503 Busy");
}

#[test]
fn flags_that_do_not_fit_are_refused_in_a_line() {
    for (url, flags, needle) in [
        ("http://a/", "--proxy 127.0.0.1:3128", "http://HOST:PORT"),
        ("http://a/", "--proxy http://me:secret@h:1", "--proxy-auth"),
        ("http://a/", "--proxy http://h:1 --connect-to h:2", "--connect-to"),
        ("http://a/", "--proxy-auth /x", "--proxy"),
        ("tcp://a:1", "--proxy http://h:1", "--proxy means nothing with tcp://"),
        ("http://a/", "--proxy http://127.0.0.1:1 --proxy-auth /no/such/file", "--proxy-auth /no/such/file"),
    ] {
        let output = load(url, flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(needle), "{flags}: {}", text(&output));
    }
}
