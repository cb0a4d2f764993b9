//! `--on ssh://..` through a real sshd: agents are started for one load, and end with it.

pub(super) mod server;

use crate::shared::fleet;
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, Signal, assert_code, copy_program, program, signal, text, until};
use server::Server;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const BRUNT: &str = env!("CARGO_BIN_EXE_brunt");

fn is_here() -> bool {
    fleet::is_here() && server::is_here()
}

/// A load on these machines.
#[track_caller]
fn load(server: &Server, ssh: &str, on: &str, words: &str) -> Running {
    let mut load = Command::new(BRUNT);
    load.args(["load", "--on", on, "-c", "4", "-R", "200", "--json", "-", "--quiet", "--allow-untrusted"]);
    load.args(words.split_whitespace()).env("BRUNT_SSH", ssh).env("BRUNT_STATE_DIR", server.home.join("own"));
    // What it leaves would be here.
    load.env("TMPDIR", server.home.join("temporary")).stdin(Stdio::null());
    fs::create_dir_all(server.home.join("temporary")).unwrap();
    Running::start(load.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// No connection, agent or NATS server is left, and no file of the fleet.
#[track_caller]
fn assert_nothing_is_left(server: &Server) {
    until("no connection is left", || server.connections().is_empty());
    let home = server.home.path().display().to_string();
    let is_of_this = |pid: u32| {
        let has = |what: &str, needle: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            bytes.windows(needle.len()).any(|part| part == needle.as_bytes())
        };
        has("environ", &home) && (has("cmdline", "agent") || has("cmdline", "nats.conf"))
    };
    let pids = || fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    until("no process is left", || !pids().any(is_of_this));
    assert_eq!(fs::read_dir(server.home.join("temporary")).unwrap().count(), 0);
}

#[track_caller]
fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn two_agents_of_one_machine_make_a_load_and_end_with_it() {
    if !is_here() {
        return;
    }
    let (server, target) = (Server::start(""), Target::start());
    let on = format!("ssh://one{BRUNT},ssh://two.example{BRUNT}");
    let output = load(&server, &server.ssh("user"), &on, &format!("{} -d 500ms", target.url())).output();
    assert_code(&output, &[0]);
    let agents = json(&output)["fleet"]["agents"].clone();
    let ids: Vec<&str> = agents.as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["one-1", "two-example-2"]);
    assert_nothing_is_left(&server);
}

#[test]
fn an_interrupt_ends_what_was_started_over_ssh_before_and_in_a_load() {
    if !is_here() {
        return;
    }
    let (server, mut target) = (Server::start(""), Target::start());
    let (on, words) = (format!("ssh://one{BRUNT},ssh://two{BRUNT}"), format!("{} -d 600 --warmup 0s", target.url()));
    let running = load(&server, &server.ssh("user"), &on, &words);
    target.until_answered();
    running.signal(Signal::INT);
    let output = running.output();
    assert_code(&output, &[0]);
    assert!(json(&output)["interrupted"] == true, "{}", text(&output));
    assert_nothing_is_left(&server);
    // Its agents never come.
    let never = server.home.join("never");
    program(&never, "#!/bin/sh\nexec cat >/dev/null\n");
    let running = load(&server, &server.ssh("user"), &format!("ssh://one{}", never.display()), &words);
    until("the remote command runs", || !server.connections().is_empty());
    running.signal(Signal::INT);
    let output = running.output();
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("interrupted before the agents were there"), "{}", text(&output));
    assert_nothing_is_left(&server);
}

#[test]
fn a_connection_that_drops_loses_its_agent_alone() {
    if !is_here() {
        return;
    }
    let (server, mut target) = (Server::start(""), Target::start());
    let words = format!("{} -d 600 --warmup 0s", target.url());
    let running = load(&server, &server.ssh("user"), &format!("ssh://one{BRUNT},ssh://two{BRUNT}"), &words);
    target.until_answered();
    signal(server.connections()[0], Signal::KILL);
    let output = running.output();
    assert_code(&output, &[1]);
    assert!(stderr(&output).starts_with("error: agent ") && stderr(&output).contains("was lost"), "{}", text(&output));
    assert_eq!(json(&output)["verdict"]["kind"], "agent-lost", "{}", text(&output));
    assert_nothing_is_left(&server);
}

#[test]
fn what_keeps_an_agent_from_starting_is_named_in_one_line() {
    if !is_here() {
        return;
    }
    let server = Server::start("");
    let old = server.home.join("old");
    program(
        &old,
        "#!/bin/sh\nprintf \"error: unrecognized subcommand 'agent'\\n\\nFor more information\\n\" >&2\nexit 2\n",
    );
    let other = server.home.join("other");
    copy_as_another_program(Path::new(BRUNT), &other);
    let (old, other, good) = (old.display().to_string(), other.display().to_string(), server.ssh("user"));
    for (ssh, program, needle) in [
        (&good, "/no/such/brunt", "no agent on one (ended with status 127)"),
        (&good, &old, "unrecognized subcommand 'agent'"),
        (&good, &other, "install the same binary on all machines"),
        (&server.ssh("strange"), BRUNT, "Permission denied (publickey)"),
        (&"/no/such/ssh".to_owned(), BRUNT, "cannot start '/no/such/ssh' for one"),
    ] {
        let output = load(&server, ssh, &format!("ssh://one{program}"), "tcp://127.0.0.1:9 -d 1").output();
        assert_code(&output, &[1]);
        let told = stderr(&output);
        assert!(told.contains(needle) && told.lines().count() == 1, "{needle}: {told}");
    }
    server.knows("strange");
    let output = load(&server, &good, &format!("ssh://one{BRUNT}"), "tcp://127.0.0.1:9 -d 1").output();
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("Host key verification failed"), "{}", text(&output));
    let output = load(&server, &good, "ssh://-x", "tcp://127.0.0.1:9 -d 1").output();
    assert_code(&output, &[2]);
    assert_nothing_is_left(&server);
    let server = Server::start("AllowTcpForwarding no");
    let output = load(&server, &server.ssh("user"), &format!("ssh://one{BRUNT}"), "tcp://127.0.0.1:9 -d 1").output();
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("AllowTcpForwarding remote in sshd_config"), "{}", text(&output));
    assert_nothing_is_left(&server);
}

/// The same program with another build ID, by which programs are told apart.
fn copy_as_another_program(from: &Path, to: &Path) {
    let mut bytes = fs::read(from).unwrap();
    // Lengths of name and description, the type of the note, and its name.
    let note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let at = bytes.windows(note.len()).position(|part| part == note).expect("a build ID");
    bytes[at + note.len()] ^= 1;
    let draft = to.with_extension("draft");
    fs::write(&draft, bytes).unwrap();
    copy_program(&draft, to);
}
