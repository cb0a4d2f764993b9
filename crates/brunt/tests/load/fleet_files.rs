//! Loads that name files, made by agents that have none of them.

use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::json;
use brunt_testkit::{Home, Running, assert_code, home, read_head, text};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

/// A server that keeps what it is asked.
pub(super) struct Asked {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    /// Head and body.
    requests: Vec<(String, Vec<u8>)>,
}

impl Asked {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (port, seen) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Seen>>::default());
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                all.lock().unwrap().connections += 1;
                let seen = Arc::clone(&all);
                thread::spawn(move || answer(stream, &seen));
            }
        });
        Self { port, seen }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Method and path of each request, with its body, and how often it came.
    pub(super) fn counted(&self) -> BTreeMap<(String, Vec<u8>), usize> {
        let mut counted = BTreeMap::new();
        for (head, body) in &self.seen.lock().unwrap().requests {
            let first: Vec<&str> = head.split(' ').take(2).collect();
            *counted.entry((first.join(" "), body.clone())).or_default() += 1;
        }
        counted
    }
}

fn answer(stream: TcpStream, seen: &Mutex<Seen>) {
    stream.set_nodelay(true).unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input) {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
        if input.read_exact(&mut body).is_err() {
            return;
        }
        seen.lock().unwrap().requests.push((head, body));
        if out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// `brunt load` of an operator in this folder.
pub(super) fn load(fleet: &Fleet, folder: &Home, words: &str) -> Output {
    let mut command = fleet.command(&format!("load {words} --quiet"));
    Running::start(command.current_dir(folder.path())).output()
}

#[test]
fn files_of_a_load_reach_agents_byte_for_byte() {
    if !is_here() {
        return;
    }
    let (fleet, folder, target) = (Fleet::up(2), home(), Asked::start());
    // More than a piece, and all bytes.
    let long: Vec<u8> = (0..300_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.join("long.bin"), &long).unwrap();
    let calls = format!("POST {}\n@long.bin\n\nGET {}\n", target.url("/one"), target.url("/two"));
    fs::write(folder.join("calls.txt"), calls).unwrap();
    let words = "--requests calls.txt --on 2 -c 2 -R 40 -d 1 --warmup 0s --json - --allow-untrusted";
    let output = load(&fleet, &folder, words);
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!(result["responses"]["statuses"]["200"], result["requests"]["completed"], "{result:#}");
    let counted = target.counted();
    let (one, two) = (("POST /one".to_owned(), long.clone()), ("GET /two".to_owned(), Vec::new()));
    assert!(counted.keys().eq([&two, &one]), "{:?}", counted.values());
    assert!(counted.values().sum::<usize>() as u64 >= result["requests"]["completed"].as_u64().unwrap());
    fleet.until_idle();

    // The same file again, which agents have, and one that is empty.
    fs::write(folder.join("empty"), "").unwrap();
    for (name, body) in [("long.bin", long), ("empty", Vec::new())] {
        let target = Asked::start();
        let words = format!("{} --body @{name} --on 2 -c 2 -R 40 -d 500ms --allow-untrusted", target.url("/body"));
        assert_code(&load(&fleet, &folder, &words), &[0]);
        assert!(target.counted().keys().eq([&("POST /body".to_owned(), body)]), "{name}");
        fleet.until_idle();
    }
    assert_eq!(fs::read_dir(fleet.home().join("state/fleet/files")).unwrap().count(), 3);
}

#[test]
fn each_line_of_a_log_is_sent_once_by_all_agents_together() {
    if !is_here() {
        return;
    }
    let (fleet, folder, target) = (Fleet::up(2), home(), Asked::start());
    let line = |number: u32| {
        let second = 10 + number / 20;
        format!("10.0.0.7 - - [10/Oct/2025:13:55:{second} +0000] \"GET /line-{number} HTTP/1.1\" 200 5\n")
    };
    fs::write(folder.join("access.log"), (0..50).map(line).collect::<String>()).unwrap();
    let words = format!("{} --replay access.log --on 2 -c 3 --json - --allow-untrusted", target.url("/"));
    let output = load(&fleet, &folder, &words);
    assert_code(&output, &[0]);
    let result = json(&output);
    let agents = result["fleet"]["agents"].as_array().unwrap();
    assert!(agents.iter().all(|agent| agent["completed"].as_u64().unwrap() > 0), "{agents:#?}");
    assert_eq!(result["requests"]["due"], 50, "{result:#}");
    let expected: BTreeMap<_, _> = (0..50).map(|number| ((format!("GET /line-{number}"), Vec::new()), 1)).collect();
    let counted = target.counted();
    assert!(counted.iter().all(|(request, times)| expected.get(request) == Some(times)), "{counted:?}");
    // A machine that stands still may leave requests unsent, and says so.
    assert!(counted.len() as u64 >= result["requests"]["completed"].as_u64().unwrap(), "{counted:?}");
}

#[test]
fn secrets_are_those_of_the_agent_and_a_missing_one_is_refused_without_a_connection() {
    if !is_here() {
        return;
    }
    let (fleet, folder, target) = (Fleet::up(0), home(), Asked::start());
    let secrets = folder.join("of-agent");
    fs::create_dir(&secrets).unwrap();
    fs::write(secrets.join("token"), "own-of-agent\n").unwrap();
    let _rich = fleet.agent("rich", &format!("secrets = {:?}", secrets.display().to_string()));
    let _poor = fleet.agent("poor", "");
    for (on, name, needle) in [
        ("rich", "other", "it has no file 'other' for --bearer"),
        ("poor", "token", "it has no secrets for --bearer token"),
    ] {
        let words = format!("{} --bearer {name} --on {on} -c 1 -R 20 -d 300ms", target.url("/"));
        let output = load(&fleet, &folder, &words);
        assert_code(&output, &[1]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(needle) && told.contains(&format!("agent {on} ")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        fleet.until_idle();
    }
    assert_eq!(target.seen.lock().unwrap().connections, 0);
    // That of the operator, were it sent, would be another.
    fs::write(folder.join("token"), "own-of-operator").unwrap();
    let words = format!("{} --bearer ./token --on rich -c 1 -R 20 -d 300ms --allow-untrusted", target.url("/"));
    assert_code(&load(&fleet, &folder, &words), &[0]);
    let seen = target.seen.lock().unwrap();
    assert!(!seen.requests.is_empty());
    assert!(seen.requests.iter().all(|(head, _)| head.contains("Authorization: Bearer own-of-agent")));
}

#[test]
fn secrets_within_files_and_files_that_cannot_be_sent_are_refused() {
    if !is_here() {
        return;
    }
    let (fleet, folder) = (Fleet::up(1), home());
    fs::write(folder.join("curl.txt"), "curl -u me:s3cret http://127.0.0.1:9/\n").unwrap();
    fs::write(folder.join("user.txt"), "GET http://me:s3cret@127.0.0.1:9/\n").unwrap();
    fs::create_dir(folder.join("folder")).unwrap();
    for (words, needle) in [
        ("--requests curl.txt", "curl.txt:1: Authorization and --on"),
        ("--requests user.txt", "user.txt:1: a user of a URL and --on"),
        ("http://127.0.0.1:9/ -H Authorization:s3cret", "--bearer"),
        ("http://me:s3cret@127.0.0.1:9/", "--bearer"),
        ("http://127.0.0.1:9/ --body @none", "none"),
    ] {
        let output = load(&fleet, &folder, &format!("{words} --on 1 -c 1 -R 10 -d 1"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && told.contains(needle) && !told.contains("s3cret"),
            "{words}: {}",
            text(&output)
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
