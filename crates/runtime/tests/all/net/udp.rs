//! UDP: whole, truncated, refused and many datagrams.

use crate::on_both_backends;
use brunt_runtime::net::UdpSocket;
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{os_error, spawn};
use futures_lite::future::poll_once;
use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

on_both_backends!(
    datagrams_are_sent_and_received,
    a_truncated_datagram_is_reported,
    a_refused_datagram_is_an_error_of_one_call,
    a_dropped_receive_loses_nothing,
    two_tasks_send_and_receive,
    a_flood_does_not_starve_other_tasks,
    a_connected_socket_receives_from_its_peer_only,
);

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn two() -> (UdpSocket, UdpSocket) {
    (UdpSocket::bind(any()).unwrap(), UdpSocket::bind(any()).unwrap())
}

async fn datagrams_are_sent_and_received() {
    // Over IPv6 where this machine has it.
    let there = std::net::UdpSocket::bind("[::1]:0").or_else(|_| std::net::UdpSocket::bind(any())).unwrap();
    let here = UdpSocket::bind((there.local_addr().unwrap().ip(), 0).into()).unwrap();
    let there = UdpSocket::from_std(there).unwrap();
    let address = there.local_addr().unwrap();
    spawn(async move {
        let mut buffer = vec![0; 65_536];
        loop {
            let datagram = there.recv_from(&mut buffer).await.unwrap();
            let sent = there.send_to(&buffer[..datagram.len], datagram.from).await.unwrap();
            assert_eq!(sent, datagram.len);
        }
    });
    let mut buffer = vec![0; 65_536];
    for len in [0, 1, 1400, 9000, 60_000, 0] {
        let sent: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        assert_eq!(here.send_to(&sent, address).await.unwrap(), len);
        let datagram = here.recv_from(&mut buffer).await.unwrap();
        assert_eq!((datagram.len, datagram.sent_len, datagram.from), (len, len, address));
        assert!(!datagram.is_truncated() && buffer[..len] == sent);
    }
    let error = here.send_to(&[0; 70_000], address).await.unwrap_err();
    assert_eq!(os_error(&error), Some(libc::EMSGSIZE));
    assert_eq!(error.to_string(), format!("cannot send to {address}: Message too long (os error 90)"));
}

async fn a_truncated_datagram_is_reported() {
    let (here, there) = two();
    let mut buffer = [0; 10];
    for text in [&b"much more than ten"[..], b"just ten!!", b"also more than that", b"short", b"far more than ten"] {
        here.send_to(text, there.local_addr().unwrap()).await.unwrap();
    }
    let first = there.recv_from(&mut buffer).await.unwrap();
    assert_eq!((first.len, first.sent_len, first.is_truncated()), (10, 18, true));
    assert_eq!(&buffer, b"much more ");
    let second = there.recv_from(&mut buffer).await.unwrap();
    assert_eq!((second.len, second.is_truncated()), (10, false));
    let error = there.recv(&mut buffer).await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidData && error.to_string().contains("19 bytes"), "{error}");
    assert_eq!(there.recv(&mut buffer).await.unwrap(), 5);
    assert!(there.recv_from(&mut []).await.unwrap().is_truncated());
}

async fn a_refused_datagram_is_an_error_of_one_call() {
    // No other test takes a port of this address meanwhile.
    let there = UdpSocket::bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let here = UdpSocket::bind(any()).unwrap();
    let address = there.local_addr().unwrap();
    drop(there);
    here.connect(address).unwrap();
    let mut buffer = [0; 64];
    for _ in 0..3 {
        here.send(b"anybody?").await.unwrap();
        assert_eq!(here.recv(&mut buffer).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
    // Whose refusal it is, the kernel does not say.
    let other = UdpSocket::bind(any()).unwrap();
    let to = other.local_addr().unwrap();
    here.send(b"anybody?").await.unwrap();
    let error = here.send_to(b"hello", to).await.unwrap_err();
    assert_eq!((error.kind(), os_error(&error)), (ErrorKind::ConnectionRefused, Some(libc::ECONNREFUSED)));
    let what = format!("nothing was sent to {to}, since an earlier datagram was refused");
    assert_eq!(error.to_string(), format!("{what}: Connection refused (os error 111)"));
    here.send_to(b"hello", to).await.unwrap();
    assert_eq!(other.recv(&mut buffer).await.unwrap(), 5);
    let there = UdpSocket::bind(address).unwrap();
    here.send(b"now?").await.unwrap();
    let question = there.recv_from(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..question.len], b"now?");
    there.send_to(b"yes", question.from).await.unwrap();
    assert_eq!(here.recv(&mut buffer).await.unwrap(), 3);
}

async fn a_dropped_receive_loses_nothing() {
    let (here, there) = two();
    let address = there.local_addr().unwrap();
    let sending = spawn(async move {
        for n in 0..300u32 {
            here.send_to(&n.to_le_bytes(), address).await.unwrap();
            sleep(Duration::from_micros(u64::from(n % 7) * 50)).await;
        }
    });
    // Nothing has been sent: the task has not begun.
    let mut given_up = u32::from(poll_once(there.recv(&mut [0; 4])).await.is_none());
    assert_eq!(given_up, 1);
    let mut got = 0u32;
    while got < 300 {
        let mut buffer = [0; 4];
        let patience = Duration::from_micros(u64::from(given_up % 5) * 40);
        match timeout(patience, there.recv(&mut buffer)).await {
            Ok(len) => {
                assert_eq!((len.unwrap(), u32::from_le_bytes(buffer)), (4, got));
                got += 1;
            }
            Err(_) => {
                given_up += 1;
                brunt_runtime::yield_now().await;
            }
        }
    }
    sending.await.unwrap();
}

async fn two_tasks_send_and_receive() {
    let (here, there) = two();
    here.connect(there.local_addr().unwrap()).unwrap();
    there.connect(here.local_addr().unwrap()).unwrap();
    let (here, there) = (Rc::new(here), Rc::new(there));
    let receive = |socket: Rc<UdpSocket>| {
        spawn(async move {
            let mut buffer = [0; 64];
            for _ in 0..200 {
                socket.recv(&mut buffer).await.unwrap();
            }
        })
    };
    let (first, second) = (receive(here.clone()), receive(there.clone()));
    for socket in [here, there] {
        spawn(async move {
            for _ in 0..200 {
                socket.send(b"hello").await.unwrap();
                brunt_runtime::yield_now().await;
            }
        });
    }
    first.await.unwrap();
    second.await.unwrap();
}

async fn a_flood_does_not_starve_other_tasks() {
    let (here, there) = two();
    let address = there.local_addr().unwrap();
    let turns = Rc::new(Cell::new(0u32));
    let counted = turns.clone();
    let other = spawn(async move {
        loop {
            counted.set(counted.get() + 1);
            brunt_runtime::yield_now().await;
        }
    });
    // Sends and receives are always possible: this task never waits.
    let mut buffer = [0; 4];
    for n in 0..10_000u32 {
        here.send_to(&n.to_le_bytes(), address).await.unwrap();
        there.recv(&mut buffer).await.unwrap();
        assert_eq!(u32::from_le_bytes(buffer), n);
    }
    assert!(turns.get() > 100, "{} turns beside 20,000 calls", turns.get());
    other.abort();
}

async fn a_connected_socket_receives_from_its_peer_only() {
    let (here, there) = two();
    let stranger = UdpSocket::bind(any()).unwrap();
    here.connect(there.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 64];
    let to = here.local_addr().unwrap();
    stranger.send_to(b"not for you", to).await.unwrap();
    there.send_to(b"for you", to).await.unwrap();
    assert_eq!(here.recv_from(&mut buffer).await.unwrap().from, there.local_addr().unwrap());
    assert!(timeout(Duration::from_millis(10), here.recv(&mut buffer)).await.is_err());
    // Options are the standard library's.
    here.as_ref().set_broadcast(true).unwrap();
    assert!(here.as_ref().broadcast().unwrap());
}
