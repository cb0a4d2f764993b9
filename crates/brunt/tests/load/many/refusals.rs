//! Impossible configurations are rejected before anything starts, in one line.

use crate::shared::band::brunt;
use brunt_testkit::text;

#[track_caller]
fn refused(command: &str, code: i32, words: &[&str]) {
    let output = brunt(command).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(words.iter().all(|word| stderr.contains(word)), "{words:?} in {stderr}");
    assert!(output.stdout.is_empty(), "{}", text(&output));
}

#[test]
fn a_server_larger_than_the_machine_names_the_limit() {
    refused("serve echo --connections 10G", 1, &["--connections 10G: ", "; "]);
}

#[test]
fn a_load_larger_than_the_machine_or_its_ports_names_the_limit() {
    refused(
        "load tcp://127.0.0.1:7100 -c 100M --source 127.0.0.0/8 --quiet",
        1,
        &["-c 100M exceeds the limits of this machine: "],
    );
    // More connections than there are ports.
    refused("load tcp://127.0.0.1:7100 -c 70k --quiet", 1, &["70000 connections need", "--source", "127.0.0.0/8"]);
}

#[test]
fn flags_for_one_process_are_errors_with_several() {
    refused("load tcp://127.0.0.1:7100 -c 400 --calibrate", 2, &["--calibrate: ", "-c 400 takes ", "lower -c"]);
    let home = brunt_testkit::home();
    let script = home.path().join("script.lua");
    std::fs::write(&script, "wrk.method = 'PUT'\n").unwrap();
    refused(
        &format!("load http://127.0.0.1:7100/ -c 400 --quiet --script {}", script.display()),
        1,
        &["400 connections do not fit", "limit of 200 open files"],
    );
}

#[test]
fn a_description_that_a_process_cannot_resolve_ends_the_load() {
    let home = brunt_testkit::home();
    let password = home.path().join("password");
    std::fs::write(&password, "me:secret").unwrap();
    // Standard input of the other processes is a socket.
    let mut command = brunt("load http://127.0.0.1:7100/ -c 400 --quiet --basic-auth /dev/stdin");
    let output = command.stdin(std::fs::File::open(&password).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("process 1: --basic-auth /dev/stdin: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn nothing_listens() {
    let port = crate::shared::server::free_port();
    let output = brunt(&format!("load tcp://127.0.0.1:{port} -c 400 --quiet")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("nothing listens on"), "{stderr}");
}

#[test]
fn the_worker_command_needs_a_socket_from_a_parent() {
    let output = brunt("worker load").stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("brunt starts this by itself"), "{}", text(&output));
}
