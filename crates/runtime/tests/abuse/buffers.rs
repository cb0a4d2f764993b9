//! Exhausted receive buffers, overflown completion queues, spuriously ended receives: all connections are served.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{net::RecvBuf, spawn, time::sleep};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

on_both_backends!(
    five_hundred_senders_while_every_buffer_is_lent,
    ten_thousand_buffers_kept_then_only_the_usual_ones,
    more_completions_than_the_ring_holds_lose_nothing,
);

/// Receives that many one-byte buffers.
async fn take(many: usize) -> Vec<RecvBuf> {
    let (mut buffers, mut pieces) = (Vec::new(), 0);
    let (mut client, mut server) = pair().await;
    while buffers.len() < many {
        client.write_all(&[pieces as u8]).await.unwrap();
        buffers.push(server.recv().await.unwrap());
        pieces += 1;
    }
    buffers
}

async fn five_hundred_senders_while_every_buffer_is_lent() {
    let buffers = take(BUFFERS).await;
    let (listener, address) = listen();
    let mut clients = Vec::new();
    for n in 0..500u32 {
        let (client, server) = pair_at(&listener, address).await;
        spawn(echo(server));
        clients.push(spawn(async move {
            let mut client = client;
            for round in 0..5u32 {
                ask(&mut client, &(n << 8 | round).to_le_bytes().repeat(700)).await.unwrap();
            }
        }));
    }
    // Exhaustion; the guard around each test bounds the wait.
    while brunt_runtime::metrics().buffers_exhausted == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    // Return them one by one while receives wait.
    for (n, received) in buffers.into_iter().enumerate() {
        drop(received);
        if n < 20 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    for client in clients {
        client.await.unwrap();
    }
}

async fn ten_thousand_buffers_kept_then_only_the_usual_ones() {
    let buffers = take(10_000).await;
    assert!(buffers.iter().enumerate().all(|(n, received)| **received == [n as u8]));
    let spares = brunt_runtime::metrics().spare_buffers;
    // At most one batch more than needed.
    assert!((10_000 - BUFFERS as u64..10_100 - BUFFERS as u64).contains(&spares), "{spares} spares");
    drop(buffers);
    let (mut client, server) = pair().await;
    spawn(echo(server));
    // The last overflow buffers are used once and retired, or stay unused in the ring.
    for _ in 0..100 {
        ask(&mut client, b"again").await.unwrap();
    }
    let spares = brunt_runtime::metrics().spare_buffers;
    assert!(spares < 64, "{spares} spares are still out");
}

#[expect(clippy::await_holding_lock, reason = "no other code on this thread takes it")]
async fn more_completions_than_the_ring_holds_lose_nothing() {
    const PAIRS: usize = 5_000;
    // The same test on the other backend needs as many sockets; the process limit does not allow both at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (listener, address) = listen();
    let mut streams = Vec::new();
    for _ in 0..PAIRS {
        let (client, server) = pair_at(&listener, address).await;
        streams.extend([client, server]);
    }
    for round in 0..2u8 {
        // In one turn of the worker, which takes no completions in between, by tasks that each stay within their budget. From
        // the second round on each stream has an armed receive.
        let mut writers = Vec::new();
        while !streams.is_empty() {
            let mut some = streams.split_off(streams.len() - 50);
            writers.push(spawn(async move {
                for stream in &mut some {
                    assert_eq!(stream.write(&[round; 100]).await.unwrap(), 100);
                }
                some
            }));
        }
        for writer in writers {
            streams.extend(writer.await.unwrap());
        }
        for stream in &mut streams {
            let mut read = [0; 100];
            stream.read_exact(&mut read).await.unwrap();
            assert_eq!(read, [round; 100]);
        }
    }
    if brunt_runtime::metrics().submitted > 0 {
        assert!(brunt_runtime::metrics().completion_overflows > 0, "the completion queue did not overflow");
    }
}
