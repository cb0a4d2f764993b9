//! What an idle connection costs the server's process: the figure that decides how many it can hold.

use crate::server::*;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
};

const CONNECTIONS: usize = 10_000;
/// Bytes of resident memory for each. The kernel's own memory for a socket is not among them.
const LIMIT: u64 = 320;
/// With the first ones, which also touch what all of them share: buffers above all.
const LIMIT_OF_ALL: u64 = 512;

/// Enough descriptors for the clients? Otherwise runs this test again with as many as the system allows.
fn with_descriptors(name: &str) -> bool {
    const RAISED: &str = "BRUNT_SERVE_TEST_RAISED";
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: usize = line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX);
    if soft > CONNECTIONS + 100 {
        return true;
    }
    assert!(std::env::var_os(RAISED).is_none(), "{soft} descriptors are too few (ulimit -Hn)");
    let run = "ulimit -n $(ulimit -Hn); exec \"$0\" \"$@\"";
    let mut again = Command::new("sh");
    again.args(["-c", run]).arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    assert!(again.env(RAISED, "1").status().unwrap().success());
    false
}

/// Connections that have asked once and are silent now.
fn silent(address: SocketAddr, many: usize) -> Vec<TcpStream> {
    let one = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stream
    };
    (0..many).map(one).collect()
}

#[test]
fn ten_thousand_silent_connections_cost_little() {
    if !with_descriptors("memory::ten_thousand_silent_connections_cost_little") {
        return;
    }
    let _alone = alone();
    // What the others cost is no promise.
    for model in ["uring", "epoll", "tokio"] {
        let flags = format!("--listen 127.0.0.1:{} --model {model}", free_port());
        let server = Server::start(serve_limited("hard", &flags));
        let empty = server.resident();
        let few = silent(server.address(), CONNECTIONS / 10);
        let warm = server.resident();
        let most = silent(server.address(), CONNECTIONS - few.len());
        let full = server.resident();
        let each = full.saturating_sub(warm) / most.len() as u64;
        let of_all = full.saturating_sub(empty) / CONNECTIONS as u64;
        println!("{model}: {each} bytes a connection ({of_all} with the first ones), {} KiB empty", empty >> 10);
        if model != "tokio" {
            assert!(
                each <= LIMIT && of_all <= LIMIT_OF_ALL,
                "{model}: {each} bytes a connection, {of_all} with the first ones"
            );
        }
        drop(server);
    }
}
