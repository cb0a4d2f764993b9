//! Scripts: their responses, errors and limits.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::Server;
use brunt_testkit::{Signal, until};

on_every_model! {
    the_scripts_of_the_tutorial_answer
    a_script_makes_every_kind_of_response
    an_error_is_a_500_logged_and_counted
    a_hanging_script_delays_others_briefly
    a_script_is_reloaded_unless_it_is_invalid
    a_route_has_a_script
}

/// A server with this script, and the directory with its file `test.luau`.
fn start_script(model: &str, text: &str, flags: &str) -> (Server, brunt_testkit::Home) {
    let directory = brunt_testkit::home();
    let file = directory.path().join("test.luau");
    std::fs::write(&file, text).unwrap();
    (start(model, &format!("--script {} {flags}", file.display())), directory)
}

fn the_scripts_of_the_tutorial_answer(model: &str) {
    for (name, text) in
        [("hello", "Hi, there!\n"), ("echo", "hi"), ("whoami", "You are requesting /a from 127.0.0.1\n")]
    {
        let file = format!("{}/../../docs/scripts/{name}.luau", env!("CARGO_MANIFEST_DIR"));
        let server = start(model, &format!("--script {file}"));
        let mut client = Client::connect(server.address());
        for _ in 0..3 {
            let answer = client.post("/a?b", b"hi");
            assert_eq!((answer.status, answer.text()), (200, text));
        }
    }
}

fn a_script_makes_every_kind_of_response(model: &str) {
    let (server, _directory) = start_script(
        model,
        r#"function on_request(req)
            if req.path == "/reset" then return {fault = "reset"} end
            if req.path == "/cut" then return {body = "12345678", fault = {truncate = 4}} end
            if req.path == "/slow" then return {body = "slow", delay = 0.02} end
            if req.path == "/chunks" then return {chunks = {"a", "b"}, drip = {every = 0.01}} end
            if req.path == "/drip" then return {body = "abcd", drip = {pieces = 4, every = 0.005}} end
            return 201, {["X-Name"] = req.headers["x-name"], ["Set-Cookie"] = {"a=1", "b=2"}}, json.encode(req.args)
        end"#,
        "",
    );
    let mut client = Client::connect(server.address());
    client.send("GET /?a=%C3%BC HTTP/1.1\r\nHost: a\r\nX-NAME: me\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.text(), answer.field("x-name")), (201, "{\"a\":\"ü\"}", Some("me")));
    assert!(answer.head.contains("Set-Cookie: a=1\r\n") && answer.head.contains("Set-Cookie: b=2\r\n"));
    for (path, text) in [("/slow", "slow"), ("/chunks", "ab"), ("/drip", "abcd")] {
        assert_eq!(client.get(path).text(), text, "{path}");
    }
    client.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    assert_eq!((head.field("content-length"), &client.rest()[..]), (Some("8"), &b"1234"[..]));
    let mut client = Client::connect(server.address());
    client.send("GET /reset HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.reset().0);
}

fn an_error_is_a_500_logged_and_counted(model: &str) {
    let text = "function on_request(req)\n  if req.path == '/' then error('no') end\n  return 'yes'\nend";
    let (mut server, directory) = start_script(model, text, "--metrics 127.0.0.1:0");
    let mut client = Client::connect(server.address());
    for _ in 0..100 {
        assert_eq!(client.get("/").status, 500);
        assert_eq!(client.get("/a").text(), "yes");
    }
    let said = server.line();
    assert!(said.contains("test.luau:2: no (answered with 500)"), "{said}");
    let file = directory.path().join("test.luau");
    Client::connect(server.addresses[1]).metrics(&[
        format!("brunt_http_script_errors_total{{script=\"{}\"}} 100", file.display()),
        "brunt_http_handler_seconds_count{route=\"script\"} 200".to_owned(),
    ]);
    server.signal(Signal::TERM);
    let (status, _, rest) = server.end();
    assert!(status.success(), "{rest}");
}

fn a_hanging_script_delays_others_briefly(model: &str) {
    let text = "function on_request(req) while req.path == '/hang' do end return 'here' end";
    let (server, _directory) = start_script(model, text, "--script-time 30ms");
    let (mut bad, mut good) = (Client::connect(server.address()), Client::connect(server.address()));
    for _ in 0..5 {
        // The answer comes although the other script never ends by itself: the server is not blocked for good.
        bad.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(good.get("/").text(), "here");
        assert_eq!(bad.answer().status, 500);
    }
}

fn a_script_is_reloaded_unless_it_is_invalid(model: &str) {
    let (mut server, directory) = start_script(model, "function on_request() return 'old' end", "--send-timeout 80ms");
    let file = directory.path().join("test.luau");
    let mut client = Client::connect(server.address());
    std::fs::write(&file, "function on_request( return 'bad' end").unwrap();
    server.signal(Signal::HUP);
    let said = server.line();
    assert!(said.contains("keeping the old script: ") && said.contains("test.luau:1: "), "{said}");
    assert_eq!(client.get("/").text(), "old");
    std::fs::write(&file, "function on_request() return 'new' end").unwrap();
    server.signal(Signal::HUP);
    assert!(server.line().contains("reloaded the script from"));
    until("the new script answers", || client.get("/").text() == "new");
}

fn a_route_has_a_script(model: &str) {
    let directory = brunt_testkit::home();
    std::fs::write(
        directory.path().join("count.luau"),
        "function on_request() state.n = (state.n or 0) + 1 return 200, nil, state.n end",
    )
    .unwrap();
    let routes = "[[route]]\npath = \"/\"\ntext = \"native\"\n[[route]]\npath = \"/count/*\"\nname = \"count\"\nscript = \"count.luau\"\n";
    let file = directory.path().join("routes.toml");
    std::fs::write(&file, routes).unwrap();
    let server = start(model, &format!("--routes {}", file.display()));
    let mut client = Client::connect(server.address());
    let texts: Vec<String> =
        ["/count/a", "/", "/count/b"].iter().map(|path| client.get(path).text().to_owned()).collect();
    assert_eq!(texts, ["1", "native", "2"]);
}

#[test]
fn script_errors_are_reported_at_start() {
    let directory = brunt_testkit::home();
    let file = directory.path().join("test.luau");
    let refused = |text: &str, flags: &str| {
        std::fs::write(&file, text).unwrap();
        let output = command(&format!("--listen 127.0.0.1:0 --script {} {flags}", file.display())).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let good = "function on_request() return 'x' end";
    for (text, flags, words) in [
        ("x = 1", "", "test.luau: there is no on_request"),
        ("\nx = = 1", "", "test.luau:2: "),
        (good, "--service hello", "cannot be used with"),
        (good, "--script-memory 1KiB", "memory"),
        (good, "--script-time now", "is not a time such as"),
    ] {
        let said = refused(text, flags);
        assert!(said.contains(words), "{text} {flags}: {said}");
    }
    let output = command("--seed 3").output().unwrap();
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("--script"));
    std::fs::write(directory.path().join("routes.toml"), "[[route]]\npath = \"/\"\nscript = \"test.luau\"\n").unwrap();
    std::fs::write(&file, "error('bad')").unwrap();
    let output = command(&format!("--routes {}/routes.toml", directory.path().display())).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("routes.toml:3:10: ") && said.contains("test.luau:1: bad"), "{said}");
}
