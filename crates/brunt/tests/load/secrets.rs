//! Secrets, given in each way in which a load takes them, are sent, and are in no file, page, push or argument that brunt makes.
//! Each test looks at the arguments of all processes, so its secrets begin with a word of its own.

use crate::shared::proxy;
use crate::shared::recorder::Recorder;
use crate::shared::screen::Screen;
use crate::shared::target::{Run, load};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use brunt_testkit::{LIMIT, Signal, assert_code, free_port, text, until_some};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A way to give secrets, and what of them a server sees.
struct Way {
    args: Vec<String>,
    sent: Vec<String>,
    /// Whether the user types them.
    is_typed: bool,
}

/// Files of secrets are in `inputs`; `server` gets the requests of files. `word` stands in place of `s3cret`.
fn ways(word: &str, inputs: &Path, server: &Recorder) -> Vec<Way> {
    let file = |name: &str, text: &str| {
        let place = inputs.join(name);
        fs::write(&place, text.replace("s3cret", word)).unwrap();
        place.display().to_string()
    };
    let way = |args: &[&str], sent: &[&str]| Way {
        args: args.iter().map(|arg| arg.replace("s3cret", word)).collect(),
        sent: sent.iter().map(|text| text.replace("s3cret", word)).collect(),
        is_typed: args.contains(&"-H") || args.iter().any(|arg| arg.contains('@')),
    };
    let basic = |pair: &str| BASE64_STANDARD.encode(pair.replace("s3cret", word));
    let url = server.url();
    let of_user = url.replace("//", "//me:s3cret-of-url@");
    let curl = format!(
        "curl -u me:s3cret-of-curl {url}a\ncurl -b id=s3cret-of-curls-cookie {url}b\n\
         curl -H 'Authorization: Bearer s3cret-of-curls-header' {url}c\n"
    );
    let har = format!(
        r#"{{"log": {{"version": "1.2", "entries": [{{"request": {{"method": "GET", "url": "{url}d", "headers": [
        {{"name": "Authorization", "value": "Bearer s3cret-of-har"}}, {{"name": "Cookie", "value": "id=s3cret-of-hars-cookie"}}
        ]}}}}, {{"request": {{"method": "GET", "url": "{url}e", "headers": []}}}}]}}}}"#
    );
    vec![
        way(&["--basic-auth", &file("pair", "me:s3cret-of-basic"), &url], &[&basic("me:s3cret-of-basic")]),
        way(&[&of_user], &[&basic("me:s3cret-of-url")]),
        way(&["--bearer", &file("token", "s3cret-of-bearer"), &url], &["s3cret-of-bearer"]),
        way(
            &["-H", "Authorization: Token s3cret-of-header", "-H", "Cookie: id=s3cret-of-cookie", &url],
            &["s3cret-of-header", "s3cret-of-cookie"],
        ),
        way(
            &["--requests", &file("calls", &curl)],
            &[&basic("me:s3cret-of-curl"), "s3cret-of-curls-cookie", "s3cret-of-curls-header"],
        ),
        way(&["--requests", &file("calls.har", &har)], &["s3cret-of-har", "s3cret-of-hars-cookie"]),
    ]
}

/// All that brunt has made, by where it was found.
#[derive(Default)]
struct Made(Vec<(String, String)>);

impl Made {
    fn add(&mut self, place: impl ToString, text: impl AsRef<[u8]>) {
        self.0.push((place.to_string(), String::from_utf8_lossy(text.as_ref()).into_owned()));
    }

    /// Every file below this folder.
    fn add_files(&mut self, folder: &Path) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => self.add_files(&path),
                // It may be removed meanwhile.
                false => self.add(path.display(), fs::read(&path).unwrap_or_default()),
            }
        }
    }

    /// The arguments of every process but this one and the load that was typed.
    fn add_arguments(&mut self, but: Option<u32>) {
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        let others = fs::read_dir("/proc").unwrap().flatten().filter_map(number);
        for pid in others.filter(|pid| *pid != std::process::id() && Some(*pid) != but) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            self.add(format!("arguments of {pid}"), line);
        }
    }

    #[track_caller]
    fn assert_without(&self, word: &str, secrets: &[String]) {
        for secret in secrets.iter().map(String::as_str).chain([word]) {
            for (place, text) in &self.0 {
                assert!(!text.contains(secret), "{secret} is in {place}: {text}");
            }
        }
    }
}

/// The page of metrics, if the load serves it and has a second.
fn metrics(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut page = String::new();
    let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_string(&mut page)).ok()?;
    page.contains("brunt_").then_some(page)
}

/// A load with every output, and all other commands that read its results.
fn load_and_read(home: &Path, way: &Way, made: &mut Made) {
    let collector = Recorder::start();
    let port = free_port();
    let brunt = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.current_dir(home).env("BRUNT_STATE_DIR", "state").env("TMPDIR", home).args(args).stdin(Stdio::null());
        command
    };
    let mut command = brunt(&["load"]);
    command.args("-R 200 -c 4 -d 10m --warmup 0s --live --fail-if p50>1ns".split(' '));
    command.args(["--out", "runs/load", "--json", "load.json", "--junit", "load.xml", "--metrics"]);
    command.args([&format!("127.0.0.1:{port}"), "--push", &format!("otlp={}", collector.url())]).args(&way.args);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", home.join("summary.md"));
    let running = Run::start(command);
    made.add("metrics", until_some(&format!("there are metrics at port {port}"), || metrics(port)));
    running.signal(Signal::USR1);
    made.add_arguments(way.is_typed.then_some(running.pid()));
    made.add_files(home);
    running.signal(Signal::INT);
    // The load waits until its last page is fetched.
    while !running.is_over() {
        made.add("metrics", metrics(port).unwrap_or_default());
        thread::sleep(Duration::from_millis(20));
    }
    let output = running.end();
    assert_code(&output, &[99]);
    made.add("the load", text(&output));
    for request in collector.take() {
        made.add("a push", format!("{}\n{}", request.head, request.body));
    }
    let once = brunt(&["load", "--once"]).args(&way.args).output().unwrap();
    made.add("--once", text(&once));
    for args in [
        &["report", "runs/load"][..],
        &["report", "runs/load", "--html", "page.html"],
        &["list"],
        &["list", "--trials"],
        &["export", "--to", "csv", "runs/load"],
        &["export", "--to", "prometheus", "runs/load", "--out", "brunt.prom"],
        &["watch", "runs/load"],
    ] {
        let output = brunt(args).output().unwrap();
        assert_code(&output, &[0]);
        made.add(args.join(" "), text(&output));
    }
    made.add_files(home);
}

#[test]
fn secrets_are_sent_and_appear_nowhere() {
    let inputs = brunt_testkit::home();
    let server = Recorder::start();
    let word = "s3cret-in-files";
    for way in ways(word, inputs.path(), &server) {
        let (home, mut made) = (brunt_testkit::home(), Made::default());
        load_and_read(home.path(), &way, &mut made);
        let heads: String = server.take().into_iter().map(|request| request.head).collect();
        for secret in &way.sent {
            assert!(heads.contains(secret), "{secret} was not sent: {:?}", way.args);
        }
        for file in ["page.html", "series.jsonl", "env.json", "load.xml", "summary.md", "load.json"] {
            assert!(made.0.iter().any(|(place, text)| place.ends_with(file) && !text.is_empty()), "no {file}");
        }
        made.assert_without(word, &way.sent);
    }
}

#[test]
fn the_pair_for_a_proxy_is_sent_and_appears_nowhere() {
    let (inputs, home) = (brunt_testkit::home(), brunt_testkit::home());
    let server = Recorder::start();
    let port = server.authority().rsplit(':').next().unwrap().parse().unwrap();
    let proxy = proxy::Proxy::start(proxy::Answer::Tunnel, port);
    let file = inputs.path().join("pair");
    fs::write(&file, "me:s3cret-of-proxy").unwrap();
    let args = ["--proxy", &proxy.url(), "--proxy-auth", &file.display().to_string(), "http://app.invalid/"];
    let sent = vec![BASE64_STANDARD.encode("me:s3cret-of-proxy")];
    let way = Way { args: args.map(str::to_owned).to_vec(), sent: sent.clone(), is_typed: false };
    let mut made = Made::default();
    load_and_read(home.path(), &way, &mut made);
    assert!(proxy.heads().iter().all(|head| head.contains(&sent[0])), "{:?}", proxy.heads());
    made.assert_without("s3cret-of-proxy", &sent);
}

#[test]
fn the_live_view_and_the_search_of_a_rate_show_no_secret() {
    let (inputs, home) = (brunt_testkit::home(), brunt_testkit::home());
    let server = Recorder::start();
    let word = "s3cret-on-screen";
    let all = ways(word, inputs.path(), &server);
    let mut made = Made::default();
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let variables = format!("BRUNT_STATE_DIR={0}/state TMPDIR={0}", home.path().display());
    for way in all.iter().filter(|way| !way.is_typed) {
        let command =
            format!("{variables} {brunt} load --live -R 200 -d 60s -c 2 --allow-untrusted {}", way.args.join(" "));
        let Some(screen) = Screen::start(&command) else { break };
        made.add("the screen", screen.until(&["verdict so far: ", "q stop the load"]));
        made.add_arguments(None);
        made.add_files(home.path());
        screen.keys("q");
        made.add("the last screen", screen.until(&["EXIT "]));
    }
    for way in &all {
        let mut find = Command::new(brunt);
        find.current_dir(home.path()).env("BRUNT_STATE_DIR", "state").stdin(Stdio::null());
        find.args([
            "find",
            "--slo",
            "p50<900ms",
            "--from",
            "200",
            "--to",
            "200",
            "--step",
            "200ms",
            "--confirm",
            "200ms",
        ]);
        // The URL precedes the flags of the load.
        let (url, flags) = way.args.split_last().unwrap();
        let output = match url.starts_with("http") {
            true => find.arg(url).args(flags).output().unwrap(),
            false => continue,
        };
        // Whether the rate holds is up to the machine.
        assert_code(&output, &[0, 3]);
        made.add("find", text(&output));
    }
    made.add_files(home.path());
    let secrets: BTreeSet<String> = all.into_iter().flat_map(|way| way.sent).collect();
    made.assert_without(word, &secrets.into_iter().collect::<Vec<_>>());
}

#[test]
fn errors_quote_no_password() {
    let home = brunt_testkit::home();
    let file = home.path().join("calls");
    for (args, calls, says) in [
        ("http://me:s3cret@127.0.0.1:x/", "", "'http://[hidden]@127.0.0.1:x/' has the port 'x'"),
        ("http://me:s3/cret@127.0.0.1:1/", "", "'http://[hidden]@127.0.0.1:1/' has / or ? or #"),
        ("me:s3cret@127.0.0.1:1/", "", "'[hidden]@127.0.0.1:1/' has a user and no protocol"),
        ("http://127.0.0.1:1/ --proxy http://me:s3cret@127.0.0.1:2", "", "--proxy-auth"),
        ("http://127.0.0.1:1/ --push otlp=http://me:s3cret@127.0.0.1:2", "", "names a user"),
        ("--requests FILE", "GET http://127.0.0.1:1/\nAuthorization Bearer s3cret\n", "'Authorization [hidden]'"),
        ("--requests FILE", "GET http://me:s3cret@127.0.0.1:x/\n", "has the port 'x'"),
        ("--requests FILE", "curl http://me:s3cret@127.0.0.1:1/ --nonsense\n", "--nonsense"),
    ] {
        fs::write(&file, calls).unwrap();
        let flags = args.replace("FILE", &file.display().to_string());
        let mut words = flags.split(' ');
        let output = load(words.next().unwrap(), &words.collect::<Vec<_>>().join(" ")).output().unwrap();
        assert_code(&output, &[2]);
        let said = text(&output);
        assert!(said.contains(says) && !said.contains("s3cret"), "{args}: {said}");
    }
}
