//! Requests from a file, as typed: a server sees exactly them, in order.

use crate::shared::recorder::{Recorder, Request};
use crate::shared::target::{json, load, number};
use brunt_testkit::{assert_code, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `brunt load --requests FILE FLAGS` with a file of this text, where HOST is the server's address.
fn run(server: &Recorder, text: &str, flags: &str) -> Output {
    let home = brunt_testkit::home();
    std::fs::write(home.path().join("body"), "from a\nfile").unwrap();
    std::fs::write(home.path().join("calls"), text.replace("HOST", &server.authority())).unwrap();
    brunt_in(home.path(), flags)
}

const ONE: &str = "-c 1 --warmup 0s --no-meter --allow-untrusted --json - --quiet";

/// The first requests that the server saw, as text.
fn heads(seen: &[Request], count: usize) -> Vec<String> {
    seen.iter().take(count).map(|request| format!("{}\n\n{}", request.head.replace('\r', ""), request.body)).collect()
}

#[test]
fn curl_lines_are_sent_in_order_round_and_round() {
    let server = Recorder::start();
    let text = "# what the page loads\ncurl 'http://HOST/a?b=c' -H 'X-A: it'\\''s'\ncurl http://HOST/b \\\n  -d x=1 --data-binary @body\n\
                curl -I http://HOST/c\ncurl -X DELETE http://HOST/d -u me:pw\n";
    let output = run(&server, text, &format!("{ONE} -n 10"));
    assert_code(&output, &[0]);
    let host = server.authority();
    let expected = [
        format!("GET /a?b=c HTTP/1.1\nHost: {host}\nX-A: it's\n\n"),
        format!(
            "POST /b HTTP/1.1\nHost: {host}\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 15\n\nx=1&from a\nfile"
        ),
        format!("HEAD /c HTTP/1.1\nHost: {host}\n\n"),
        format!("DELETE /d HTTP/1.1\nHost: {host}\nAuthorization: Basic bWU6cHc=\n\n"),
    ];
    let all: Vec<String> = expected.iter().cycle().take(10).cloned().collect();
    assert_eq!(heads(&server.take(), 10), all);
    let result = json(&output);
    let names: BTreeSet<&str> =
        result["names"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["GET /a", "POST /b", "HEAD /c", "DELETE /d"]));
    assert_eq!(result["load"]["url"], server.url());
    let bound = run(&server, text, &format!("{ONE} -n 10 --fail-if")).status.code();
    assert_eq!(bound, Some(2));
}

#[test]
fn an_archive_and_targets_of_vegeta_are_the_same_requests() {
    let server = Recorder::start();
    let har = r#"{"log": {"version": "1.2", "entries": [
        {"request": {"method": "GET", "url": "http://HOST/a", "httpVersion": "h2", "headers": [
            {"name": ":method", "value": "GET"}, {"name": "X-A", "value": "1"}, {"name": "Connection", "value": "keep-alive"}]}},
        {"request": {"method": "POST", "url": "http://HOST/b", "headers": [{"name": "Content-Length", "value": "7"}],
            "postData": {"mimeType": "text/plain", "text": "hi"}}}]}}"#;
    let vegeta = "{\"method\":\"GET\",\"url\":\"http://HOST/a\",\"header\":{\"X-A\":[\"1\"]}}\n\
                  {\"method\":\"POST\",\"url\":\"http://HOST/b\",\"body\":\"aGk=\",\"header\":{\"Content-Type\":[\"text/plain\"]}}\n";
    let list = "GET http://HOST/a\nX-A: 1\n\nPOST http://HOST/b\nContent-Type: text/plain\n@hi\n";
    let host = server.authority();
    let expected = [
        format!("GET /a HTTP/1.1\nHost: {host}\nX-A: 1\n\n"),
        format!("POST /b HTTP/1.1\nHost: {host}\nContent-Type: text/plain\nContent-Length: 2\n\nhi"),
    ];
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), "hi").unwrap();
    for text in [har, vegeta, &list.replace("@hi", &format!("@{}", body.path().display()))] {
        assert_code(&run(&server, text, &format!("{ONE} -n 2")), &[0]);
        assert_eq!(heads(&server.take(), 2), expected, "{text}");
    }
}

#[test]
fn a_url_takes_the_place_of_the_hosts_and_headers_of_those_in_the_file() {
    let server = Recorder::start();
    let calls = "curl https://a.example/x -H 'Authorization: Bearer old' -H 'Host: c'\ncurl http://b.example:81/y?z";
    let mut command_line = format!("{} {ONE} -n 2 --pipeline 2", server.url());
    command_line += " -H Authorization:new";
    assert_code(&run(&server, calls, &command_line), &[0]);
    let host = server.authority();
    let expected = ["/x", "/y?z"].map(|path| format!("GET {path} HTTP/1.1\nHost: {host}\nAuthorization: new\n\n"));
    assert_eq!(heads(&server.take(), 2), expected);
    // Paths alone need a URL.
    assert_code(&run(&server, "GET /x", &format!("{} {ONE} -n 2", server.url())), &[0]);
    assert_eq!(heads(&server.take(), 1), [format!("GET /x HTTP/1.1\nHost: {host}\n\n")]);
    let output = run(&server, "GET /x", ONE);
    assert_code(&output, &[2]);
    assert!(text(&output).contains("calls:1: '/x' names no host"), "{}", text(&output));
}

#[test]
fn requests_of_several_hosts_threads_and_rates_keep_their_bytes() {
    let (first, second) = (Recorder::start(), Recorder::start());
    let text = format!("curl http://HOST/a\ncurl http://{}/b -d x\ncurl -I http://HOST/c", second.authority());
    for flags in ["-c 4 -t 2", "-c 4 -R 500 --pipeline 4", "-c 4 --reuse 2", "-c 4 --pipeline 3"] {
        let flags = format!("{flags} -n 60 --warmup 0s --no-meter --allow-untrusted --json - --quiet");
        let output = run(&first, &text, &flags);
        assert_code(&output, &[0]);
        assert_eq!(number(&json(&output), "requests.failed"), 0.0, "{flags}");
        let lines = |server: &Recorder| -> BTreeSet<String> {
            server
                .take()
                .iter()
                .map(|request| format!("{} {}", request.head.lines().next().unwrap(), request.body))
                .collect()
        };
        assert_eq!(
            lines(&first),
            BTreeSet::from(["GET /a HTTP/1.1 ", "HEAD /c HTTP/1.1 "].map(str::to_owned)),
            "{flags}"
        );
        assert_eq!(lines(&second), BTreeSet::from(["POST /b HTTP/1.1 x".to_owned()]), "{flags}");
    }
}

#[test]
fn errors_name_what_to_do_and_a_number_is_still_a_count() {
    let server = Recorder::start();
    for (calls, flags, says) in [
        ("curl http://HOST/ -T x", "", "calls:1: --upload-file is not supported"),
        ("curl http://HOST/ \\\n -H 'a b: c'", "", "calls:1: the field 'a b' cannot be sent"),
        ("curl http://HOST/a\ncurl 'http://HOST:x/'", "", "calls:2: 'http://"),
        ("curl http://HOST/", "-X PUT", "-X and --requests"),
        ("curl http://HOST/", "--body x", "--body and --requests"),
        ("curl http://HOST/", "--weight 1", "--weight and --requests"),
        ("curl -I http://HOST/", "--expect-length 1B", "calls:1: HEAD"),
        ("curl http://HOST/", "http://a/ http://b/", "one URL"),
        ("curl http://HOST/", "http://a/path", "'/path'"),
        ("curl http://HOST/", "tcp://a:1", "--requests means nothing with tcp://"),
        ("curl http://HOST/", "--requests other", "--requests"),
    ] {
        let output = run(&server, calls, flags);
        assert_code(&output, &[2]);
        assert!(text(&output).contains(says), "{calls} {flags}: {}", text(&output));
    }
    let output = load(&server.url(), "--requests 5 -c 1 --warmup 0s --no-meter --allow-untrusted --json - --quiet")
        .output()
        .unwrap();
    assert_code(&output, &[0]);
    assert_eq!(number(&json(&output), "requests.completed"), 5.0);
    let output = load(&server.url(), "--requests nowhere").output().unwrap();
    assert!(text(&output).contains("cannot read the requests from nowhere"), "{}", text(&output));
    let note = run(&server, "curl -k http://HOST/ --compressed", "-c 1 -n 5 --no-meter --allow-untrusted");
    let said = text(&note);
    assert!(
        said.contains("note: calls: 1 request, ") && said.contains("note: calls: -k of curl is left out"),
        "{said}"
    );
}

/// A request without the fields that each program adds of its own: curl sends `User-Agent` and `Accept`.
fn common(request: &Request) -> (String, BTreeSet<String>, String) {
    let (line, fields) = request.head.split_once("\r\n").unwrap();
    let fields = fields.lines().map(|field| {
        let (name, value) = field.split_once(':').unwrap();
        format!("{}: {}", name.to_ascii_lowercase(), value.trim())
    });
    let of_curl = |field: &String| field.starts_with("user-agent: curl/") || field == "accept: */*";
    (line.to_owned(), fields.filter(|field| !of_curl(field)).collect(), request.body.clone())
}

#[test]
fn curl_itself_sends_the_same_requests() {
    if !Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: curl is not here");
        return;
    }
    let server = Recorder::start();
    let lines = [
        "curl -s http://HOST/plain",
        "curl -s 'http://HOST/a?b=c' -G -d x=1 --data-urlencode 'y=a b&c'",
        "curl -s http://HOST/ -d a -d b=2 -d ''",
        "curl -s http://HOST/ --data-raw '@x' -H 'Content-Type: text/plain'",
        "curl -s http://HOST/ -d @body",
        "curl -s http://HOST/ --data-binary @body -X PUT",
        "curl -s http://HOST/ --data-urlencode =a/b --data-urlencode 'n@body' --data-urlencode 'x y'",
        "curl -s http://HOST/ -u 'me:p w' -A agent -e http://x/ -b 'a=1; b=2'",
        "curl -s http://HOST/ -H 'X-Empty;' -H 'X-None:' -H 'User-Agent: y' -H \"X-Q: \\\"q\\\" \\$\"",
        "curl -sXPATCH http://HOST/ -dx",
        "curl -s -g 'http://HOST/{a}[1]'",
        "curl -s http://HOST/x#top -r 0-9",
        "curl -s http://HOST/ -H 'Host: other' -H 'Accept: text/html'",
        "curl -s http://HOST",
        "curl -s http://HOST/1 http://HOST/2 -d x",
    ];
    for line in lines {
        let line = line.replace("HOST", &server.authority());
        let count = line.matches("http://127").count();
        let home = brunt_testkit::home();
        std::fs::write(home.path().join("body"), "from a\r\nfile\n").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(home.path()).env("no_proxy", "*").env("CURL_HOME", home.path());
        let shell = shell.stdin(Stdio::null()).output().unwrap();
        assert!(shell.status.success(), "{line}: {}", text(&shell));
        let of_curl: Vec<_> = server.take().iter().map(common).collect();
        std::fs::write(home.path().join("calls"), &line).unwrap();
        let output = brunt_in(home.path(), &format!("{ONE} -n {count}"));
        assert_code(&output, &[0]);
        let of_brunt: Vec<_> = server.take().iter().take(count).map(common).collect();
        assert_eq!(of_brunt, of_curl, "{line}");
    }
}

fn brunt_in(home: &Path, flags: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--requests", "calls"]).args(flags.split_whitespace());
    command.current_dir(home).stdin(Stdio::null()).output().unwrap()
}
