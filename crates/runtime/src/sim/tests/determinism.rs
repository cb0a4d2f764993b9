//! Equal seeds give equal runs, whatever the world does to the program; unequal ones, unequal runs.
//!
//! Soak: `BRUNT_SEEDS=10000 cargo test -p brunt-runtime --lib determinism`

use super::super::{Faults, Settings, World};
use super::{listener, serve};
use crate::net::{TcpStream, UdpSocket};
use crate::time::{sleep, timeout};
use crate::{Builder, JoinSet, spawn};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// Clients with timeouts and retries, a server, datagrams, a second worker, pauses. Returns digest, time and replies.
fn program(seed: u64, settings: Settings) -> (u64, Duration, usize) {
    let world = World::with_settings(seed, settings);
    world.pause(Duration::from_millis(3), Duration::from_millis(2));
    let background = async {
        let socket = UdpSocket::bind("127.0.0.1:9".parse().unwrap()).unwrap();
        let mut into = [0; 100];
        while let Ok(got) = socket.recv_from(&mut into).await {
            let _ = socket.send_to(&into[..got.len], got.from).await;
        }
    };
    world.spawn_worker(&Builder::default(), background).unwrap();
    let chooser = world.clone();
    let replies = world.run(async move {
        let (listener, address) = listener();
        spawn(serve(listener));
        let mut clients = JoinSet::new();
        for number in 0..6 {
            let world = chooser.clone();
            clients.spawn(async move {
                let mut replies = 0;
                for _ in 0..4 {
                    let Ok(mut stream) = TcpStream::connect(address).await else { continue };
                    for _ in 0..5 {
                        let message = vec![number; 1 + world.random() as usize % 6000];
                        let mut reply = vec![0; message.len()];
                        let exchange = async {
                            stream.write_all(&message).await?;
                            stream.read_exact(&mut reply).await
                        };
                        match timeout(Duration::from_micros(900), exchange).await {
                            Ok(Ok(())) => replies += usize::from(reply == message),
                            _ => break,
                        }
                    }
                }
                let socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                socket.send_to(&[number], "127.0.0.1:9".parse().unwrap()).await.unwrap();
                let answer = timeout(Duration::from_millis(2), socket.recv_from(&mut [0; 9])).await;
                replies + usize::from(answer.is_ok())
            });
        }
        let mut replies = 0;
        while let Some(client) = clients.join_next().await {
            replies += client.unwrap();
        }
        sleep(Duration::from_millis(1)).await;
        replies
    });
    (world.trace_digest(), world.elapsed(), replies.unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}")))
}

fn hostile() -> Settings {
    let mut settings = Settings::rough();
    settings.faults = Faults {
        reset: 0.01,
        refused: 0.05,
        out_of_descriptors: 0.02,
        no_buffers: 0.01,
        lost: 0.1,
        duplicated: 0.1,
        ..settings.faults
    };
    settings
}

#[test]
fn equal_seeds_give_equal_runs_and_other_seeds_others() {
    let mut digests = std::collections::BTreeSet::new();
    let mut replies = 0;
    let seeds = brunt_testkit::number("BRUNT_SEEDS").unwrap_or(300);
    for seed in 0..seeds {
        let first = program(seed, hostile());
        assert_eq!(first, program(seed, hostile()), "seed {seed}");
        digests.insert(first.0);
        replies += first.2;
    }
    assert_eq!(digests.len(), seeds as usize);
    assert!(replies as u64 > seeds * 30, "{replies} replies: the faults leave nothing");
}

#[test]
fn without_faults_and_jitter_the_seed_decides_nothing_but_the_programs_own_draws() {
    let fixed = |seed| {
        let world = World::new(seed);
        let run = world.run(async {
            let (listener, address) = listener();
            spawn(serve(listener));
            let mut client = TcpStream::connect(address).await.unwrap();
            for _ in 0..100 {
                client.write_all(b"ping").await.unwrap();
                client.read_exact(&mut [0; 4]).await.unwrap();
            }
        });
        run.unwrap();
        (world.trace_digest(), world.elapsed())
    };
    assert_eq!(fixed(1), fixed(2));
}

/// Digest of a world in the middle of which `meanwhile` is called.
fn digest_with(meanwhile: impl FnOnce()) -> u64 {
    let world = World::new(1);
    let run = world.run(async {
        sleep(Duration::from_millis(1)).await;
        meanwhile();
        sleep(Duration::from_millis(1)).await;
    });
    run.unwrap();
    world.trace_digest()
}

/// Wakers outlive their worker, for example those that the other workers of a world hold.
#[test]
fn a_waker_of_a_world_that_has_ended_changes_nothing_in_the_world_of_another_thread() {
    let undisturbed = digest_with(|| ());
    let stale = thread::spawn(|| World::new(2).run(poll_fn(|cx| Poll::Ready(cx.waker().clone()))).unwrap());
    let stale: Waker = stale.join().unwrap();
    let disturbed = digest_with(|| thread::spawn(|| stale.wake()).join().unwrap());
    assert_eq!(disturbed, undisturbed);
}
