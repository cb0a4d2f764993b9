//! Links and datagrams.

use super::super::{Direction, Faults, Link, Settings, World};
use super::{listener, pair, serve};
use crate::net::{TcpStream, UdpSocket};
use crate::spawn;
use crate::time::{self, sleep, timeout};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn linked(link: Link) -> World {
    World::with_settings(1, Settings { link, ..Settings::default() })
}

#[test]
fn each_direction_has_its_delay_which_can_be_changed() {
    let to_client = Direction { latency: 30 * MS, ..Direction::default() };
    let world = linked(Link { to_server: Direction { latency: 5 * MS, ..Direction::default() }, to_client });
    let host = world.clone();
    world
        .run(async move {
            let (listener, address) = listener();
            spawn(serve(listener));
            let start = time::now();
            let mut client = TcpStream::connect(address).await.unwrap();
            let connected = time::now();
            assert!((35 * MS..36 * MS).contains(&(connected - start)), "{:?}", connected - start);
            client.write_all(b"ping").await.unwrap();
            client.recv().await.unwrap();
            let answered = time::now();
            assert!((35 * MS..36 * MS).contains(&(answered - connected)), "{:?}", answered - connected);
            host.change(|settings| settings.link = Link::with_latency(MS));
            client.write_all(b"ping").await.unwrap();
            client.recv().await.unwrap();
            assert!((2 * MS..3 * MS).contains(&(time::now() - answered)));
        })
        .unwrap();
}

#[test]
fn bandwidth_and_windows_bound_the_rate() {
    let seconds = |bytes_per_second, window: usize, latency| {
        let direction = Direction { latency, bytes_per_second, ..Direction::default() };
        let link = Link { to_server: direction, to_client: Direction { latency, ..Direction::default() } };
        let settings = Settings { link, receive_window: window, send_buffer: 1 << 20, ..Settings::default() };
        World::with_settings(1, settings)
            .run(async {
                let (mut client, mut server) = pair().await;
                let start = time::now();
                let reader = spawn(async move {
                    let mut got = 0;
                    while got < 1 << 20 {
                        got += server.recv().await.unwrap().len();
                    }
                });
                client.write_all(&vec![1; 1 << 20]).await.unwrap();
                reader.await.unwrap();
                (time::now() - start).as_secs_f64()
            })
            .unwrap()
    };
    let limited = seconds(Some(1 << 20), 1 << 20, MS);
    assert!((1.0..1.01).contains(&limited), "{limited}");
    // A window a round trip: 64 KiB each 20 ms.
    let windowed = seconds(None, 64 << 10, 10 * MS);
    assert!((0.30..0.35).contains(&windowed), "{windowed}");
}

fn address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

#[test]
fn datagrams_go_to_their_address_and_a_refusal_is_one_error() {
    World::new(1)
        .run(async {
            let (here, there) = (UdpSocket::bind(address(0)).unwrap(), UdpSocket::bind(address(7)).unwrap());
            here.send_to(b"ping", address(7)).await.unwrap();
            let mut buffer = [0; 3];
            let got = there.recv_from(&mut buffer).await.unwrap();
            assert!(got.is_truncated() && got.sent_len == 4 && got.from == here.local_addr().unwrap());
            let too_long = here.send_to(&[0; 70_000], address(7)).await.unwrap_err();
            assert_eq!(crate::os_error(&too_long), Some(libc::EMSGSIZE));
            crate::net::TcpListener::bind(address(7)).expect("TCP has ports of its own");
            assert_eq!(UdpSocket::bind(address(7)).unwrap_err().kind(), ErrorKind::AddrInUse);
            drop(there);
            here.connect(address(7)).unwrap();
            here.send(b"gone").await.unwrap();
            let refused = here.recv(&mut [0; 9]).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            here.send(b"again").await.unwrap();
        })
        .unwrap();
}

#[test]
fn datagrams_are_lost_duplicated_and_reordered_by_seed() {
    let direction = Direction { jitter: MS, ..Direction::default() };
    let settings = Settings {
        link: Link { to_server: direction, to_client: direction },
        faults: Faults { lost: 0.1, duplicated: 0.1, ..Faults::default() },
        ..Settings::default()
    };
    let world = World::with_settings(9, settings);
    let got = world.run(async {
        let (here, there) = (UdpSocket::bind(address(0)).unwrap(), UdpSocket::bind(address(7)).unwrap());
        for number in 0..1000u32 {
            here.send_to(&number.to_be_bytes(), address(7)).await.unwrap();
        }
        sleep(2 * MS).await;
        let (mut got, mut number) = (Vec::new(), [0; 4]);
        while timeout(MS, there.recv_from(&mut number)).await.is_ok() {
            got.push(u32::from_be_bytes(number));
        }
        got
    });
    let got = got.unwrap();
    let mut distinct = got.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!((850..950).contains(&distinct.len()), "{} of 1000 arrived", distinct.len());
    assert!((50..150).contains(&(got.len() - distinct.len())), "duplicates");
    assert!(!got.is_sorted());
}

/// A dropped stream lets a send in flight finish, unless closing is a reset: then the peer, which does not read, is reset at once.
#[test]
fn a_reset_does_not_wait_for_a_peer_that_does_not_read() {
    for (resets, left) in [(false, 2), (true, 1)] {
        World::new(1)
            .run(async move {
                let (mut client, mut server) = pair().await;
                let mut sent = 0;
                while let Ok(result) = timeout(MS, server.write(&[7; 16 << 10])).await {
                    sent += result.unwrap();
                }
                if resets {
                    server.set_linger_zero().unwrap();
                }
                drop(server);
                sleep(MS).await;
                assert_eq!(crate::metrics().connections, left);
                let mut got = 0;
                let end = loop {
                    match client.recv().await {
                        Ok(bytes) if bytes.is_empty() => break Ok(()),
                        Ok(bytes) => got += bytes.len(),
                        Err(error) => break Err(error.kind()),
                    }
                };
                assert_eq!(end, if resets { Err(ErrorKind::ConnectionReset) } else { Ok(()) });
                assert_eq!(got == sent, !resets, "{got} of {sent}");
            })
            .unwrap();
    }
}
