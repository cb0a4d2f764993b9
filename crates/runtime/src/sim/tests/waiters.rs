//! Several futures wait for the same events, and some are dropped meanwhile: none takes the wake-up of another. In each seed one
//! task is patient; whatever the others do, every event is taken by one of them.

use super::super::World;
use super::{MS, listener, pair};
use crate::net::{AsyncFd, TcpStream, UdpSocket};
use crate::time::{sleep, timeout};
use crate::{CancellationToken, JoinError, JoinSet, TaskTracker, spawn, sys};
use futures_lite::future::{or, poll_once};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};
use std::{io, net, rc::Rc, time::Duration};

const SEEDS: u64 = 200;
const EVENTS: usize = 30;

/// How a task waits.
#[derive(Clone, Copy)]
enum Manner {
    Patient,
    /// Gives up after a while that the seed decides, and begins again.
    GivesUp,
    /// Polls once, and drops the future in a later turn.
    Looks,
    /// Waits twice at the same time, with wakers of a combinator.
    Twice,
}

/// Runs tasks that wait for events, each of which one of them takes, beside `cause`, which makes them.
async fn race<W, E>(world: &World, wait: impl Fn() -> W + Clone + 'static, cause: impl Fn() -> E)
where
    W: Future<Output = ()> + 'static,
    E: Future<Output = ()>,
{
    let taken = Rc::new(Cell::new(0));
    let pause = |most: u64| Duration::from_micros(world.random() % most);
    for nth in 0..2 + world.random() % 4 {
        let manner = [Manner::Patient, Manner::GivesUp, Manner::Looks, Manner::Twice][nth.min(3) as usize];
        let (wait, taken, patience) = (wait.clone(), taken.clone(), pause(200));
        spawn(async move {
            loop {
                let took = match manner {
                    Manner::Patient => {
                        wait().await;
                        Some(())
                    }
                    Manner::GivesUp => timeout(patience, wait()).await.ok(),
                    Manner::Looks => {
                        let mut wait = Box::pin(wait());
                        let took = poll_once(&mut wait).await;
                        sleep(patience).await;
                        took
                    }
                    Manner::Twice => timeout(patience, or(wait(), wait())).await.ok(),
                };
                taken.set(taken.get() + usize::from(took.is_some()));
            }
        });
    }
    for _ in 0..EVENTS {
        sleep(pause(150)).await;
        cause().await;
    }
    sleep(100 * MS).await;
    assert_eq!(taken.get(), EVENTS);
}

fn in_worlds(run: impl AsyncFn(&World)) {
    for seed in 0..SEEDS {
        let world = World::new(seed);
        world.run(run(&world)).unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}"));
    }
}

#[test]
fn every_connection_is_accepted() {
    in_worlds(async |world| {
        let (listener, address) = listener();
        let (listener, clients) = (Rc::new(listener), RefCell::new(Vec::new()));
        let wait = move || {
            let listener = listener.clone();
            async move { drop(listener.accept().await.unwrap()) }
        };
        let connect = async || {
            let client = TcpStream::connect(address).await.unwrap();
            clients.borrow_mut().push(client);
        };
        race(world, wait, connect).await;
    });
}

#[test]
fn every_datagram_is_received() {
    in_worlds(async |world| {
        let bind = || UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (here, there) = (bind(), Rc::new(bind()));
        let to = there.local_addr().unwrap();
        let wait = move || {
            let there = there.clone();
            async move {
                there.recv_from(&mut [0; 8]).await.unwrap();
            }
        };
        race(world, wait, async || {
            here.send_to(b"event", to).await.unwrap();
        })
        .await;
    });
}

#[test]
fn every_readiness_is_seen() {
    in_worlds(async |world| {
        let bind = || UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (here, there) = (bind(), bind());
        let to = there.local_addr().unwrap();
        let socket: net::UdpSocket = there.as_ref().try_clone().unwrap();
        sys::adopt(std::os::fd::AsFd::as_fd(&socket)).unwrap();
        let fd = Rc::new(AsyncFd::new(socket));
        let wait = move || {
            let fd = fd.clone();
            async move {
                loop {
                    fd.readable().await.unwrap();
                    match sys::receive_datagram(fd.get_ref(), &mut [0; 8]) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                        received => break assert_eq!(received.unwrap().0, 5),
                    }
                }
            }
        };
        race(world, wait, async || {
            here.send_to(b"event", to).await.unwrap();
        })
        .await;
    });
}

#[test]
fn a_cancelled_token_wakes_all_that_still_wait() {
    in_worlds(async |world| {
        let (token, ended) = (CancellationToken::new(), Rc::new(Cell::new(0)));
        let tasks = 2 + world.random() % 6;
        for _ in 0..tasks {
            let (token, ended, patience) = (token.clone(), ended.clone(), Duration::from_micros(world.random() % 90));
            spawn(async move {
                let _ = timeout(patience, token.cancelled()).await;
                token.cancelled().await;
                ended.set(ended.get() + 1);
            });
        }
        sleep(Duration::from_micros(world.random() % 100)).await;
        token.cancel();
        sleep(MS).await;
        assert_eq!(ended.get(), tasks);
    });
}

/// One task alone may wait for a set at a time: it gives up, asks without waiting, looks once, and waits.
#[test]
fn every_task_of_a_set_is_joined() {
    in_worlds(async |world| {
        let pause = |most: u64| Duration::from_micros(world.random() % most);
        let (mut set, mut joined) = (JoinSet::new(), 0);
        for _ in 0..EVENTS {
            set.spawn(sleep(pause(2000)));
        }
        while joined < EVENTS {
            let end = match world.random() % 4 {
                0 => set.try_join_next(),
                1 => poll_once(set.join_next()).await.flatten(),
                2 => timeout(pause(90), set.join_next()).await.ok().flatten(),
                _ => timeout(100 * MS, poll_fn(|cx| poll_then_ask(&mut set, cx))).await.expect("a wake-up is lost"),
            };
            joined += usize::from(end.is_some());
            sleep(pause(50)).await;
        }
        assert!(set.is_empty());
    });
}

fn poll_then_ask(set: &mut JoinSet<()>, cx: &mut Context<'_>) -> Poll<Option<Result<(), JoinError>>> {
    let polled = set.poll_join_next(cx);
    if polled.is_pending()
        && let Some(end) = set.try_join_next()
    {
        return Poll::Ready(Some(end));
    }
    polled
}

#[test]
fn a_tracker_wakes_all_that_still_wait() {
    in_worlds(async |world| {
        let (tracker, ended) = (TaskTracker::new(), Rc::new(Cell::new(0)));
        let pause = |most: u64| Duration::from_micros(world.random() % most);
        for _ in 0..1 + world.random() % 5 {
            drop(tracker.spawn(sleep(pause(200))));
        }
        let waiters = 2 + world.random() % 6;
        for _ in 0..waiters {
            let (tracker, ended, patience) = (tracker.clone(), ended.clone(), pause(90));
            spawn(async move {
                let _ = timeout(patience, tracker.wait()).await;
                tracker.wait().await;
                ended.set(ended.get() + 1);
            });
        }
        sleep(MS).await;
        assert_eq!(ended.get(), waiters);
    });
}

/// Whichever way the reads before were given up.
#[test]
fn every_piece_is_read() {
    in_worlds(async |world| {
        let (mut writer, mut reader) = pair().await;
        let got = Rc::new(Cell::new(0));
        let (count, patience) = (got.clone(), Duration::from_micros(world.random() % 200));
        spawn(async move {
            let mut into = [0; 3];
            for turn in 0.. {
                let len = match turn % 5 {
                    0 => timeout(patience, reader.recv()).await.ok().map(|part| part.unwrap().len()),
                    1 => poll_once(reader.read(&mut into)).await.map(Result::unwrap),
                    2 => timeout(patience, reader.read(&mut into)).await.ok().map(Result::unwrap),
                    3 => poll_once(reader.recv()).await.map(|part| part.unwrap().len()),
                    _ => Some(reader.read(&mut into).await.unwrap()),
                };
                count.set(count.get() + len.unwrap_or(0));
            }
        });
        for _ in 0..EVENTS {
            sleep(Duration::from_micros(world.random() % 150)).await;
            writer.write_all(b"event").await.unwrap();
        }
        sleep(100 * MS).await;
        assert_eq!(got.get(), 5 * EVENTS);
    });
}
