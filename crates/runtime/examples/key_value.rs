//! A key-value server that speaks the protocol of Redis (RESP2), with pipelines: GET, SET, DEL, EXISTS, INCR, PING, ECHO.
//!
//! Workers share the port and the map, which has a lock for each of many parts. If one worker fails the others end too.
//!
//! `cargo run --release -p brunt-runtime --example key_value [ADDRESS] [uring|epoll] [WORKERS]`, then
//! `redis-benchmark -p 7000 -t get,set -P 16 -q`

mod common;
#[path = "common/resp.rs"]
mod resp;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::{group, spawn};
use resp::{Map, Session};
use std::io;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (address, builder) = common::parse()?;
    let workers: usize = std::env::args().nth(3).map_or(Ok(1), |count| count.parse())?;
    // Bound once before, for the port if it is 0.
    let first = std::net::TcpListener::bind(address)?;
    let address = first.local_addr()?;
    drop(first);
    let map = Map::new();
    let members = (0..workers).map(|_| (None, ())).collect();
    group::run_together(&builder, members, Duration::ZERO, async |member| {
        let listener = TcpListener::bind_reuse_port(address)?;
        if member.index == 0 {
            println!("listening on {address}");
        }
        loop {
            spawn(serve(listener.accept().await?, map));
        }
        #[expect(unreachable_code, reason = "says what the worker would return")]
        io::Result::Ok(())
    })?;
    Ok(())
}

async fn serve(mut stream: TcpStream, map: &'static Map) -> io::Result<()> {
    let mut session = Session::default();
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        let (answers, ends) = session.answer(&received, map);
        // The buffer goes back to the kernel before this task waits.
        drop(received);
        stream.write_all(answers).await?;
        if ends {
            return stream.flush().await;
        }
    }
}
