//! Golden sessions: help and usage errors, byte for byte. `TRYCMD=overwrite` regenerates them. And a flag that only the kernel shows.

use crate::shared::target::{Run, Target, load};
use brunt_testkit::{assert_code, home, until_some};
use rustix::net::sockopt::tcp_nodelay;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open};
use std::fs;
use std::net::TcpStream;
use std::process::Command;

#[test]
fn golden_sessions() {
    trycmd::TestCases::new().case("tests/cmd/load-*.trycmd");
}

/// TCP_NODELAY of the connections of a process to a port.
pub fn nodelay(pid: u32, port: u16) -> Vec<bool> {
    let process = pidfd_open(Pid::from_raw(pid as i32).unwrap(), PidfdFlags::empty()).unwrap();
    let numbers = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let opened = numbers.filter_map(number).filter_map(|fd| pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok());
    let to_port = |stream: &TcpStream| stream.peer_addr().is_ok_and(|peer| peer.port() == port);
    opened.map(TcpStream::from).filter(to_port).map(|stream| tcp_nodelay(&stream).unwrap()).collect()
}

#[test]
fn nodelay_is_that_of_every_connection() {
    for (flags, is_on) in [("", true), ("--nodelay on", true), ("--nodelay off", false)] {
        let mut target = Target::start();
        let run = Run::start(load(&target.url(), &format!("-c 3 -d 60s --quiet {flags}")));
        target.until_asked();
        let seen =
            until_some("all connections", || Some(nodelay(run.pid(), target.port())).filter(|seen| seen.len() == 3));
        assert_eq!(seen, [is_on; 3], "{flags}");
        run.signal(Signal::INT);
        run.end();
    }
}

#[test]
fn a_plan_has_nodelay_too() {
    let home = home();
    let plan = "name = 'p'\norder = 'trials'\nrepeats = 1\n[load]\nconnections = 1\nduration = '100ms'\nwarmup = '0s'\n\
                [sweep]\nnodelay = ['on', 'off']\n[[target]]\nname = 't'\nserve = { service = 'echo', model = 'epoll' }\n";
    fs::write(home.path().join("plan.toml"), plan).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let output = run.args(["run", "plan.toml", "--quiet", "--out", "out"]).current_dir(home.path()).output().unwrap();
    assert_code(&output, &[0]);
    for word in ["on", "off"] {
        let trial = home.path().join(format!("out/trials/target=t,nodelay={word}/1/trial.json"));
        let record = fs::read_to_string(&trial).unwrap_or_else(|error| panic!("{}: {error}", trial.display()));
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        let words: Vec<&str> = record["tester"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
        assert!(words.windows(2).any(|pair| pair == ["--nodelay", word]), "{words:?}");
    }
}
