//! `--once`, `--percentiles` and figures by name, as typed.

use crate::shared::target::{Target, json, load, number};
use crate::usage::nodelay;
use brunt_testkit::{Running, assert_code, listener, read_head, text};
use std::io::{BufReader, Write as _};
use std::process::{Output, Stdio};

fn once(url: &str, flags: &str) -> Output {
    load(url, &format!("--once {flags}")).output().unwrap()
}

/// The same in the background, for a server in the test.
fn start(url: &str, flags: &str) -> Running {
    Running::start(load(url, &format!("--once -T 1h {flags}")).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn page(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn one_request_is_shown_with_its_reply_and_the_time_of_each_step() {
    let target = Target::start_web();
    let output = once(&target.http("/hello"), "--body hi -X PUT -H X-Say:much -H Authorization:Basic-c2VjcmV0");
    assert_code(&output, &[0]);
    let page = page(&output);
    for line in [
        "> PUT /hello HTTP/1.1",
        "> Authorization: [hidden]",
        "> Content-Length: 2",
        "< HTTP/1.1 200 Said",
        "PUT /hello muchhi",
        "status 200, 17 B of body",
    ] {
        assert!(page.contains(line), "{line}: {}", text(&output));
    }
    assert!(!text(&output).contains("c2VjcmV0"), "{}", text(&output));
    let steps: Vec<&str> = page.lines().rev().take(5).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(steps, ["done", "first", "sent", "connected", "lookup"], "{page}");
}

#[test]
fn the_flags_of_a_load_apply_to_one_request() {
    let target = Target::start_web();
    let pipelined = page(&once(&target.http("/a"), "--pipeline 3"));
    assert_eq!(pipelined.matches("< HTTP/1.1 200 Said").count(), 3, "{pipelined}");
    let closed = page(&once(&target.http("/a"), "--no-keepalive"));
    assert!(closed.contains("> Connection: close") && closed.contains("the target closes the connection"), "{closed}");
    let varied = page(&once(&target.http("/item/{vary}"), "--vary 4"));
    assert!(!varied.contains("{vary}") && varied.contains("vary="), "{varied}");
    let head = page(&once(&target.http("/a"), "-X HEAD"));
    assert!(head.contains("< HTTP/1.1 200 Said") && head.contains("status 200, 0 B of body"), "{head}");
    let echo = Target::start();
    let page = page(&once(&echo.url(), "--size 1KiB"));
    assert!(page.contains("first byte") && page.contains("1.00 KiB of body") && !page.contains('>'), "{page}");
}

/// A server in the test looks at the connection before it answers, once directly and once as the proxy to itself.
#[test]
fn the_connection_of_one_request_is_that_of_a_load() {
    for (more, is_proxied, is_on) in
        [("", false, true), ("--nodelay off", false, false), ("--nodelay off", true, false)]
    {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let url = if is_proxied { "http://app.invalid/".to_owned() } else { format!("http://{address}/") };
        let proxy = if is_proxied { format!("--proxy http://{address}") } else { String::new() };
        let running = start(&url, &format!("{more} {proxy}"));
        let mut stream = listener.accept().unwrap().0;
        let mut input = BufReader::new(stream.try_clone().unwrap());
        let mut head = read_head(&mut input).unwrap();
        if is_proxied {
            assert!(head.starts_with("CONNECT app.invalid:80 "), "{head}");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            head = read_head(&mut input).unwrap();
        }
        assert!(head.starts_with("GET / "), "{head}");
        assert_eq!(nodelay(running.pid(), address.port()), [is_on], "{more} {proxy}");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").unwrap();
        let output = running.output();
        assert_code(&output, &[0]);
        assert_eq!(page(&output).contains("  tunnel "), is_proxied, "{}", text(&output));
    }
}

#[test]
fn a_body_in_gzip_is_decoded_and_where_a_redirect_leads_is_named() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"hello, world\n").unwrap();
    let gzip = gzip.finish().unwrap();
    let length = gzip.len();
    let encoded = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    let moved = b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n".to_vec();
    for (reply, shown) in [
        ([encoded, gzip].concat(), "<\n(the body is gzip, decoded to 13 B)\nhello, world\n\n"),
        (moved, "(302 is a redirect to /login: -L follows it on the same host and port, else load where it leads)\n"),
    ] {
        let listener = listener();
        let running = start(&format!("{}/a b#c", listener.local_addr().unwrap()), "");
        let mut stream = listener.accept().unwrap().0;
        read_head(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        stream.write_all(&reply).unwrap();
        let output = running.output();
        assert_code(&output, &[0]);
        let page = page(&output);
        assert!(page.contains("/a b#c is sent as http://127.0.0.1:") && page.contains(shown), "{page}");
    }
}

/// Each is shown as far as it came.
#[test]
fn replies_in_pieces_are_shown_and_excess_bytes_are_an_error() {
    let chunked = "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   2\r\nhi\r\n0\r\nT: u\r\n\r\n";
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi";
    let excess = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there";
    let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi";
    let shown_chunked = "< HTTP/1.1 103 Early\n< A: b\n<\n< HTTP/1.1 200 OK\n< Transfer-Encoding: chunked\n<\nhi\n\n";
    for (reply, shown, error) in [
        (chunked, shown_chunked, ""),
        (closing, "<\nhi\n\n", ""),
        (excess, "< Content-Length: 2\n", "bytes without a request that they respond to (RFC 9112 9.2), in ' there'"),
        (switching, "< Upgrade: x\n<\n", "status 101, for which no request asked (RFC 9110 15.2.2)"),
        (short, "<\nhi\n\n", "the target closed the connection before its reply was complete"),
    ] {
        // Excess bytes in pieces may come after the end of the reply, when nothing is read any more.
        for piece in [reply.len(), if reply == excess { reply.len() } else { 1 }] {
            let listener = listener();
            let address = listener.local_addr().unwrap();
            let running = start(&format!("http://{address}/"), "");
            let mut stream = listener.accept().unwrap().0;
            stream.set_nodelay(true).unwrap();
            read_head(&mut BufReader::new(&mut stream)).unwrap();
            for piece in reply.as_bytes().chunks(piece) {
                // It may end before the last pieces.
                let _ = stream.write_all(piece);
            }
            drop(stream);
            let output = running.output();
            assert_code(&output, &[if error.is_empty() { 0 } else { 1 }]);
            assert!(page(&output).contains(shown) && text(&output).contains(error), "{shown}: {}", text(&output));
        }
    }
}

#[test]
fn a_reply_that_a_load_would_count_as_an_error_is_one() {
    let target = Target::start_web();
    for (url, flags, why) in [
        (target.http("/status/503"), "", "status 503 with 15 B of body: 200-399 is expected (--expect-status)"),
        (target.http("/"), "--expect-length 1B", "a body of 5 B: one of 1 B is expected (--expect-length)"),
        (target.http("/"), "--expect-body other", "a body of 5 B without 'other' in it, which --expect-body wants"),
    ] {
        let output = once(&url, flags);
        assert_code(&output, &[1]);
        assert!(text(&output).contains(why) && page(&output).contains("< HTTP/1.1"), "{}", text(&output));
    }
    let output = once(&target.http("/status/503"), "--expect-status 503");
    assert_code(&output, &[0]);
}

#[test]
fn a_target_that_does_not_answer_ends_it_in_time() {
    let silent = listener();
    let address = silent.local_addr().unwrap();
    let output = once(&format!("http://{address}/"), "-T 200ms");
    assert_code(&output, &[1]);
    assert!(text(&output).contains("no complete reply within 200ms") && page(&output).contains("connected"));
    drop(silent);
    let output = once(&format!("http://{address}/"), "");
    assert_code(&output, &[1]);
    let refused =
        format!("error: nothing listens on {address} (connection refused): start the target first or check the port\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), refused);
    // It speaks no HTTP, and it closes.
    let echo = Target::start();
    let output = once(&echo.url().replace("tcp", "http"), "");
    assert_code(&output, &[1]);
    assert!(
        text(&output).contains("the status line is malformed (RFC 9112 4), in 'GET / HTTP/1.1"),
        "{}",
        text(&output)
    );
}

#[test]
fn chosen_percentiles_are_printed_stored_and_bounded() {
    let target = Target::start();
    let flags = "-n 2000 -c 2 --warmup 0s --no-meter --allow-untrusted --percentiles 97.5,p50";
    let output = load(&target.url(), flags).output().unwrap();
    assert_code(&output, &[0]);
    let page = page(&output);
    assert!(page.contains("mean      p50    p97.5      max"), "{page}");
    let output = load(&target.url(), &format!("{flags} --quiet --json - --fail-if p99.95>1ns")).output().unwrap();
    assert_code(&output, &[99]);
    let result = json(&output);
    let of = |name: &str| result["latency"]["response"]["percentiles_us"][name].as_f64();
    let (lower, upper) = (of("p97.5").unwrap(), of("p99.95").unwrap());
    assert!(of("p50").is_none() && number(&result, "latency.response.p95_us") <= lower && lower <= upper, "{result:#}");
    let output = load(&target.url(), "--percentiles 100").output().unwrap();
    assert_code(&output, &[2]);
    assert!(text(&output).contains("'100'") && text(&output).contains("p99.99"), "{}", text(&output));
}

#[test]
fn each_url_has_figures_of_its_own_that_add_up_to_those_of_the_load() {
    let target = Target::start_web();
    let urls = [target.http("/b"), target.http("/status/404")];
    let flags = "--weight 3,1,1 -n 500 -c 4 --warmup 0s --no-meter --accept-any-result";
    let mut command = load(&target.http("/a"), flags);
    let output = command.args(&urls).args(["--json", "-", "--quiet"]).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    let names = result["names"].as_array().unwrap();
    let each = |key: &str| -> Vec<u64> { names.iter().map(|part| part[key].as_u64().unwrap()).collect() };
    let called: Vec<&str> = names.iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(called, ["/a", "/b", "/status/404"]);
    assert_eq!(each("completed").iter().sum::<u64>() as f64, number(&result, "requests.completed"));
    assert_eq!(each("failed").iter().sum::<u64>() as f64, number(&result, "requests.failed"));
    assert!(each("completed")[0].abs_diff(300) < 10 && each("completed")[2] == 0, "{names:#?}");
    assert_eq!(names[2]["errors"]["status"], each("failed")[2]);
    let counts: u64 = names.iter().map(|part| part["response"]["count"].as_u64().unwrap()).sum();
    assert_eq!(counts as f64, number(&result, "latency.response.count"));
}

#[test]
fn a_bound_on_a_name_is_on_its_figures_and_pipelines_keep_names_apart() {
    let target = Target::start_web();
    let run = |more: &str| {
        let flags = format!("-n 400 -c 2 --warmup 0s --no-meter --names good,bad --allow-untrusted {more}");
        load(&target.http("/a"), &flags).arg(target.http("/status/500")).output().unwrap()
    };
    for shape in ["", "--pipeline 8", "--pipeline 4 -R 2000", "--no-keepalive"] {
        let good = run(&format!("{shape} --fail-if good:errors>0.1% --fail-if errors>99%"));
        assert_code(&good, &[0]);
        assert!(page(&good).contains("by name"), "{}", text(&good));
        assert_code(&run(&format!("{shape} --fail-if bad:errors>99% --fail-if errors>99%")), &[99]);
    }
    let unknown = run("--fail-if ugly:p99>1ms");
    assert_code(&unknown, &[2]);
    assert!(text(&unknown).contains("its names are good, bad"), "{}", text(&unknown));
}

#[test]
fn placeholders_differ_from_request_to_request() {
    let target = Target::start_web();
    let home = brunt_testkit::home();
    let lines = home.path().join("ids");
    std::fs::write(&lines, "one\ntwo words\n").unwrap();
    let line = format!("{{line:{}}}", lines.display());
    let shown =
        once(&target.http(&format!("/item/{{seq}}/{line}")), "-X PUT -H X-Say:{uuid} --body {rand:5..5}{seq}{x}");
    assert_code(&shown, &[0]);
    let page = page(&shown);
    assert!(page.contains("> PUT /item/1/one HTTP/1.1") && page.contains("> Content-Length: 5"), "{page}");
    assert!(page.contains("51{x}") && !page.contains("{uuid}"), "{page}");
    // The server answers with method, path and body; every reply must hold this request's own.
    for shape in ["", "--pipeline 4", "-R 2000", "-R 2000 --pipeline 4", "--no-keepalive"] {
        let flags = format!("-n 200 -c 2 -t 2 --warmup 0s --no-meter --quiet --allow-untrusted --json - {shape}");
        let output = load(&target.http("/a{seq}"), &flags).args(["--expect-body", "GET /a"]).output().unwrap();
        assert_code(&output, &[0]);
        assert_eq!(number(&json(&output), "requests.completed"), 200.0, "{shape}");
    }
    for (flags, says) in [
        ("--body {rand:6..1}", "'{rand:6..1}'"),
        ("--vary 3", "leave --vary out"),
        ("--body {line:/none}", "cannot be read"),
    ] {
        let output = load(&target.http("/{seq}"), flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(says), "{}", text(&output));
    }
}

#[test]
fn credentials_from_files_are_sent_and_appear_nowhere() {
    let target = Target::start_web();
    let home = brunt_testkit::home();
    let (basic, bearer, out) = (home.path().join("basic"), home.path().join("bearer"), home.path().join("out"));
    std::fs::write(&basic, "user:open-sesame\n").unwrap();
    std::fs::write(&bearer, "tok3n-of-mine").unwrap();
    let flags = "-n 20 -c 1 --warmup 0s --no-meter --allow-untrusted --fail-if p99>1ns";
    for (flag, file) in [("--basic-auth", &basic), ("--bearer", &bearer)] {
        let shown = load(&target.http("/"), "--once").arg(flag).arg(file).output().unwrap();
        assert!(page(&shown).contains("> Authorization: [hidden]"), "{}", text(&shown));
        let mut command = load(&target.http("/"), flags);
        command.arg(flag).arg(file).args(["-H", "Cookie: c00kie-of-mine"]).arg("--out").arg(&out);
        command.arg("--junit").arg(home.path().join("junit.xml"));
        let output = command.output().unwrap();
        assert_code(&output, &[99]);
        let files = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let mut texts: Vec<String> =
            files.map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into()).collect();
        texts.extend([text(&output), text(&shown), std::fs::read_to_string(home.path().join("junit.xml")).unwrap()]);
        // dXNlcjpvcGVuLXNlc2FtZQ== is the pair in base64.
        for secret in ["open-sesame", "dXNlcjpvcGVuLXNlc2FtZQ", "tok3n-of-mine", "c00kie-of-mine"] {
            assert!(texts.iter().all(|text| !text.contains(secret)), "{secret} in {texts:#?}");
        }
    }
    let output = load(&target.http("/"), flags).arg("--basic-auth").arg(&bearer).output().unwrap();
    assert_code(&output, &[2]);
    assert!(text(&output).contains("NAME:PASSWORD") && !text(&output).contains("tok3n"), "{}", text(&output));
}

#[test]
fn a_load_connects_elsewhere_and_to_a_unix_socket() {
    let target = Target::start_web();
    let address = format!("127.0.0.1:{}", target.port());
    let flags = format!("-n 50 -c 2 --warmup 0s --no-meter --quiet --allow-untrusted --json - --connect-to {address}");
    let output = load("http://elsewhere.invalid/a", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let shown = page(&once("http://elsewhere.invalid/a", &format!("--connect-to {address}")));
    assert!(shown.contains("> Host: elsewhere.invalid\n"), "{shown}");

    let home = brunt_testkit::home();
    let socket = home.path().join("web.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    let to = format!("--connect-to unix:{}", socket.display());
    let flags = format!("-n 50 -c 2 --warmup 0s --no-meter --quiet --allow-untrusted --json - --expect-body hi {to}");
    let output = load("http://app/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert_eq!(number(&json(&output), "requests.completed"), 50.0);
    for wrong in ["127.0.0.1", "host:port", "unix:", ":80"] {
        let output = load("http://a/", &format!("--connect-to {wrong}")).output().unwrap();
        assert_code(&output, &[2]);
    }
}

/// The first server sends its client around; the last page is that of the place to which all redirects lead.
#[test]
fn redirects_are_followed_and_shown_one_by_one() {
    for (flags, last, code, says) in [
        ("-L", "/b", 0, "status 200, 2 B of body"),
        ("-L --max-redirs 1", "/a", 1, "another redirect behind 1 in a row (--max-redirs allows more) is not followed"),
        ("-L", "http://other/", 1, "a redirect to http://other/, on another scheme, host or port is not followed"),
    ] {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let head = read_head(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
                let location = match head.split(' ').nth(1).unwrap() {
                    "/" => "/a",
                    "/a" => last,
                    _ => "",
                };
                let mut stream = stream;
                let reply = match location {
                    "" => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
                    _ => format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"),
                };
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        let output = once(&format!("http://{address}/"), flags);
        assert_code(&output, &[code]);
        assert!(text(&output).contains(says), "{}", text(&output));
        let shown = page(&output);
        assert!(shown.contains("> GET / HTTP/1.1\n") && shown.contains("> GET /a HTTP/1.1\n"), "{shown}");
        assert_eq!(shown.contains("> GET /b HTTP/1.1\n"), code == 0, "{shown}");
        assert_eq!(shown.matches("lookup").count(), 1, "{shown}");
        drop(server);
    }
}
