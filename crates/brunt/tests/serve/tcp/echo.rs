//! Echo in every model, on every listening address.

use crate::shared::server::*;
use brunt_serve::{TcpModel, Workers};
use brunt_testkit::{Running, until_some};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::str::FromStr;
use std::thread;

#[test]
fn every_model_echoes_on_every_address() {
    for (model, backend) in brunt_serve::MODELS.iter().map(|model| (model.word, model.backend)) {
        let server = Server::start(serve(&format!("--listen 127.0.0.1:0 --listen [::1]:0 --model {model}")));
        assert_eq!(server.backend, backend);
        let [v4, v6] = server.addresses[..] else { panic!("{:?}", server.addresses) };
        assert!(v4.is_ipv4() && v6.is_ipv6() && v4.port() != 0 && v6.port() != 0, "{v4} {v6}");
        for address in [v4, v6] {
            let mut clients: Vec<_> = (0..5).map(|_| connect(address)).collect();
            for len in [1, 100, 4096, 5000, 20_000] {
                clients.iter_mut().for_each(|client| ask(client, &pattern(len)));
            }
            stream_through(connect(address), 3 << 20);
        }
        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        assert!(status.success() && said.contains("12 connections served, 0 failed"), "{model}: {status}, {said}");
    }
}

/// More than all socket buffers hold: sent and received at the same time.
fn stream_through(stream: TcpStream, len: usize) {
    let sent = pattern(len);
    let mut writer = stream.try_clone().unwrap();
    let expected = sent.clone();
    let writer = thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut all = Vec::new();
    (&stream).read_to_end(&mut all).unwrap();
    assert!(all == expected, "{} of {len} bytes came back as they were", all.len());
    writer.join().unwrap();
}

#[test]
fn several_cores_share_the_connections_of_one_address() {
    let cores = cores(2);
    let list = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    for model in models() {
        let server = Server::of_model(model, &format!("--cores {list}"));
        let before = server.switches_of_workers();
        let mut clients: Vec<_> = (0..100).map(|_| connect(server.address())).collect();
        clients.iter_mut().for_each(|client| ask(client, b"who serves me?"));
        match TcpModel::from_str(model).unwrap().workers {
            Workers::Threads => {}
            Workers::Pooled | Workers::One => {
                if model == "tokio" {
                    let kind = if cores.len() > 1 { "tokio multi-thread" } else { "tokio current-thread" };
                    assert_eq!(server.backend, kind);
                }
                continue;
            }
            // Connections go to whichever process wakes first.
            Workers::Processes => {
                assert_eq!(server.family().len(), 1 + cores.len());
                continue;
            }
        }
        // A worker may be asleep or preempted. The probability that one of two gets fewer than 20 of 100 by chance is
        // about 1e-9.
        let after = server.switches_of_workers();
        assert_eq!((before.len(), after.len()), (cores.len(), cores.len()));
        let switches: Vec<u64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
        assert!(switches.iter().all(|switches| *switches >= 5), "{model}: workers slept {switches:?} times");
    }
}

#[test]
fn both_wildcards_share_a_port() {
    for model in models() {
        // A new server: the ring of a killed process keeps its port for a moment.
        let port = free_port();
        let server = Server::start(serve(&format!("--listen 0.0.0.0:{port} --listen [::]:{port} --model {model}")));
        ask(&mut connect(format!("127.0.0.1:{port}").parse().unwrap()), b"four");
        ask(&mut connect(format!("[::1]:{port}").parse().unwrap()), b"six");
        drop(server);
    }
}

#[test]
fn an_address_given_twice_is_one() {
    let address = format!("127.0.0.1:{}", free_port());
    let core = cores(1)[0];
    let server = Server::start(serve(&format!("--listen {address} --listen {address} --cores {core}")));
    assert_eq!(server.addresses, [address.parse().unwrap()]);
    ask(&mut connect(server.address()), b"once");
}

#[test]
fn the_default_model_is_the_best_available() {
    let server = Server::start(serve(&format!("--listen 127.0.0.1:{}", free_port())));
    assert!(["io_uring", "epoll"].contains(&server.backend.as_str()), "{}", server.backend);
    ask(&mut connect(server.address()), b"fine");
}

#[test]
fn quiet_prints_nothing() {
    for model in models() {
        let port = free_port();
        let mut command = serve(&format!("--listen 127.0.0.1:{port} --model {model} --quiet --grace 50ms"));
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running::start(command);
        let mut client = until_some("it listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        ask(&mut client, b"psst");
        running.signal(Signal::TERM);
        let output = running.output();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{model}: {output:?}");
    }
}
