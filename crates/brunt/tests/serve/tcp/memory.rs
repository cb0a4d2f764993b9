//! Memory of the server's process per idle connection, which decides how many connections it can hold.

use crate::shared::server::*;
use brunt_testkit::Role;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const CONNECTIONS: usize = 10_000;
/// Bytes of resident memory per connection, without the kernel's memory for the socket. Not noise but a sum of allocation
/// sizes: the same on every run.
const LIMIT: u64 = 320;
/// Bytes per connection including the first ones, which also touch shared buffers.
const LIMIT_WITH_FIRST: u64 = 512;

/// Connections that are idle after one request.
fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let one = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stream
    };
    (0..count).map(one).collect()
}

#[test]
fn ten_thousand_silent_connections_cost_little() {
    if !with_descriptors(CONNECTIONS, Role("tcp::memory::ten_thousand_silent_connections_cost_little")) {
        return;
    }
    // What the others cost is no promise.
    for model in ["uring", "epoll", "tokio"] {
        let flags = format!("--listen 127.0.0.1:{} --model {model}", free_port());
        let server = Server::start(serve_limited("hard", &flags));
        let empty = server.resident();
        let few = idle(server.address(), CONNECTIONS / 10);
        let warm = server.resident();
        let most = idle(server.address(), CONNECTIONS - few.len());
        let full = server.resident();
        let each = full.saturating_sub(warm) / most.len() as u64;
        let of_all = full.saturating_sub(empty) / CONNECTIONS as u64;
        println!("{model}: {each} bytes a connection ({of_all} with the first ones), {} KiB empty", empty >> 10);
        if model != "tokio" {
            assert!(
                each <= LIMIT && of_all <= LIMIT_WITH_FIRST,
                "{model}: {each} bytes a connection, {of_all} with the first ones"
            );
        }
        drop(server);
    }
}
