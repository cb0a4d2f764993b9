//! What a server is for: whatever arrives goes back, in every model, on every address.

use crate::server::*;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::Instant,
};

#[test]
fn every_model_echoes_on_every_address() {
    for (model, backend) in MODELS.into_iter().zip(["io_uring", "epoll", "tokio current-thread"]) {
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
        server.signal("TERM");
        let (status, _, said) = server.end();
        assert!(status.success() && said.contains("12 connections served, 0 failed"), "{model}: {status}, {said}");
    }
}

/// More than all buffers on the way hold: sent and received at the same time.
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
fn several_cores_serve_one_address() {
    let cores = thread::available_parallelism().unwrap().get().min(2);
    let list = (0..cores).map(|core| core.to_string()).collect::<Vec<_>>().join(",");
    for model in MODELS {
        let server = Server::of_model(model, &format!("--cores {list}"));
        if model == "tokio" && cores > 1 {
            assert_eq!(server.backend, "tokio multi-thread");
        }
        let mut clients: Vec<_> = (0..50).map(|_| connect(server.address())).collect();
        clients.iter_mut().for_each(|client| ask(client, b"who serves me?"));
    }
}

#[test]
fn both_wildcards_share_a_port() {
    let port = free_port();
    for model in MODELS {
        let server = Server::start(serve(&format!("--listen 0.0.0.0:{port} --listen [::]:{port} --model {model}")));
        ask(&mut connect(format!("127.0.0.1:{port}").parse().unwrap()), b"four");
        ask(&mut connect(format!("[::1]:{port}").parse().unwrap()), b"six");
        drop(server);
    }
}

#[test]
fn without_a_model_it_takes_the_best_there_is() {
    let server = Server::start(serve(&format!("--listen 127.0.0.1:{}", free_port())));
    assert!(["io_uring", "epoll"].contains(&server.backend.as_str()), "{}", server.backend);
    ask(&mut connect(server.address()), b"fine");
}

#[test]
fn quiet_says_nothing() {
    let port = free_port();
    for model in MODELS {
        let mut command = serve(&format!("--listen 127.0.0.1:{port} --model {model} --quiet --grace 50ms"));
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        let mut client = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(client) => break client,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
            }
        };
        ask(&mut client, b"psst");
        assert!(
            std::process::Command::new("sh")
                .args(["-c", &format!("kill -TERM {}", child.id())])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{model}: {output:?}");
    }
}
