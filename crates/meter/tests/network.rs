//! What a server's connections carried agrees with what was sent; a connection that closed makes the sum absent.
//!
//! The connections of other tests on the same machine may come and go meanwhile, which rightly makes the figures absent:
//! so each test tries again for a while.

use brunt_meter::ServerMeter;
use brunt_results::{result::Server, series::Second};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// The process under test is this one, so there is to be one listening socket at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The figures of a window in which `work` was done, once no stranger's connections came and went.
fn figures(mut work: impl FnMut(&TcpListener, &mut ServerMeter)) -> Option<(Server, BTreeMap<String, String>)> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut meter = ServerMeter::attach(std::process::id()).unwrap();
        work(&listener, &mut meter);
        let (server, absent) = meter.close(1);
        match absent.get("server.network_received_bytes") {
            Some(why) if why.contains("came and went") => thread::sleep(Duration::from_millis(20)),
            Some(why) if why.contains("sock_diag") => {
                println!("skipped: {why}");
                return None;
            }
            _ => return Some((server, absent)),
        }
    }
    println!("skipped: others opened and closed connections all the time");
    None
}

fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Sends so many bytes and waits until they have been taken.
fn transfer(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![7; bytes]).unwrap());
        let mut buffer = vec![0; bytes];
        to.read_exact(&mut buffer).unwrap();
    });
}

#[test]
fn bytes_of_a_known_transfer_are_right_within_one_percent() {
    const IN: usize = 5 << 20;
    const OUT: usize = 3 << 20;
    let seen = figures(|listener, meter| {
        let (mut client, mut server) = pair(listener);
        // What was carried before the window stays outside.
        transfer(&mut client, &mut server, 1 << 20);
        meter.open();
        transfer(&mut client, &mut server, IN / 2);
        let mut second = Second::default();
        meter.sample(&mut second);
        let (mut another, mut there) = pair(listener);
        transfer(&mut another, &mut there, IN - IN / 2);
        transfer(&mut server, &mut client, OUT);
        // The last segment is acknowledged when its answer would be, or a moment later.
        thread::sleep(Duration::from_millis(400));
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
        drop((client, server));
        // Both ends must be past their last exchange.
        thread::sleep(Duration::from_millis(200));
        meter.stop();
    });
    let Some((server, absent)) = seen else { return };
    assert_eq!(server.network_received_bytes, None);
    assert!(absent["server.network_sent_bytes"].contains("1 connections"), "{absent:?}");
}
