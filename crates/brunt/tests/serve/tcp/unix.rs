//! Unix sockets: echo under `brunt load`, and the socket file from start to stop.

use super::refusals::{assert_one_of_eight_serves, refused};
use crate::shared::server::*;
use brunt_testkit::{Home, until};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The models that serve Unix sockets.
const MODELS: [&str; 2] = ["uring", "epoll"];

fn socket() -> (Home, PathBuf) {
    let folder = brunt_testkit::home();
    let path = folder.path().join("echo.sock");
    (folder, path)
}

#[track_caller]
fn start(path: &Path, model: &str, flags: &str) -> Server {
    Server::start(serve(&format!("--listen unix:{} --model {model} {flags}", path.display())))
}

#[track_caller]
fn ask_unix(path: &Path) -> UnixStream {
    let mut client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    exchange(&mut client);
    client
}

#[track_caller]
fn exchange(client: &mut UnixStream) {
    client.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
}

/// Leaves the file of a killed server. A killed process's ring keeps its listener for a moment.
#[track_caller]
fn leave_stale(path: &Path, model: &str) {
    drop(start(path, model, ""));
    until("the listener of the killed server is closed", || UnixStream::connect(path).is_err());
    assert!(fs::symlink_metadata(path).unwrap().file_type().is_socket());
}

#[test]
fn brunt_load_gets_every_message_back() {
    for model in MODELS {
        // Both spellings of the address; the ready line has one.
        for scheme in ["unix:", "unix://"] {
            let (_folder, path) = socket();
            let server = Server::start(serve(&format!("--listen {scheme}{} --model {model}", path.display())));
            assert_eq!(server.unix, [format!("unix:{}", path.display())]);
            let mut load = Command::new(env!("CARGO_BIN_EXE_brunt"));
            load.arg("load").arg(format!("unix://{}", path.display()));
            let flags = "-c 4 -n 2000 --size 1KiB --warmup 0s --json - --quiet --allow-untrusted";
            let output = load.args(flags.split(' ')).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{model}: {output:?}");
            let result: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(result["load"]["protocol"], "unix");
            let requests = &result["requests"];
            assert!(requests["completed"] == 2000 && requests["failed"] == 0, "{model}: {result:#}");
            assert_eq!(result["server"]["pid"], server.pid(), "{model}: the server is metered");
            server.signal(Signal::TERM);
            let (status, _, said) = server.end();
            assert!(status.success() && said.contains("4 connections served, 0 failed"), "{model}: {status}, {said}");
            assert!(!path.exists(), "{model}: the socket file is left");
        }
    }
}

#[test]
fn it_listens_on_tcp_and_unix_sockets_at_once() {
    for model in MODELS {
        let (folder, path) = socket();
        let other = folder.path().join("other.sock");
        // An address given twice is one.
        let flags = format!("--listen 127.0.0.1:0 --listen unix:{0} --listen unix:{0}", path.display());
        let server = start(&other, model, &flags);
        assert_eq!(server.unix, [&other, &path].map(|path| format!("unix:{}", path.display())));
        ask_unix(&path);
        ask_unix(&other);
        ask(&mut connect(server.address()), b"hello");
    }
}

#[test]
fn a_stop_removes_the_file_and_serves_open_connections() {
    for model in MODELS {
        let (_folder, path) = socket();
        let server = start(&path, model, "--grace 10m");
        let mut client = ask_unix(&path);
        server.signal(Signal::TERM);
        until("the file is removed", || !path.exists());
        exchange(&mut client);
        drop(client);
        let (status, _, said) = server.end();
        assert!(status.success() && said.contains("1 connections served, 0 failed, 0 closed"), "{model}: {said}");
    }
}

#[test]
fn the_file_of_a_killed_server_is_replaced() {
    for (model, next) in [("uring", "epoll"), ("epoll", "uring")] {
        let (_folder, path) = socket();
        leave_stale(&path, model);
        let server = start(&path, next, "");
        ask_unix(&path);
        server.signal(Signal::TERM);
        assert!(server.end().0.success() && !path.exists());
    }
}

#[test]
fn one_of_many_servers_started_at_once_replaces_the_file() {
    for model in MODELS {
        let (_folder, path) = socket();
        leave_stale(&path, "epoll");
        let flags = format!("--listen unix:{} --model {model}", path.display());
        assert_one_of_eight_serves(&flags, || UnixStream::connect(&path).is_ok());
    }
}

#[test]
fn a_path_that_is_listened_on_is_refused() {
    for (model, next) in [("uring", "epoll"), ("epoll", "uring")] {
        let (_folder, path) = socket();
        let server = start(&path, model, "");
        let said = refused(serve(&format!("--listen unix:{} --model {next}", path.display())), 1);
        assert!(said.contains("another program listens there; stop it or choose another path"), "{said}");
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        ask_unix(&path);
        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        // The refused server connected to nothing.
        assert!(status.success() && said.contains("1 connections served"), "{said}");
    }
}

#[test]
fn a_file_that_is_not_a_socket_is_kept() {
    for model in MODELS {
        let (folder, path) = socket();
        let server = start(&path, model, "");
        let [file, directory, link] = ["file", "directory", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "text").unwrap();
        fs::create_dir(&directory).unwrap();
        symlink(&path, &link).unwrap();
        drop(server);
        until("the listener of the killed server is closed", || UnixStream::connect(&path).is_err());
        for path in [&file, &directory, &link] {
            let said = refused(serve(&format!("--listen unix:{} --model {model}", path.display())), 1);
            assert!(said.contains("cannot listen on") && said.contains(path.to_str().unwrap()), "{said}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert!(directory.is_dir() && fs::symlink_metadata(&link).unwrap().is_symlink() && path.exists());
    }
}

#[test]
fn services_for_tcp_refuse_a_unix_socket() {
    let (folder, path) = socket();
    let listen = format!("--listen unix:{}", path.display());
    for model in models().filter(|model| !MODELS.contains(model)) {
        let said = refused(serve(&format!("{listen} --model {model}")), 2);
        assert!(said.contains(&listen) && said.contains(&format!("--model {model} ")), "{said}");
        assert!(said.contains("take --model uring or epoll"), "{said}");
    }
    let said = refused(serve(&format!("{listen} --cores 0,1")), 2);
    assert!(said.contains(&listen) && said.contains("--cores 0-1; name one core"), "{said}");
    let said = refused(serve(&format!("{listen} --connections 1k")), 2);
    assert!(said.contains(&listen) && said.contains("--connections 1k"), "{said}");
    for flag in ["--listen", "--metrics"] {
        let address = format!("unix:{}", path.display());
        let mut http = Command::new(env!("CARGO_BIN_EXE_brunt"));
        let output = http.args(["serve", "http", flag, &address]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let line = said.lines().next().unwrap();
        assert!(line.contains(&address) && line.contains("only brunt serve echo and discard"), "{said}");
        assert!(line.contains("such as 127.0.0.1:8080"), "{said}");
    }
    let said = refused(serve(&format!("--listen unix:{}/none/echo.sock", folder.path().display())), 1);
    assert!(said.contains("none/echo.sock") && said.contains("No such file"), "{said}");
    let said = refused(serve(&format!("--listen unix:/{}", "x".repeat(108))), 1);
    assert!(said.contains("the limit is 107 bytes"), "{said}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}
