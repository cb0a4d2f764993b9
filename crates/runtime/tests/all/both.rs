//! The same suite on both backends.

use crate::shared::{
    backends, echo, in_own_process, listen, on, open_descriptors, pair, passes, until_no_connection_is_left,
};
use brunt_runtime::net::{RecvBuf, TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, CancellationToken, Runtime, spawn};
use brunt_testkit::{Role, role};
use std::cell::Cell;
use std::io;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

async fn echo_server(listener: TcpListener) {
    while let Ok(stream) = listener.accept().await {
        spawn(echo(stream));
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

macro_rules! on_both_backends {
    ($($name:ident $body:block)*) => {
        mod uring {
            $(#[test] fn $name() { super::on(super::BackendKind::Uring, super::$name()) })*
        }
        mod epoll {
            $(#[test] fn $name() { super::on(super::BackendKind::Epoll, super::$name()) })*
        }
        $(async fn $name() $body)*
    };
}

on_both_backends! {
    echoes_every_byte_in_order {
        let (listener, address) = listen();
        spawn(echo_server(listener));
        for len in [1, 100, 4096, 4097, 100_000, 3_000_000] {
            let stream = std::net::TcpStream::connect(address).unwrap();
            let sent = pattern(len);
            let expected = sent.clone();
            let mut writer = stream.try_clone().unwrap();
            let writer = std::thread::spawn(move || { writer.write_all(&sent).unwrap(); writer.shutdown(Shutdown::Write).unwrap(); });
            let reader = std::thread::spawn(move || { let mut all = Vec::new(); (&stream).read_to_end(&mut all).unwrap(); all });
            while !reader.is_finished() { sleep(Duration::from_millis(1)).await; }
            assert!(reader.join().unwrap() == expected, "{len} bytes");
            writer.join().unwrap();
        }
    }

    a_dropped_read_loses_nothing {
        let (mut client, mut server) = pair().await;
        let all = pattern(200_000);
        let sent = all.clone();
        let writer = spawn(async move { client.write_all(&sent).await.unwrap(); client.shutdown(Shutdown::Write).await.unwrap(); client });
        let mut got = Vec::new();
        let mut round = 0u64;
        loop {
            round += 1;
            let mut buffer = [0; 777];
            // Most reads are dropped after one poll, alternating between read and recv.
            let patience = Duration::from_micros(if round.is_multiple_of(3) { 20_000 } else { 0 });
            let read = timeout(patience, async {
                if round.is_multiple_of(2) { server.read(&mut buffer).await.map(|len| buffer[..len].to_vec()) }
                else { server.recv().await.map(|received| received.to_vec()) }
            }).await;
            match read {
                Ok(Ok(bytes)) if bytes.is_empty() => break,
                Ok(bytes) => got.extend(bytes.unwrap()),
                Err(_) => brunt_runtime::yield_now().await,
            }
        }
        assert!(got == all, "{} of {} bytes", got.len(), all.len());
        writer.await.unwrap();
    }

    a_slow_reader_stops_its_peer_and_no_other_connection {
        let (mut flooder, mut slow) = pair().await;
        let flood = spawn(async move { let block = [7; 65_536]; let mut sent = 0u64; while flooder.write_all(&block).await.is_ok() { sent += 65_536; if sent >= 64 << 20 { break } } sent });
        let (mut client, server) = pair().await;
        spawn(echo(server));
        sleep(Duration::from_millis(200)).await;
        assert!(!flood.is_finished(), "64 MiB were sent without a reader");
        for _ in 0..100 {
            client.write_all(b"still here").await.unwrap();
            let mut reply = [0; 10];
            client.read_exact(&mut reply).await.unwrap();
            assert_eq!(&reply, b"still here");
        }
        let mut got = 0;
        while got < 64 << 20 { let len = slow.recv().await.unwrap().len(); assert!(len > 0); got += len; }
        assert_eq!(flood.await.unwrap(), 64 << 20);
    }

    many_connections_at_once {
        let (listener, address) = listen();
        spawn(echo_server(listener));
        let mut clients = Vec::new();
        for n in 0..600u32 {
            clients.push(spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                for round in 0..20u32 {
                    let message: Vec<u8> = (n ^ round << 16).to_le_bytes().repeat(50);
                    stream.write_all(&message).await.unwrap();
                    let mut reply = vec![0; message.len()];
                    stream.read_exact(&mut reply).await.unwrap();
                    assert_eq!(message, reply);
                }
            }));
        }
        for client in clients { client.await.unwrap(); }
        // All connections are released.
        until_no_connection_is_left().await;
    }

    a_refused_connect_is_an_error {
        // Bound to reserve the port, but not listening.
        let bound = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        bound.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = bound.local_addr().unwrap().as_socket().unwrap();
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    a_reset_is_an_error_and_an_end_is_not {
        let (client, mut server) = pair().await;
        client.set_linger_zero().unwrap();
        drop(client);
        assert_eq!(server.recv().await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert!(server.recv().await.is_err(), "an error stays");
        let (client, mut server) = pair().await;
        drop(client);
        assert!(server.recv().await.unwrap().is_empty());
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0, "the end stays");
    }

    writing_to_a_closed_peer_ends_in_an_error {
        let (client, mut server) = pair().await;
        client.set_linger_zero().unwrap();
        drop(client);
        // The guard around each test bounds the wait.
        while server.write_all(b"hello?").await.is_ok() { sleep(Duration::from_millis(1)).await; }
    }

    half_close_still_receives {
        let (mut client, mut server) = pair().await;
        client.write_all(b"question").await.unwrap();
        client.shutdown(Shutdown::Write).await.unwrap();
        let mut question = [0; 8];
        server.read_exact(&mut question).await.unwrap();
        assert!(server.recv().await.unwrap().is_empty());
        server.write_all(b"answer").await.unwrap();
        drop(server);
        let mut answer = [0; 6];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"answer");
        assert!(client.recv().await.unwrap().is_empty());
    }

    pending_writes_are_sent_after_the_stream_is_dropped {
        let (client, mut server) = pair().await;
        let mut client = client;
        let sent = pattern(10_000);
        client.write_all(&sent).await.unwrap();
        drop(client);
        let mut got = Vec::new();
        loop { let received = server.recv().await.unwrap(); if received.is_empty() { break } got.extend_from_slice(&received); }
        assert!(got == sent);
    }

    a_panic_stays_in_its_task {
        let handle = spawn(async { if true { panic!("on purpose"); } 5 });
        let error = handle.await.unwrap_err();
        assert!(error.is_panic() && error.to_string().contains("on purpose"), "{error}");
        assert_eq!(spawn(async { 6 }).await.unwrap(), 6);
    }

    a_panic_in_a_destructor_stays_in_its_task {
        struct Bomb;
        impl Drop for Bomb { fn drop(&mut self) { panic!("in drop"); } }
        let handle = spawn(async { let _bomb = Bomb; sleep(Duration::from_secs(100)).await; });
        brunt_runtime::yield_now().await;
        handle.abort();
        assert!(handle.await.unwrap_err().is_panic());
    }

    abort_ends_a_task_at_its_await_and_closes_what_it_held {
        let (mut client, server) = pair().await;
        let handle = spawn(echo(server));
        client.write_all(b"x").await.unwrap();
        assert_eq!(client.recv().await.unwrap().len(), 1);
        handle.abort();
        assert!(client.recv().await.unwrap().is_empty(), "the aborted task's stream was closed");
        assert!(handle.await.unwrap_err().is_aborted());
        let myself: Rc<Cell<Option<brunt_runtime::JoinHandle<()>>>> = Rc::new(Cell::new(None));
        let inner = myself.clone();
        let reached = Rc::new(Cell::new(false));
        let witness = reached.clone();
        let handle = spawn(async move {
            brunt_runtime::yield_now().await;
            inner.take().unwrap().abort();
            brunt_runtime::yield_now().await;
            witness.set(true);
        });
        myself.set(Some(handle));
        sleep(Duration::from_millis(5)).await;
        assert!(!reached.get(), "a task that aborts itself stops at its next await");
    }

    another_thread_wakes_a_sleeping_worker {
        for _ in 0..50 {
            let stop = CancellationToken::new();
            let raiser = stop.clone();
            let thread = std::thread::spawn(move || raiser.cancel());
            stop.cancelled().await;
            thread.join().unwrap();
        }
        let stop = CancellationToken::new();
        let raiser = stop.clone();
        let thread = std::thread::spawn(move || { std::thread::sleep(Duration::from_millis(30)); raiser.cancel(); });
        let waiting = spawn({ let stop = stop.clone(); async move { stop.cancelled().await } });
        waiting.await.unwrap();
        thread.join().unwrap();
    }

    a_buffer_outlives_its_stream_and_moves_to_another {
        let (mut a, mut b) = pair().await;
        let (mut c, mut d) = pair().await;
        a.write_all(b"passed on").await.unwrap();
        let received = b.recv().await.unwrap();
        drop((a, b));
        c.send(received).await.unwrap();
        let received: RecvBuf = d.recv().await.unwrap();
        assert_eq!(&received[..], b"passed on");
    }

    a_buffer_can_be_changed_and_sent {
        let (mut client, mut server) = pair().await; client.write_all(b"shout").await.unwrap();
        let mut received = Some({ let mut received = server.recv().await.unwrap(); received.make_ascii_uppercase(); received });
        std::future::poll_fn(|cx| server.poll_send(cx, &mut received)).await.unwrap();
        assert!(received.is_none() && *client.recv().await.unwrap() == *b"SHOUT");
    }

    kept_buffers_only_delay {
        // More data than all buffers hold, each kept for a while: nothing is lost and nothing hangs.
        let (mut client, mut server) = pair().await;
        let writer = spawn(async move { client.write_all(&vec![1; 12 << 20]).await.unwrap(); client });
        let (mut kept, mut got) = (std::collections::VecDeque::new(), 0);
        while got < 12 << 20 {
            let received = server.recv().await.unwrap();
            got += received.len();
            kept.push_back(received);
            if kept.len() > 1500 { kept.pop_front(); }
        }
        writer.await.unwrap();
    }

    drain_waits_for_tasks_and_reports_those_left {
        spawn(sleep(Duration::from_millis(20)));
        assert_eq!(brunt_runtime::drain(Duration::from_secs(60)).await, 0);
        let stuck = spawn(std::future::pending::<()>());
        assert_eq!(brunt_runtime::drain(Duration::from_millis(20)).await, 1);
        stuck.abort();
        assert_eq!(brunt_runtime::drain(Duration::from_secs(60)).await, 0);
    }
}

#[test]
fn a_stream_that_outlives_its_runtime_returns_errors() {
    for backend in backends() {
        let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
        let (mut stream, received) = runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"kept").await.unwrap();
            (client, server.recv().await.unwrap())
        });
        drop(runtime);
        assert_eq!(&received[..], b"kept", "the bytes stay readable");
        let other = Runtime::new().unwrap();
        let error = other.block_on(stream.write_all(b"x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected);
    }
}

#[test]
fn dropping_a_runtime_in_full_flight_returns_every_descriptor() {
    in_own_process("both::dropping_a_runtime_in_full_flight_returns_every_descriptor", || {
        for backend in backends() {
            let before = open_descriptors();
            for _ in 0..20 {
                let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
                runtime.block_on(async {
                    let (listener, address) = listen();
                    spawn(echo_server(listener));
                    for _ in 0..30 {
                        spawn(async move {
                            let mut stream = TcpStream::connect(address).await.unwrap();
                            loop {
                                stream.write_all(&[1; 3000]).await.unwrap();
                                stream.recv().await.unwrap();
                            }
                        });
                    }
                    sleep(Duration::from_millis(10)).await;
                });
            }
            assert_eq!(open_descriptors(), before, "{backend}");
        }
    });
}

#[test]
fn a_bad_backend_name_is_an_error_that_lists_the_valid_ones() {
    if role().is_some() {
        let error = Runtime::builder().env_prefix("BRUNT").build().unwrap_err().to_string();
        assert!(error.contains("BRUNT_BACKEND is 'kqueue'") && error.contains("uring or epoll"), "{error}");
        return;
    }
    let this = Role("both::a_bad_backend_name_is_an_error_that_lists_the_valid_ones");
    passes(this.command("reader").env("BRUNT_BACKEND", "kqueue"));
}

#[test]
fn a_group_runs_one_runtime_a_core() {
    let core = rustix::thread::sched_getcpu();
    let results = brunt_runtime::group::run(&Runtime::builder(), &[Some(core), None], |index| async move {
        sleep(Duration::from_millis(1)).await;
        index * 10
    });
    let results: Vec<usize> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(results, [0, 10]);
    let refused = brunt_runtime::group::run(&Runtime::builder(), &[Some(1000)], |_| async {});
    assert!(refused[0].as_ref().unwrap_err().to_string().contains("core 1000"));
}
