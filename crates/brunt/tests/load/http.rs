//! `brunt load http://` end to end: requests sent to a real web server process, output and files.

use crate::shared::target::{Run, Target, json, load, number};
use brunt_testkit::{Running, Signal, assert_code, free_port, text, until};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_web_server_is_loaded_metered_and_its_replies_are_counted() {
    let target = Target::start_web();
    let flags = "-n 500 -c 5 --warmup 0s --json - --quiet --allow-untrusted";
    let output = load(&target.http("/hello"), flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!(result["requests"]["completed"], 500);
    assert_eq!(
        result["errors"],
        json!({"connect": 0, "timeout": 0, "reset": 0, "closed": 0, "truncated": 0, "protocol": 0, "status": 0, "mismatch": 0})
    );
    let body_bytes = 500 * "GET /hello".len();
    assert_eq!(
        result["responses"],
        json!({
            "statuses": {"200": 500}, "body_bytes": body_bytes, "lenient": 0, "lenient_rules": {}, "refused_rules": {},
        })
    );
    assert_eq!(result["load"]["request_bytes"], Value::Null);
    assert_eq!(result["load"]["url"], target.http("/hello"));
    assert_eq!(result["connections"]["opened"], 5);
    assert_eq!(number(&result, "server.pid"), f64::from(target.pid()));
}

#[test]
fn flags_change_requests_and_checks() {
    let target = Target::start_web();
    let flags = "-n 100 -c 2 -t2 --warmup 0s --json - --quiet --allow-untrusted --no-meter";
    let run = |more: &str, text: &str| {
        let mut command = load(&target.http("/a"), &format!("{flags} {more}"));
        if !text.is_empty() {
            command.args(["--expect-body", text]);
        }
        json(&command.output().unwrap())
    };
    // The server echoes method and target.
    for (more, text) in [
        ("", "GET /a"),
        ("-X PUT", "PUT /a"),
        ("--body hi", "POST /a hi"),
        ("-X PATCH --body hi", "PATCH /a hi"),
        ("--pipeline 10", "GET /a"),
        ("--http1.0", "GET /a"),
        ("--no-keepalive", "GET /a"),
        ("--http1.0 --no-keepalive -X DELETE", "DELETE /a"),
        ("-H X-Say:hello", "GET /a hello"),
        ("-R 400", "GET /a"),
        ("-R 400 --pipeline 8", "GET /a"),
    ] {
        let result = run(more, text);
        assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (100.0, 0.0), "{more}");
    }
    let one_each = run("--no-keepalive", "");
    assert!(number(&one_each, "connections.opened") >= 100.0 && number(&one_each, "connections.peak") <= 2.0);
    let reused = run("--reuse 10", "");
    assert!((10.0..=12.0).contains(&number(&reused, "connections.opened")), "{reused:#}");
    for (more, kind) in
        [("--expect-status 404", "status"), ("--expect-length 7B", "mismatch"), ("--expect-body x", "mismatch")]
    {
        let result = run(more, "");
        assert_eq!(number(&result, &format!("errors.{kind}")), 100.0, "{more}");
        assert_eq!(number(&result, "requests.failed"), 100.0, "{more}");
    }
}

#[test]
fn several_urls_are_requested_by_weight() {
    let target = Target::start_web();
    let mut command = load(&target.http("/status/404"), "-n 400 -c 2 --warmup 0s --json - --quiet --allow-untrusted");
    let output = command.args([&target.http("/x"), "--weight", "1,3", "--expect-status", "200,404"]).output().unwrap();
    let result = json(&output);
    let (found, missing) = (number(&result, "responses.statuses.200"), number(&result, "responses.statuses.404"));
    assert!((found - 300.0).abs() <= 2.0 && found + missing == 400.0, "{result:#}");
    assert_eq!(result["load"]["url"], format!("{} {}", target.http("/status/404"), target.http("/x")));
}

#[test]
fn several_hosts_share_the_connections_and_are_metered_together() {
    let mut targets = [Target::start_web(), Target::start_web()];
    // All threads of a target: the main thread, the serving one, and one per connection.
    let threads = |target: &Target| std::fs::read_dir(format!("/proc/{}/task", target.pid())).unwrap().count();
    let idle = targets.each_ref().map(threads);
    let flags = "-R 1k -d 600s -c 6 --warmup 0s --json - --quiet --allow-untrusted --weight 2,1";
    let mut command = load(&targets[0].http("/status/201"), flags);
    let run = Run::start({
        command.arg(targets[1].http("/status/202"));
        command
    });
    targets.iter_mut().for_each(Target::until_asked);
    // How many requests each answers is up to the scheduler.
    let connections = || [0, 1].map(|number| threads(&targets[number]) - idle[number]);
    until("there are six connections", || connections().iter().sum::<usize>() >= 6);
    assert_eq!(connections(), [4, 2]);
    run.signal(Signal::INT);
    let result = json(&run.end());
    assert_eq!((number(&result, "requests.failed"), number(&result, "connections.opened")), (0.0, 6.0), "{result:#}");
    let statuses = ["201", "202"].map(|status| result["responses"]["statuses"][status].as_f64().unwrap_or_default());
    assert_eq!(statuses.iter().sum::<f64>(), number(&result, "requests.completed"), "{result:#}");
    assert_eq!(number(&result, "server.pid"), f64::from(targets[0].pid()));
    assert!(number(&result, "server.threads") >= idle.iter().sum::<usize>() as f64, "{result:#}");
}

#[test]
fn the_page_has_a_row_of_replies_and_a_failing_server_is_a_failure() {
    let target = Target::start_web();
    let output = load(&target.http("/status/500"), "-n 200 -c 2 --warmup 0s --no-meter").output().unwrap();
    assert_code(&output, &[1]);
    let page = text(&output);
    assert!(page.contains("replies     200 with status 500; "), "{page}");
    assert!(page.contains("errors      200 status"), "{page}");
    assert!(page.contains("verdict     errors"), "{page}");
}

#[test]
fn a_body_comes_from_a_file() {
    let target = Target::start_web();
    let home = brunt_testkit::home();
    let file = home.path().join("body");
    std::fs::write(&file, "out of a file").unwrap();
    let flags = "-n 20 -c 1 --warmup 0s --json - --quiet --allow-untrusted --no-meter";
    let mut command = load(&target.http("/"), flags);
    command.args(["--body", &format!("@{}", file.display()), "--expect-body", "POST / out of a file"]);
    let result = json(&command.output().unwrap());
    assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (20.0, 0.0));
}

/// A real server that closes connections after ten requests and announces it in the tenth reply.
#[test]
fn the_request_limit_of_nginx_causes_no_errors() {
    let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
    let Some(nginx) = nginx else {
        return println!("skipped: there is no nginx here (apt-get install nginx-light)");
    };
    let home = brunt_testkit::home();
    let port = free_port();
    let at = |name: &str| home.path().join(name).display().to_string();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|of| format!("{of}_temp_path {};", at(of)));
    let text = format!(
        "daemon off; master_process off; pid {}; error_log {} warn; events {{ }} http {{ access_log off; keepalive_requests 10; {} \
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 'hello'; }} }} }}",
        at("pid"),
        at("errors"),
        places.concat()
    );
    std::fs::write(home.path().join("nginx.conf"), text).unwrap();
    let mut command = Command::new(nginx);
    command.args(["-p", &at(""), "-c", &at("nginx.conf"), "-e", &at("errors")]);
    let _nginx = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let url = format!("http://127.0.0.1:{port}/");
    let flags = "-n 1000 -c 4 --warmup 0s --json - --quiet --allow-untrusted --no-meter --expect-length 5B";
    let results = ["", "--no-keepalive", "--no-keepalive --http1.0", "--reuse 5"].map(|more| {
        let output = load(&url, &format!("{flags} {more}")).output().unwrap();
        (more, json(&output))
    });
    for ((more, result), sockets) in results.into_iter().zip([100.0, 1000.0, 1000.0, 200.0]) {
        assert_eq!(
            (number(&result, "requests.completed"), number(&result, "requests.failed")),
            (1000.0, 0.0),
            "{more}"
        );
        let opened = number(&result, "connections.opened");
        assert!(opened >= sockets && opened <= sockets + 4.0, "{more}: {opened} sockets");
    }
}
