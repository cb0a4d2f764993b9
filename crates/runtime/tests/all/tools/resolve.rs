//! Name resolution and connecting by name.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{HostPort, TcpListener, TcpStream, resolve};
use brunt_runtime::time::{sleep, timeout};
use socket2::{Domain, Socket, Type};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

on_both_backends!(
    addresses_resolve_to_themselves,
    invalid_hosts_are_named_with_a_remedy,
    a_name_is_resolved,
    connecting_by_name_tries_every_address,
    a_connect_that_fails_names_host_and_address,
);

async fn addresses_resolve_to_themselves() {
    let v4: SocketAddr = "127.0.0.1:80".parse().unwrap();
    let v6: SocketAddr = "[::1]:80".parse().unwrap();
    let hosts: [(HostPort, SocketAddr); 9] = [
        ("127.0.0.1:80".into(), v4),
        (("127.0.0.1", 80).into(), v4),
        ("127.0.0.1:80".to_owned().into(), v4),
        (("127.0.0.1".to_owned(), 80).into(), v4),
        (v4.into(), v4),
        ("[::1]:80".into(), v6),
        (("::1", 80).into(), v6),
        (("[::1]", 80).into(), v6),
        (v6.into(), v6),
    ];
    for (host, address) in hosts {
        assert_eq!(host.to_string(), address.to_string());
        // In one poll: a name would wait for a thread.
        assert_eq!(timeout(Duration::ZERO, resolve(host)).await.unwrap().unwrap(), [address]);
    }
}

async fn invalid_hosts_are_named_with_a_remedy() {
    let hosts: [(HostPort, &str); 23] = [
        ("localhost".into(), "'localhost': the port is missing; write HOST:PORT"),
        ("".into(), "'': the port is missing"),
        (":80".into(), "':80': the host is missing"),
        (("", 80).into(), "'': the host is missing"),
        ("localhost:http".into(), "'localhost:http': the port is not a number from 0 to 65535"),
        ("localhost:65536".into(), "'localhost:65536': the port is not a number"),
        ("localhost:+1".into(), "'localhost:+1': the port is not a number"),
        ("localhost:".into(), "'localhost:': the port is not a number"),
        ("::1:80".into(), "'::1:80': write an IPv6 address in brackets"),
        ("::1".into(), "'::1': write an IPv6 address in brackets"),
        ("[::1]".into(), "'[::1]': the port is missing; write [HOST]:PORT, as in [::1]:80"),
        ("[::1]80".into(), "'[::1]80': only a colon and the port follow a bracket"),
        ("[::1]:http".into(), "'[::1]:http': the port is not a number"),
        ("[]:80".into(), "'[]:80': the host is missing"),
        (("[]", 80).into(), "'[]': the host is missing"),
        ("[::1".into(), "'[::1': the bracket is not closed"),
        (("[::1", 80).into(), "'[::1': the bracket is not closed"),
        ("[example.org]:80".into(), "'[example.org]:80': brackets are for IPv6 addresses; write example.org:80"),
        (("[example.org]", 80).into(), "'[example.org]': brackets are for IPv6 addresses; write example.org"),
        (("example.org:80", 443).into(), "'example.org:80': it has a port, and 443 is given beside it; leave one out"),
        (("[::1]:80", 443).into(), "'[::1]:80': it has a port, and 443 is given beside it; leave one out"),
        (
            "http://example.org:80/".into(),
            "'http://example.org:80/': write HOST:PORT without 'http://', as in example.org:80",
        ),
        (
            ("http://example.org/", 80).into(),
            "'http://example.org/': write the host without 'http://', as in example.org",
        ),
    ];
    for (host, message) in hosts {
        let error = resolve(host).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().starts_with(message), "{error}");
    }
    for name in ["no\0name", "..", &"long".repeat(1000)] {
        let error = resolve((name, 80)).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot resolve '") && error.contains(name), "{error}");
    }
}

async fn a_name_is_resolved() {
    for addresses in [resolve("localhost:80").await.unwrap(), resolve(("LOCALHOST", 80)).await.unwrap()] {
        assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 80), "{addresses:?}");
        assert!(!addresses.is_empty());
    }
}

async fn connecting_by_name_tries_every_address() {
    // If localhost includes ::1, no program listens there.
    let (listener, address) = listen();
    let stream = TcpStream::connect_host(("localhost", address.port())).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), address);
    let accepted = listener.accept().await.unwrap();
    assert_eq!(accepted.peer_addr().unwrap(), stream.local_addr().unwrap());
    assert!(TcpStream::connect_host(address.to_string()).await.is_ok());
}

async fn a_connect_that_fails_names_host_and_address() {
    // Bound to reserve the port, but not listening.
    let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    bound.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let address = bound.local_addr().unwrap().as_socket().unwrap();
    let error = TcpStream::connect_host(("localhost", address.port())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let text = error.to_string();
    assert!(text.contains(&format!("'localhost:{}'", address.port())) && text.contains("refused"), "{text}");
    assert!(text.contains(&format!("127.0.0.1:{}:", address.port())) || text.contains("[::1]"), "{text}");
    let error = TcpStream::connect_host("localhost").await.unwrap_err();
    assert!(error.to_string().contains("port is missing"), "{error}");
}

/// A listener that never accepts, with a full queue: connecting to it hangs.
fn tarpit() -> (Socket, Vec<Socket>, SocketAddr) {
    let tcp = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let listener = tcp();
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    listener.bind(&any.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let fill = || {
        let socket = tcp();
        socket.set_nonblocking(true).unwrap();
        let _ = socket.connect(&address);
        socket
    };
    let filling = (0..5).map(|_| fill()).collect();
    (listener, filling, address.as_socket().unwrap())
}

#[test]
fn a_connect_that_times_out_leaks_no_descriptor() {
    in_own_process("tools::resolve::a_connect_that_times_out_leaks_no_descriptor", || {
        for backend in backends() {
            on(backend, async {
                let (_listener, _filling, address) = tarpit();
                let before = open_descriptors();
                for n in 0..50u64 {
                    let patience = Duration::from_micros(n * 100);
                    let by_address = timeout(patience, TcpStream::connect(address)).await;
                    assert!(by_address.is_err(), "the listener accepted a connection");
                    let host = HostPort::from(("localhost", address.port()));
                    let by_name = timeout(patience, TcpStream::connect_host(host)).await;
                    assert!(by_name.is_err(), "the listener accepted a connection");
                }
                // Cancelled attempts and lookups end later; the guard bounds the wait.
                while brunt_runtime::metrics().connections > 0 || open_descriptors() > before {
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
    });
}

#[test]
fn a_listener_may_be_bound_by_name() {
    // Listeners take addresses; resolve first.
    on(brunt_runtime::BackendKind::Epoll, async {
        let address = resolve("localhost:0").await.unwrap()[0];
        assert!(TcpListener::bind(address).unwrap().local_addr().unwrap().ip().is_loopback());
    });
}
