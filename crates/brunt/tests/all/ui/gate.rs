//! Access: token, Host, Origin; and hostile requests, after which the page still answers.

use super::scene::Ui;
use brunt_testkit::home;
use std::io::Write as _;
use std::net::TcpStream;

#[test]
fn the_token_opens_and_nothing_else_does() {
    let home = home();
    let ui = Ui::start(&home, &["."]);
    let host = vec![format!("Host: {}", ui.host())];
    let first = ui.ask("GET", &format!("/?token={}", ui.token), &host, "");
    assert_eq!(first.status, 200, "{first:?}");
    let cookie = first.field("Set-Cookie").unwrap();
    assert!(cookie.contains(&ui.token) && cookie.ends_with("; HttpOnly; SameSite=Strict"), "{cookie}");
    let policy = first.field("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(first.field("X-Content-Type-Options"), Some("nosniff"));
    assert_eq!(first.field("Referrer-Policy"), Some("no-referrer"));
    let with_cookie = ui.get("/ui.js");
    assert!(with_cookie.status == 200 && with_cookie.field("Set-Cookie").is_none(), "{with_cookie:?}");
    let mut wrong = ui.token.clone();
    wrong.replace_range(31.., if wrong.ends_with('0') { "1" } else { "0" });
    let cookie = |token: &str| format!("Cookie: brunt-ui-{}={token}", ui.port);
    for (target, field) in [
        ("/".to_owned(), "A: b".to_owned()),
        ("/?token=".to_owned(), "A: b".to_owned()),
        (format!("/?token={wrong}"), "A: b".to_owned()),
        ("/ui.js".to_owned(), cookie(&wrong)),
        ("/events".to_owned(), cookie(&ui.token[..31])),
        ("/".to_owned(), cookie(&format!("{}0", ui.token))),
        ("/".to_owned(), format!("Cookie: brunt-ui-1={}", ui.token)),
    ] {
        let refused = ui.ask("GET", &target, &[host.clone(), vec![field]].concat(), "");
        assert!(refused.status == 403 && refused.field("Set-Cookie").is_none(), "{target}: {refused:?}");
    }
}

#[test]
fn other_hosts_and_other_sites_are_refused() {
    let home = home();
    let ui = Ui::start(&home, &[".", "--allow-start"]);
    let [own, cookie] = ui.known().try_into().unwrap();
    for host in ["example.org", "127.0.0.1", "127.0.0.1:1", "example.org:7170", ""] {
        let refused = ui.ask("GET", "/", &[format!("Host: {host}"), cookie.clone()], "");
        assert!(matches!(refused.status, 400 | 421), "{host}: {refused:?}");
    }
    assert_eq!(ui.ask("GET", "/", &[format!("Host: localhost:{}", ui.port), cookie.clone()], "").status, 200);
    let foreign = ["Origin: http://example.org", "Origin: null", "Origin: https://127.0.0.1", "A: b"];
    for field in foreign {
        let fields = [own.clone(), cookie.clone(), field.to_owned()];
        for target in ["/start", "/stop", "/command"] {
            assert_eq!(ui.ask("POST", target, &fields, "url=http://h/").status, 403, "{target} {field}");
        }
    }
    // A form without scripts, whose page sends no referrer.
    let fields = [own, cookie, "Origin: null".to_owned(), "Sec-Fetch-Site: same-origin".to_owned()];
    assert_eq!(ui.ask("POST", "/command", &fields, "url=tcp://127.0.0.1:9").status, 200);
}

#[test]
fn hostile_requests_do_not_bring_it_down() {
    let home = home();
    let ui = Ui::start(&home, &["."]);
    let head = ui.known().join("\r\n");
    let long = "x".repeat(20_000);
    for request in [
        "\0\u{1}\u{2}\r\n\r\n".to_owned(),
        format!("GET /{long} HTTP/1.1\r\n{head}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{head}\r\nA: {long}\r\n\r\n"),
        format!("POST /command HTTP/1.1\r\n{head}\r\nOrigin: http://{}\r\nContent-Length: 99999999\r\n\r\n", ui.host()),
        format!("POST /command HTTP/1.1\r\n{head}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        format!("CONNECT / HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n"),
        format!("DELETE / HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n"),
        format!("GET /live?dir=%00%ff%2e%2e&dir=& HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n"),
        format!("GET http://example.org/ HTTP/1.1\r\n{head}\r\nHost: {}\r\n\r\n", ui.host()),
    ] {
        let reply = ui.raw(request.as_bytes());
        assert!(reply.starts_with("HTTP/1.1 4"), "{}: {reply}", &request[..40.min(request.len())]);
    }
    // Clients that say nothing, or go in the middle.
    let _silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(ui.host()).unwrap()).collect();
    for _ in 0..50 {
        let mut gone = TcpStream::connect(ui.host()).unwrap();
        let _ = gone.write_all(format!("GET /events?dir={} HTTP/1.1\r\n{head}\r\n\r\n", home.display()).as_bytes());
    }
    assert_eq!(ui.get("/history").status, 200);
}
