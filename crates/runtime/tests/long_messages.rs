//! Long messages are received into large buffers: more of them than there are, kept, mixed with short ones, dropped.

use brunt_runtime::{
    BackendKind, Runtime,
    net::{RecvBuf, TcpListener, TcpStream},
    spawn,
    time::timeout,
};
use std::time::Duration;

fn on_both(body: impl AsyncFn()) {
    for backend in [BackendKind::Uring, BackendKind::Epoll] {
        let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
        runtime.block_on(timeout(Duration::from_secs(120), body())).expect("the test hangs");
    }
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap())
}

async fn echo(mut stream: TcpStream) {
    while let Ok(lease) = stream.recv().await {
        if lease.is_empty() || stream.send(lease).await.is_err() {
            return;
        }
    }
}

fn message(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 4096 * 7 + seed) as u8).collect()
}

/// Sends a message and reads it back, whole.
async fn exchange(client: &mut TcpStream, message: &[u8]) -> Vec<u8> {
    client.write_all(message).await.unwrap();
    let mut answer = vec![0; message.len()];
    client.read_exact(&mut answer).await.unwrap();
    answer
}

/// Reads this many bytes as leases.
async fn leases(stream: &mut TcpStream, len: usize) -> Vec<RecvBuf> {
    let (mut leases, mut have) = (Vec::new(), 0);
    while have < len {
        let lease = stream.recv().await.unwrap();
        assert!(!lease.is_empty(), "the stream ended");
        have += lease.len();
        leases.push(lease);
    }
    leases
}

/// The bytes of leases, one after another.
fn bytes(leases: &[RecvBuf]) -> Vec<u8> {
    leases.iter().flat_map(|lease| lease.iter().copied()).collect()
}

#[test]
fn a_long_message_comes_in_few_pieces_and_short_ones_need_no_large_buffer() {
    on_both(async || {
        let (mut client, mut server) = pair().await;
        let sent = message(32 * 1024, 1);
        let mut fewest = usize::MAX;
        for _ in 0..20 {
            client.write_all(&sent).await.unwrap();
            let pieces = leases(&mut server, sent.len()).await;
            assert_eq!(bytes(&pieces), sent);
            fewest = fewest.min(pieces.len());
        }
        // Eight usual buffers at least; the client writes it in two sends.
        assert!(fewest <= 2, "{fewest} pieces at best");
        for i in 0..50 {
            client.write_all(&message(100, i)).await.unwrap();
            assert_eq!(bytes(&leases(&mut server, 100).await), message(100, i));
        }
    });
}

#[test]
fn long_and_short_messages_in_turn_are_whole() {
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
fn more_streams_than_large_buffers_all_get_through() {
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
fn large_buffers_that_are_all_lent_do_not_stop_anybody() {
    on_both(async || {
        let mut kept = Vec::new();
        for i in 0..40 {
            let (mut client, mut server) = pair().await;
            let sent = message(400_000, i);
            let writer = spawn(async move {
                client.write_all(&sent).await.unwrap();
                client
            });
            kept.push((i, leases(&mut server, 400_000).await, server));
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
