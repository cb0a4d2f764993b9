//! `AsyncFd`: both directions, drops at any time, always-ready descriptors, and unsuitable ones.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::AsyncFd;
use brunt_runtime::spawn;
use brunt_runtime::time::{sleep, timeout};
use brunt_testkit::Random;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

on_both_backends!(
    readable_when_something_is_written,
    writable_when_something_is_read,
    both_directions_at_once,
    the_end_is_readable_and_writable,
    an_async_fd_may_be_dropped_and_created_again,
    dropped_at_any_time,
    always_ready_lets_others_run,
    regular_files_are_always_ready,
    the_descriptor_comes_back,
);

fn pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    (reader, writer)
}

fn sockets() -> (UnixStream, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    other.set_nonblocking(true).unwrap();
    (one, other)
}

/// Writes until full; returns the number of bytes.
fn stuff(mut into: impl Write) -> usize {
    let mut written = 0;
    loop {
        match into.write(&[7; 4096]) {
            Ok(len) => written += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads until empty.
fn empty(mut from: impl Read) {
    while from.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {}
}

async fn is_pending<T>(future: impl Future<Output = T>) -> bool {
    timeout(Duration::from_millis(5), future).await.is_err()
}

async fn readable_when_something_is_written() {
    let (reader, mut writer) = pipe();
    let watch = AsyncFd::new(reader);
    assert!(is_pending(watch.readable()).await);
    for n in 0..100u8 {
        if n % 2 == 0 {
            writer.write_all(&[n]).unwrap();
        } else {
            let mut writer = writer.try_clone().unwrap();
            std::thread::spawn(move || writer.write_all(&[n]));
        }
        let mut byte = [0];
        watch.read_with(|mut pipe| pipe.read(&mut byte)).await.unwrap();
        assert_eq!(byte, [n]);
    }
    // A wait without reading.
    let waiting = spawn(async move { watch.readable().await.map(|()| watch) });
    brunt_runtime::yield_now().await;
    writer.write_all(b"!").unwrap();
    waiting.await.unwrap().unwrap();
}

async fn writable_when_something_is_read() {
    let (reader, writer) = pipe();
    let watch = AsyncFd::new(writer);
    watch.writable().await.unwrap();
    stuff(watch.get_ref());
    // An old event may be reported again; then it waits.
    let _ = timeout(Duration::from_millis(5), watch.writable()).await;
    assert!(is_pending(watch.write_with(|mut pipe| pipe.write(b"x"))).await);
    let writing = spawn(async move { watch.write_with(|mut pipe| pipe.write(b"x")).await });
    brunt_runtime::yield_now().await;
    empty(&reader);
    assert_eq!(writing.await.unwrap().unwrap(), 1);
}

async fn both_directions_at_once() {
    let (one, mut other) = sockets();
    let one = Rc::new(AsyncFd::new(one));
    let written = stuff(one.get_ref());
    let (reader, writer) = (one.clone(), one.clone());
    let mut byte = [0];
    let reading = spawn(async move { reader.read_with(|mut socket| socket.read(&mut byte)).await.map(|_| byte) });
    let writing = spawn(async move { writer.write_with(|mut socket| socket.write(b"x")).await });
    sleep(Duration::from_millis(5)).await;
    assert!(!reading.is_finished() && !writing.is_finished());
    // An event for one direction must leave the other one waiting, and wakeable.
    other.write_all(b"r").unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), *b"r");
    sleep(Duration::from_millis(5)).await;
    assert!(!writing.is_finished());
    empty(&other);
    assert_eq!(writing.await.unwrap().unwrap(), 1);
    assert!(written > 0);
}

async fn the_end_is_readable_and_writable() {
    let (one, other) = sockets();
    let one = AsyncFd::new(one);
    assert!(is_pending(one.readable()).await);
    drop(other);
    one.readable().await.unwrap();
    one.writable().await.unwrap();
    assert_eq!(one.read_with(|mut socket| socket.read(&mut [0; 8])).await.unwrap(), 0);
    assert_eq!(one.write_with(|mut socket| socket.write(b"x")).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

async fn an_async_fd_may_be_dropped_and_created_again() {
    let (reader, mut writer) = pipe();
    for n in 0..100u8 {
        let watch = AsyncFd::new(reader.as_fd());
        if n % 3 == 0 {
            assert!(is_pending(watch.readable()).await);
        }
        drop(watch);
        let watch = AsyncFd::new(&reader);
        let waiting = std::pin::pin!(watch.readable());
        let _ = timeout(Duration::ZERO, waiting).await;
        writer.write_all(&[n]).unwrap();
        let mut byte = [0];
        watch
            .read_with(|pipe| {
                let mut pipe = *pipe;
                pipe.read(&mut byte)
            })
            .await
            .unwrap();
        assert_eq!(byte, [n]);
    }
}

/// Values are dropped in all states; no waiter is woken for another one, or never.
async fn dropped_at_any_time() {
    let mut random = Random::new(7);
    let mut watches: Vec<(AsyncFd<UnixStream>, UnixStream)> = Vec::new();
    for _ in 0..3000 {
        match random.below(6) {
            0 | 1 => {
                let (one, other) = sockets();
                watches.push((AsyncFd::new(one), other));
            }
            2 if !watches.is_empty() => drop(watches.swap_remove(random.below(watches.len() as u64) as usize)),
            3 if !watches.is_empty() => {
                let (watch, _) = &watches[random.below(watches.len() as u64) as usize];
                let _ = timeout(Duration::ZERO, watch.readable()).await;
            }
            4 if !watches.is_empty() => {
                let chosen = random.below(watches.len() as u64) as usize;
                let (watch, other) = &mut watches[chosen];
                other.write_all(b"x").unwrap();
                let mut byte = [0];
                watch.read_with(|mut socket| socket.read(&mut byte)).await.unwrap();
                assert_eq!(&byte, b"x");
            }
            5 if !watches.is_empty() => {
                let (watch, _) = &watches[random.below(watches.len() as u64) as usize];
                watch.writable().await.unwrap();
            }
            _ => brunt_runtime::yield_now().await,
        }
        watches.truncate(100);
    }
}

async fn always_ready_lets_others_run() {
    let turns = Rc::new(Cell::new(0u32));
    let counted = turns.clone();
    let other = spawn(async move {
        loop {
            counted.set(counted.get() + 1);
            brunt_runtime::yield_now().await;
        }
    });
    let watch = AsyncFd::new(File::open("/dev/zero").unwrap());
    for _ in 0..6400 {
        watch.read_with(|mut file| file.read(&mut [0; 8])).await.unwrap();
    }
    assert!(turns.get() >= 90, "{} turns beside 6400 reads", turns.get());
    other.abort();
}

async fn regular_files_are_always_ready() {
    let watch = AsyncFd::new(File::open("/proc/self/exe").unwrap());
    for _ in 0..3 {
        watch.readable().await.unwrap();
        watch.writable().await.unwrap();
    }
    // Even if the attempt returns `WouldBlock` for a while.
    let mut tries = 0;
    let attempt = |mut file: &File| {
        tries += 1;
        if tries < 50 { Err(ErrorKind::WouldBlock.into()) } else { file.read(&mut [0; 8]) }
    };
    assert_eq!(watch.read_with(attempt).await.unwrap(), 8);
}

async fn the_descriptor_comes_back() {
    let (one, mut other) = sockets();
    let watch = AsyncFd::new(one);
    assert!(is_pending(watch.readable()).await);
    let mut one = watch.into_inner();
    other.write_all(b"hello").unwrap();
    let mut text = [0; 5];
    one.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hello");
}

#[test]
fn async_fds_leak_nothing() {
    in_own_process("net::async_fd::async_fds_leak_nothing", || {
        for backend in backends() {
            let before = open_descriptors();
            let runtime = build(backend);
            let kept = runtime.block_on(guarded(async {
                let idle = open_descriptors();
                for _ in 0..1000 {
                    let (reader, _writer) = pipe();
                    let watch = AsyncFd::new(reader);
                    let _ = timeout(Duration::ZERO, watch.readable()).await;
                }
                // The kernel releases the last ones some turns later; the guard bounds the wait.
                while open_descriptors() > idle {
                    sleep(Duration::from_millis(1)).await;
                }
                // Some are armed when the runtime ends: held by tasks, leaked, and held by the caller.
                let armed = async || {
                    let (one, other) = sockets();
                    let watch = AsyncFd::new(OwnedFd::from(one));
                    let _ = timeout(Duration::ZERO, watch.readable()).await;
                    (watch, other)
                };
                for _ in 0..100 {
                    let (watch, other) = armed().await;
                    spawn(async move { watch.readable().await.map(|()| other) });
                    drop(armed().await);
                }
                brunt_runtime::yield_now().await;
                armed().await
            }));
            drop(runtime);
            // A value that outlives its runtime returns errors.
            let error = build(backend).block_on(async { kept.0.readable().await.unwrap_err() });
            assert_eq!(error.kind(), ErrorKind::NotConnected);
            drop(kept);
            assert_eq!(open_descriptors(), before, "{backend}");
        }
    });
}
