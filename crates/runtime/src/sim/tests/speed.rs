//! How fast a world is. Prints; judges only that a run ends.
//!
//! `cargo test -p brunt-runtime --lib sim::tests::speed -- --nocapture`

use super::super::World;
use super::{listener, serve};
use crate::net::TcpStream;
use crate::{JoinSet, spawn};
use std::time::Instant;

/// Returns events and turns of a closed loop of requests.
fn load(seed: u64, connections: usize, requests: usize) -> u64 {
    let world = World::new(seed);
    let run = world.run(async move {
        let (listener, address) = listener();
        spawn(serve(listener));
        let mut clients = JoinSet::new();
        for _ in 0..connections {
            clients.spawn(async move {
                let mut client = TcpStream::connect(address).await.unwrap();
                let mut reply = [0; 100];
                for _ in 0..requests {
                    client.write_all(&reply).await.unwrap();
                    client.read_exact(&mut reply).await.unwrap();
                }
            });
        }
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
    });
    run.unwrap();
    world.trace_len()
}

#[test]
fn a_closed_loop_of_requests_prints_its_speed() {
    for (worlds, connections, requests) in [(1, 1, 20_000), (1, 50, 1000), (200, 4, 125), (500, 1, 1)] {
        let start = Instant::now();
        let events: u64 = (0..worlds).map(|seed| load(seed, connections, requests)).sum();
        let spent = start.elapsed().as_secs_f64();
        let all = worlds as usize * connections * requests;
        println!(
            "{worlds} worlds, {connections} connections, {requests} requests each: {:.2} M events/s, {:.2} us a request, \
             {:.0} us a world",
            events as f64 / spent / 1e6,
            spent / all as f64 * 1e6,
            spent / worlds as f64 * 1e6,
        );
    }
}
