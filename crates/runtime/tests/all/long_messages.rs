//! Long messages are received into large buffers: exhausted, kept, dropped, and mixed with short messages.

use crate::shared::{backends, echo, on, pair};
use brunt_runtime::net::{RecvBuf, TcpStream};
use brunt_runtime::spawn;

fn on_both(body: impl AsyncFn()) {
    backends().into_iter().for_each(|backend| on(backend, body()));
}

fn message(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 4096 * 7 + seed) as u8).collect()
}

/// Sends a message and reads it back.
async fn exchange(client: &mut TcpStream, message: &[u8]) -> Vec<u8> {
    client.write_all(message).await.unwrap();
    let mut answer = vec![0; message.len()];
    client.read_exact(&mut answer).await.unwrap();
    answer
}

/// Receives that many bytes.
async fn buffers(stream: &mut TcpStream, len: usize) -> Vec<RecvBuf> {
    let (mut buffers, mut have) = (Vec::new(), 0);
    while have < len {
        let received = stream.recv().await.unwrap();
        assert!(!received.is_empty(), "the stream ended");
        have += received.len();
        buffers.push(received);
    }
    buffers
}

/// The concatenated bytes.
fn bytes(buffers: &[RecvBuf]) -> Vec<u8> {
    buffers.iter().flat_map(|received| received.iter().copied()).collect()
}

#[test]
fn alternating_long_and_short_messages_are_complete() {
    on_both(async || {
        let (mut client, server) = pair().await;
        spawn(echo(server));
        for (i, len) in [1, 4095, 4096, 4097, 100_000, 7, 7, 7, 7, 7, 7, 7, 7, 7, 50_000, 1, 32_768, 32_769, 3, 1 << 20]
            .into_iter()
            .cycle()
            .take(60)
            .enumerate()
        {
            let sent = message(len, i);
            assert!(exchange(&mut client, &sent).await == sent, "message {i} of {len} bytes");
        }
    });
}

#[test]
fn more_streams_than_large_buffers_are_all_served() {
    on_both(async || {
        let mut tasks = Vec::new();
        for i in 0..150 {
            let (mut client, server) = pair().await;
            spawn(echo(server));
            tasks.push(spawn(async move {
                for round in 0..4 {
                    let sent = message(60_000 + i, i + round);
                    assert!(exchange(&mut client, &sent).await == sent, "stream {i}, round {round}");
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn lending_all_large_buffers_stops_no_stream() {
    on_both(async || {
        let mut kept = Vec::new();
        for i in 0..40 {
            let (mut client, mut server) = pair().await;
            let sent = message(400_000, i);
            let writer = spawn(async move {
                client.write_all(&sent).await.unwrap();
                client
            });
            kept.push((i, buffers(&mut server, 400_000).await, server));
            writer.await.unwrap();
        }
        let (mut client, server) = pair().await;
        spawn(echo(server));
        let sent = message(200_000, 99);
        assert!(exchange(&mut client, &sent).await == sent);
        for (i, pieces, _) in &kept {
            assert!(bytes(pieces) == message(400_000, *i), "stream {i} after it was kept");
        }
        drop(kept);
        assert!(exchange(&mut client, &sent).await == sent);
    });
}
