//! Signals keep the total, and nothing stays behind.

use crate::shared::runner::*;
use brunt_testkit::{Signal, copy_program};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

#[test]
fn a_signal_ends_the_work_and_prints_the_total() {
    let dir = brunt_testkit::home();
    for signal in [Signal::INT, Signal::TERM] {
        let started = resources(dir.path()).map(|(flags, _)| (Runner::start(&format!("{flags} --share 10%")), flags));
        for (mut runner, flags) in started {
            let before = runner.progress();
            runner.signal(signal);
            let (lines, first) = runner.rest();
            assert!(runner.wait().success(), "{flags}: {}", runner.told());
            let last = lines.last().unwrap();
            assert!(last.done >= before.done && last.elapsed_s >= before.elapsed_s, "{flags}: {last:?}");
            assert!(first.contains(&format!(": {} {} in ", last.done, last.unit)), "{flags}: {first}");
        }
    }
}

#[test]
fn a_signal_ends_a_sender_whose_sink_does_not_read() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut runner = Runner::start(&format!("network --connect {}", listener.local_addr().unwrap()));
    let _connection = listener.accept().unwrap();
    // The buffers are full, and the count stands still.
    let mut last = runner.progress();
    loop {
        let now = runner.progress();
        if now.done == last.done {
            break;
        }
        last = now;
    }
    runner.signal(Signal::TERM);
    let (lines, first) = runner.rest();
    assert!(first.starts_with(&format!("network: {} bytes in ", lines.last().unwrap().done)), "{first}");
    assert!(runner.wait().success());
}

#[test]
fn a_sink_that_closes_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut runner = Runner::start(&format!("network --connect {}", listener.local_addr().unwrap()));
    drop(listener.accept().unwrap());
    assert_eq!(runner.wait().code(), Some(1));
    let told = runner.told();
    assert!(told.starts_with("error: the sink closed the connection: "), "{told}");
}

#[test]
fn files_are_gone_while_it_runs_and_however_it_ends() {
    let dir = brunt_testkit::home();
    let is_empty = || fs::read_dir(dir.path()).unwrap().next().is_none();
    for signal in [Signal::TERM, Signal::KILL] {
        let flags = format!(
            "disk --size 4MiB --block 64KiB --write buffered --share 10% --threads 2 --dir {}",
            dir.path().display()
        );
        let mut runner = Runner::start(&flags);
        while runner.progress().done == 0 {}
        assert!(is_empty(), "a file has a name");
        runner.signal(signal);
        let status = runner.wait();
        assert_eq!(status.signal(), (signal == Signal::KILL).then_some(9));
        assert!(is_empty(), "after {signal:?}");
    }
}

#[test]
fn space_that_is_not_there_is_refused() {
    let dir = brunt_testkit::home();
    for (flags, remedy) in [
        ("disk --size 8000000GiB", "choose a smaller --size or another --dir"),
        ("memory --size 100000GiB", "choose a smaller --size"),
        ("cache --size 100000GiB --threads 900", "choose a smaller --size"),
    ] {
        let dir = if flags.starts_with("disk") { format!("--dir {}", dir.path().display()) } else { String::new() };
        let output = stress(&format!("{flags} -d 1s {dir}")).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.starts_with("error: --size ") && told.trim_end().ends_with(remedy), "{told}");
        assert_eq!((told.lines().count(), output.stdout.len()), (1, 0), "{told}");
    }
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
}

#[test]
fn processes_refused_by_a_limit_are_counted() {
    // Of a user without other processes; root has no limit.
    let as_user = |command: &mut Command| {
        command.args(["--reuid", "61234", "--clear-groups", "prlimit", "--nproc=4"]);
    };
    let mut probe = Command::new("setpriv");
    as_user(&mut probe);
    if !probe.arg("true").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: setpriv or prlimit does not work here");
        return;
    }
    // The build directory may be closed to other users.
    let dir = brunt_testkit::home();
    let binary = dir.path().join("brunt");
    copy_program(env!("CARGO_BIN_EXE_brunt").as_ref(), &binary);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    as_user(&mut command);
    // Three threads of its own and one process.
    let output =
        command.arg(&binary).args(["stress", "fork", "--burst", "2", "-d", "300ms", "--json"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let total: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(total["done"].as_u64() > Some(0) && total["done"] == total["refused"], "{total}");
}
