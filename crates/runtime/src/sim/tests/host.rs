//! A host that pauses and slows down, and faults.

use super::super::{Faults, Link, Settings, World};
use super::{listener, pair, serve};
use crate::net::{TcpListener, TcpStream};
use crate::time::{self, sleep, timeout};
use crate::{Builder, spawn};
use std::io::ErrorKind;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn in_a_pause_timers_are_late_and_data_piles_up() {
    let world = World::new(1);
    world.pause(10 * MS, 950 * MS);
    let at = world.clone();
    world
        .run(async move {
            let (mut client, mut server) = pair().await;
            client.write_all(&[1; 100]).await.unwrap();
            server.recv().await.unwrap();
            sleep(5 * MS).await;
            let mut interval = time::interval(MS);
            let (mut ticks, mut longest, mut before) = (0, Duration::ZERO, time::now());
            while at.elapsed() < 1000 * MS {
                interval.tick().await;
                longest = longest.max(time::now() - before);
                before = time::now();
                ticks += 1;
            }
            assert!((950 * MS..952 * MS).contains(&longest), "{longest:?}");
            assert!((42..50).contains(&ticks), "missed ticks are merged: {ticks}");
        })
        .unwrap();
}

#[test]
fn what_arrives_in_a_pause_is_read_at_once_after_it() {
    let world = World::with_settings(1, Settings { link: Link::with_latency(2 * MS), ..Settings::default() });
    let host = world.clone();
    let (len, waited) = world
        .run(async move {
            let (mut client, mut server) = pair().await;
            let start = time::now();
            host.pause(host.elapsed() + MS, 50 * MS);
            // All leave before the pause and arrive, one by one, within it.
            for _ in 0..10 {
                client.write_all(&[7; 10]).await.unwrap();
                client.flush().await.unwrap();
            }
            (server.recv().await.unwrap().len(), time::now() - start)
        })
        .unwrap();
    assert_eq!(len, 100);
    assert!((51 * MS..52 * MS).contains(&waited), "{waited:?}");
}

#[test]
fn a_stream_dropped_with_bytes_that_nobody_reads_is_closed_after_its_limit() {
    World::new(1)
        .run(async {
            let (mut client, mut server) = pair().await;
            let never = timeout(MS, client.write_all(&[7; 4 << 20])).await;
            assert!(never.is_err());
            drop(client);
            sleep(Duration::from_millis(4900)).await;
            assert_eq!(crate::metrics().connections, 2, "its send is still in flight");
            sleep(Duration::from_millis(200)).await;
            assert_eq!(crate::metrics().connections, 1);
            let mut got = 0;
            while let Ok(part @ 1..) = server.read(&mut [0; 9999]).await {
                got += part;
            }
            assert!((128 << 10..1 << 20).contains(&got), "what the buffers held: {got}");
        })
        .unwrap();
}

#[test]
fn work_takes_as_many_times_as_long_as_the_host_is_slow() {
    let turns = |factor| {
        let world = World::new(1);
        world.slow(Duration::ZERO, Duration::from_secs(10), factor);
        world
            .run(async {
                for _ in 0..1000 {
                    crate::yield_now().await;
                }
            })
            .unwrap();
        world.elapsed()
    };
    assert_eq!(turns(10), turns(1) * 10);
}

fn with_faults(faults: Faults) -> World {
    World::with_settings(5, Settings { faults, ..Settings::default() })
}

#[test]
fn faults_are_errors_that_the_program_sees() {
    let kinds = |faults: Faults| -> Result<(), ErrorKind> {
        with_faults(faults)
            .run(async {
                let (listener, address) = listener();
                spawn(serve(listener));
                let mut client = TcpStream::connect(address).await.map_err(|error| error.kind())?;
                for _ in 0..200 {
                    let exchange = async {
                        client.write_all(b"ping").await?;
                        client.flush().await?;
                        client.read_exact(&mut [0; 4]).await
                    };
                    let done = timeout(Duration::from_secs(1), exchange).await.map_err(|_| ErrorKind::TimedOut)?;
                    done.map_err(|error| error.kind())?;
                }
                Ok(())
            })
            .unwrap()
    };
    assert_eq!(kinds(Faults::default()), Ok(()));
    assert_eq!(kinds(Faults { refused: 1.0, ..Faults::default() }), Err(ErrorKind::ConnectionRefused));
    assert_eq!(kinds(Faults { reset: 0.1, ..Faults::default() }), Err(ErrorKind::ConnectionReset));
    assert!(kinds(Faults { no_buffers: 0.1, ..Faults::default() }).is_err());
    let harmless = Faults {
        interrupted: 0.3,
        short_read: 0.5,
        short_write: 0.5,
        delayed_completion: 0.5,
        any_order: true,
        ..Faults::default()
    };
    assert_eq!(kinds(harmless), Ok(()));
}

#[test]
fn accepting_pauses_while_descriptors_are_out() {
    let world = with_faults(Faults { out_of_descriptors: 1.0, ..Faults::default() });
    let host = world.clone();
    world
        .run(async move {
            let (listener, address) = listener();
            spawn(serve(listener));
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(b"ping").await.unwrap();
            let answer = timeout(100 * MS, client.recv()).await;
            assert!(answer.is_err() && crate::metrics().accept_pauses >= 4);
            host.change(|settings| settings.faults = Faults::default());
            assert_eq!(*client.recv().await.unwrap(), *b"ping");
        })
        .unwrap();
}

#[test]
fn a_full_queue_makes_connects_wait_for_the_next_attempt() {
    World::with_settings(1, Settings { backlog: 1, ..Settings::default() })
        .run(async {
            let (listener, address) = listener();
            let _two = (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
            let third = spawn(async move { TcpStream::connect(address).await.map(|_| time::now()) });
            let start = time::now();
            sleep(300 * MS).await;
            let _accepted = listener.accept().await.unwrap();
            let waited = third.await.unwrap().unwrap() - start;
            assert!((1000 * MS..1001 * MS).contains(&waited), "{waited:?}");
            assert!(TcpListener::bind(address).is_err());
        })
        .unwrap();
}

#[test]
fn a_worker_that_ends_leaves_the_others_running() {
    let world = World::new(1);
    for _ in 0..3 {
        world.spawn_worker(&Builder::default(), async { sleep(MS).await }).unwrap();
    }
    world.run(async { sleep(Duration::from_secs(1)).await }).unwrap();
}
