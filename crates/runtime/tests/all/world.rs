//! What a worker does in time, in the simulated world.

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::sim::{Faults, Settings, World};
use brunt_runtime::time::{now, sleep, timeout};
use brunt_runtime::{Runtime, metrics, spawn};
use std::future::{Future, pending, poll_fn};
use std::net::SocketAddr;
use std::{pin::pin, task::Poll, time::Duration};

const MS: Duration = Duration::from_millis(1);

fn address() -> SocketAddr {
    ([127, 0, 0, 1], 80).into()
}

#[test]
fn accepting_pauses_for_20_ms_without_descriptors_and_resumes() {
    let faults = Faults { out_of_descriptors: 1.0, ..Faults::default() };
    let world = World::with_settings(1, Settings { faults, ..Settings::default() });
    let host = world.clone();
    world
        .run(async move {
            let listener = TcpListener::bind(address()).unwrap();
            let mut clients = Vec::new();
            for _ in 0..20 {
                clients.push(TcpStream::connect(address()).await.unwrap());
            }
            let before = metrics().accept_pauses;
            assert!(timeout(990 * MS, listener.accept()).await.is_err());
            // One every 20 ms and a turn.
            let pauses = metrics().accept_pauses - before;
            assert!((49..=50).contains(&pauses), "{pauses}");
            host.change(|settings| settings.faults.out_of_descriptors = 0.0);
            let begun = now();
            for _ in 0..clients.len() {
                listener.accept().await.unwrap();
            }
            assert!(now() - begun < 21 * MS, "{:?}", now() - begun);
        })
        .unwrap();
}

#[test]
fn a_timer_begun_on_one_runtime_is_right_on_another() {
    let _world = World::new(1);
    let build = || Runtime::builder().build().unwrap();
    let (first, second) = (build(), build());
    let (wait, start) = (30 * MS, now());
    let mut moved = pin!(sleep(wait));
    // A timer of the second runtime has the same slot as the moved one in the first.
    let mut other = pin!(sleep(MS));
    let mut begin = |runtime: &Runtime, which: bool| {
        runtime.block_on(poll_fn(|cx| {
            let polled = if which { moved.as_mut().poll(cx) } else { other.as_mut().poll(cx) };
            assert!(polled.is_pending());
            Poll::Ready(())
        }))
    };
    begin(&first, true);
    begin(&second, false);
    second.block_on(async {
        other.await;
        moved.await;
    });
    let took = now() - start;
    assert!((wait..wait + MS / 10).contains(&took), "{took:?}");
}

/// For as long as a dropped stream would, however many there are.
#[test]
fn dropping_a_runtime_waits_once_for_peers_that_never_read() {
    for held in ["by a task", "not at all", "by the caller"] {
        let world = World::new(1);
        let build = || Runtime::builder().build().unwrap();
        let (peer, runtime) = (build(), build());
        // Its queue has the connections; it never runs again.
        let listener = peer.block_on(async { TcpListener::bind(address()).unwrap() });
        let kept = runtime.block_on(async {
            let mut streams = Vec::new();
            for _ in 0..5 {
                let mut stream = TcpStream::connect(address()).await.unwrap();
                while timeout(10 * MS, stream.write_all(&[7; 16_384])).await.is_ok() {}
                streams.push(stream);
            }
            match held {
                "by a task" => {
                    spawn(async move {
                        let _streams = streams;
                        pending::<()>().await;
                    });
                    brunt_runtime::yield_now().await;
                    None
                }
                "not at all" => None,
                _ => Some(streams),
            }
        });
        let before = world.elapsed();
        drop(runtime);
        let took = world.elapsed() - before;
        assert!(took >= 5000 * MS && took < 5002 * MS, "streams held {held}: {took:?}");
        drop((kept, listener));
    }
}

#[test]
fn a_long_message_takes_few_segments_and_short_ones_no_large_buffer() {
    let read = async |stream: &mut TcpStream, len: usize| {
        let (mut pieces, mut bytes) = (0, Vec::new());
        while bytes.len() < len {
            bytes.extend_from_slice(&stream.recv().await.unwrap());
            pieces += 1;
        }
        (pieces, bytes)
    };
    World::new(1)
        .run(async {
            let listener = TcpListener::bind(address()).unwrap();
            let mut client = TcpStream::connect(address()).await.unwrap();
            let mut server = listener.accept().await.unwrap();
            let sent: Vec<u8> = (0..32 * 1024).map(|i| (i * 31 + i / 4096 * 7) as u8).collect();
            let mut fewest = usize::MAX;
            for _ in 0..20 {
                client.write_all(&sent).await.unwrap();
                let (pieces, bytes) = read(&mut server, sent.len()).await;
                assert!(bytes == sent);
                fewest = fewest.min(pieces);
            }
            // At least eight usual buffers; the client writes it in two sends.
            assert!(fewest <= 2, "{fewest} segments at best");
            for i in 0..50 {
                client.write_all(&[i; 100]).await.unwrap();
                assert_eq!(read(&mut server, 100).await, (1, vec![i; 100]));
            }
        })
        .unwrap();
}
