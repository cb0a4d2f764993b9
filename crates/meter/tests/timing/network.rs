//! Network figures of a server agree with what was sent; a connection that closes makes the sum absent.
//!
//! Connections that other programs open on this machine make the figures absent, as they should. Each attempt is compared
//! with the kernel's count of accepted connections over the same time, and repeated until there were no others.

use brunt_meter::{ServerMeter, proc_net};
use brunt_results::{result::Server, series::Second};
use brunt_testkit::{LIMIT, alone, until};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Connections that each test makes.
const CONNECTIONS: u64 = 2;

/// The figures of a window around `work`, without connections of other programs; `None` if the kernel cannot list sockets, or
/// if there were such connections, or too many sockets on the machine, in every attempt. The process under test is this one,
/// so no other test's socket may listen meanwhile.
fn figures(mut work: impl FnMut(&TcpListener, &mut ServerMeter)) -> Option<(Server, BTreeMap<String, String>)> {
    let _turn = alone();
    let accepted = || proc_net::snmp("Tcp", "PassiveOpens").unwrap();
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut meter = ServerMeter::attach(std::process::id()).unwrap();
        let before = accepted();
        work(&listener, &mut meter);
        let others = accepted() - before - CONNECTIONS;
        let (server, absent) = meter.close(1, Duration::MAX);
        match absent.get("server.network_received_bytes") {
            Some(why) if why.contains("came and went") => {
                assert!(others > 0, "only the {CONNECTIONS} connections of this test were made: {why}");
                thread::sleep(Duration::from_millis(20));
            }
            // Other programs hold more sockets than are listed under load.
            Some(why) if why.contains("would disturb the load") => thread::sleep(Duration::from_millis(500)),
            Some(why) if why.contains("sock_diag") => {
                println!("skipped: {why}");
                return None;
            }
            _ => return Some((server, absent)),
        }
    }
    println!("skipped: other programs opened connections, or held too many, in every attempt");
    None
}

fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Sends `bytes` bytes and waits until they are read.
fn transfer(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![7; bytes]).unwrap());
        let mut buffer = vec![0; bytes];
        to.read_exact(&mut buffer).unwrap();
    });
}

/// Bytes in the send queue.
fn unacknowledged(stream: &TcpStream) -> i32 {
    let mut bytes = 0;
    // SAFETY: the descriptor is open; `bytes` is a live local, valid for writes of an int.
    assert_eq!(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) }, 0);
    bytes
}

/// Whether no end of the connection between these ports of 127.0.0.1 is left, but for one in TIME_WAIT.
fn is_closed(ports: [u16; 2]) -> bool {
    let ends = ports.map(|port| format!("0100007F:{port:04X}"));
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().all(|line| {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        let is_one = ends.iter().all(|end| fields[1..3].contains(&end.as_str()));
        !is_one || fields[3] == "06"
    })
}

#[test]
fn bytes_of_a_known_transfer_agree_within_one_percent() {
    const IN: usize = 5 << 20;
    const OUT: usize = 3 << 20;
    let seen = figures(|listener, meter| {
        let (mut client, mut server) = pair(listener);
        // Bytes before the window do not count.
        transfer(&mut client, &mut server, 1 << 20);
        meter.open();
        transfer(&mut client, &mut server, IN / 2);
        let mut second = Second::default();
        meter.sample(&mut second);
        let (mut another, mut there) = pair(listener);
        transfer(&mut another, &mut there, IN - IN / 2);
        transfer(&mut server, &mut client, OUT);
        // Bytes count once they are acknowledged.
        let ends = [&client, &server, &another, &there];
        until("all is acknowledged", || ends.iter().all(|end| unacknowledged(end) == 0));
        meter.stop();
    });
    let Some((server, absent)) = seen else { return };
    let near = |figure: Option<u64>, truth: usize| {
        let measured = figure.unwrap_or_else(|| panic!("{absent:?}")) as f64;
        assert!((measured / truth as f64 - 1.0).abs() <= 0.01, "{measured} of {truth}");
    };
    near(server.network_received_bytes, IN);
    near(server.network_sent_bytes, OUT);
    assert!(server.retransmitted_segments.is_some() && server.socket_bytes.is_some(), "{server:?}");
}

#[test]
fn a_connection_that_closed_inside_the_window_makes_the_sum_absent() {
    let seen = figures(|listener, meter| {
        let (client, server) = pair(listener);
        let _stays = pair(listener);
        meter.open();
        let ports = [&client, &server].map(|end| end.local_addr().unwrap().port());
        drop((client, server));
        until("both ends are closed", || is_closed(ports));
        meter.stop();
    });
    let Some((server, absent)) = seen else { return };
    assert_eq!(server.network_received_bytes, None);
    assert!(absent["server.network_sent_bytes"].contains("1 connections"), "{absent:?}");
}
