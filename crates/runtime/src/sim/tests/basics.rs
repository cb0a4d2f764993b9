//! Time, connections, workers, and what a run reports when it cannot go on.

use super::super::{Settings, Stopped, World};
use super::{listener, pair, serve};
use crate::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use crate::time::{self, sleep, timeout};
use crate::{Builder, Handle, Runtime, spawn};
use std::io::ErrorKind;
use std::net::Shutdown;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn an_hour_takes_no_time_and_timers_fire_when_they_are_due() {
    let real = Instant::now();
    let world = World::new(1);
    let late = world.run(async {
        let start = time::now();
        sleep(HOUR).await;
        assert!(timeout(HOUR, std::future::pending::<()>()).await.is_err());
        time::now() - start - 2 * HOUR
    });
    assert!(late.unwrap() < Duration::from_micros(50), "what the turns cost");
    assert!(world.elapsed() >= 2 * HOUR && real.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_worker_that_is_always_ready_does_not_stop_the_clock() {
    World::new(1)
        .run(async {
            let start = time::now();
            spawn(async {
                loop {
                    crate::yield_now().await;
                }
            });
            // Waits for a time without giving the worker back.
            while time::now() < start + Duration::from_millis(1) {}
            sleep(Duration::from_millis(1)).await;
        })
        .unwrap();
}

#[test]
fn names_are_those_of_the_world_and_port_0_is_a_free_one() {
    World::new(1)
        .run(async {
            let (first, address) = listener();
            assert_eq!(first.local_addr().unwrap(), address);
            assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
            let other = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap().local_addr().unwrap();
            assert!(other.port() >= 32_768, "{other}");
            let client = TcpStream::connect(address).await.unwrap();
            let server = first.accept().await.unwrap();
            assert_eq!(client.peer_addr().unwrap(), address);
            assert_eq!(server.local_addr().unwrap(), address);
            assert_eq!(server.peer_addr().unwrap(), client.local_addr().unwrap());
            drop(first);
            assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            TcpListener::bind(address).unwrap();
        })
        .unwrap();
}

#[test]
fn bytes_of_both_directions_arrive_in_order_through_full_windows() {
    let settings = Settings { send_buffer: 5000, receive_window: 3000, ..Settings::rough() };
    let world = World::with_settings(3, settings);
    let bytes: Vec<u8> = (0..300_000u32).map(|at| (at ^ (at >> 8)) as u8).collect();
    let received = world.run(async {
        let (mut client, server) = pair().await;
        spawn(super::echo(server));
        let (mut reader, mut writer) = client.split();
        let mut received = vec![0; bytes.len()];
        futures_lite::future::try_zip(writer.write_all(&bytes), reader.read_exact(&mut received)).await.unwrap();
        received
    });
    assert!(received.unwrap() == bytes);
}

#[test]
fn ends_and_half_closes_are_orderly() {
    World::new(1)
        .run(async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"all").await.unwrap();
            client.shutdown(Shutdown::Write).await.unwrap();
            let mut all = [0; 3];
            server.read_exact(&mut all).await.unwrap();
            assert!(server.recv().await.unwrap().is_empty());
            server.write_all(b"answer").await.unwrap();
            drop(server);
            assert_eq!(*client.recv().await.unwrap(), *b"answer");
            assert!(client.recv().await.unwrap().is_empty());
        })
        .unwrap();
}

#[test]
fn a_listener_that_is_dropped_resets_those_that_wait_at_it() {
    for settle in [Duration::ZERO, Duration::from_millis(1)] {
        World::new(1)
            .run(async {
                let (first, address) = listener();
                let _ = timeout(Duration::from_millis(1), first.accept()).await;
                let mut client = TcpStream::connect(address).await.unwrap();
                sleep(settle).await;
                drop(first);
                let end = client.read(&mut [0; 9]).await.map_err(|error| error.kind());
                assert_eq!(end, Err(ErrorKind::ConnectionReset));
            })
            .unwrap();
    }
}

#[test]
fn unix_sockets_are_found_by_path_and_leave_no_file() {
    World::new(1)
        .run(async {
            let path = "/nowhere/socket";
            assert_eq!(UnixStream::connect(path).await.unwrap_err().kind(), ErrorKind::NotFound);
            let listener = UnixListener::bind(path).unwrap();
            assert_eq!(UnixListener::bind(path).unwrap_err().kind(), ErrorKind::AddrInUse);
            let mut client = UnixStream::connect(path).await.unwrap();
            let mut server = listener.accept().await.unwrap();
            client.write_all(b"hello").await.unwrap();
            assert_eq!(*server.recv().await.unwrap(), *b"hello");
            assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(path.as_ref()));
            let (mut one, mut other) = UnixStream::pair().unwrap();
            one.write_all(b"pair").await.unwrap();
            drop(one);
            assert_eq!(*other.recv().await.unwrap(), *b"pair");
            assert!(other.recv().await.unwrap().is_empty());
        })
        .unwrap();
}

#[test]
fn a_deadlock_is_an_error_that_names_what_each_task_waits_for() {
    async fn waits_for_a_request(mut stream: TcpStream) {
        stream.recv().await.unwrap();
    }
    let stopped = World::new(1)
        .run(async {
            let (client, server) = pair().await;
            spawn(waits_for_a_request(server));
            let (listener, _) = listener();
            let _client = client;
            listener.accept().await.unwrap();
        })
        .unwrap_err();
    let text = stopped.to_string();
    for part in ["deadlock", "waits_for_a_request", "reads 127.0.0.1:32768", "accepts at 127.0.0.1:80"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_run_without_an_end_ends_at_the_limit_of_turns() {
    let world = World::with_settings(1, Settings { most_turns: 1000, ..Settings::default() });
    let stopped: Result<(), Stopped> = world.run(async {
        loop {
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert!(stopped.unwrap_err().to_string().contains("1001 turns"));
}

#[test]
fn runtimes_built_by_the_program_are_workers_of_the_world() {
    let world = World::new(1);
    let runtime = Runtime::new().unwrap();
    let port = runtime.block_on(async {
        let (listener, address) = listener();
        spawn(serve(listener));
        address.port()
    });
    assert_eq!(port, 80);
    runtime.block_on(async {
        let mut client = TcpStream::connect(([127, 0, 0, 1], port).into()).await.unwrap();
        client.write_all(b"x").await.unwrap();
        assert_eq!(*client.recv().await.unwrap(), *b"x");
    });
    drop(runtime);
    drop(world);
    // Now on the real kernel again.
    Runtime::new().unwrap().block_on(async {
        let address = ([127, 0, 0, 1], port).into();
        let start = Instant::now();
        assert!(TcpStream::connect(address).await.is_err() || start.elapsed() > Duration::ZERO);
    });
}

#[test]
fn workers_have_cores_of_their_own_and_wake_each_other() {
    let world = World::new(1);
    let (to_server, requests) = async_channel::unbounded::<Handle>();
    let (sender, port) = async_channel::bounded(1);
    let server = async move {
        let (listener, address) = listener();
        sender.send(address).await.unwrap();
        spawn(async move {
            while let Ok(handle) = requests.recv().await {
                drop(handle.spawn(async || time::sleep(Duration::from_secs(1)).await).await);
            }
        });
        serve(listener).await;
    };
    world.spawn_worker(&Builder::default(), server).unwrap();
    let busy = async {
        loop {
            time::advance(Duration::from_secs(1)).await;
        }
    };
    world.spawn_worker(&Builder::default(), busy).unwrap();
    world
        .run(async {
            let mut client = TcpStream::connect(port.recv().await.unwrap()).await.unwrap();
            to_server.send(Handle::current()).await.unwrap();
            let start = time::now();
            client.write_all(b"x").await.unwrap();
            assert_eq!(*client.recv().await.unwrap(), *b"x");
            assert!(time::now() - start < Duration::from_millis(1), "the busy worker delays no other");
            sleep(Duration::from_secs(2)).await;
        })
        .unwrap();
}

#[test]
fn blocking_work_runs_at_once() {
    let here = std::thread::current().id();
    let there = World::new(1).run(crate::spawn_blocking(|| std::thread::current().id()));
    assert_eq!(there.unwrap().unwrap(), here);
}
