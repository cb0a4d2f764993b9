//! What a writer was told is written arrives before a clean end, or the peer's reading ends with an error: over seeds, in worlds and
//! on the kernels of this machine. Writers give up, flush, shut down, reset, and drop their stream with bytes unsent; readers stall.

use super::super::{Settings, World};
use super::{MS, byte, bytes, pair};
use crate::net::{TcpListener, TcpStream};
use crate::sim_kernel::random::Random;
use crate::time::{sleep, timeout};
use crate::{BackendKind, Builder, Runtime, spawn};
use std::io::{self, Read};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;
use std::{cell::Cell, net, thread};

const SEEDS: u64 = 400;
const CLOSE_TIMEOUT: Duration = Duration::from_millis(20);

fn builder(backend: BackendKind) -> Builder {
    Runtime::builder().backend(Some(backend)).close_timeout(CLOSE_TIMEOUT)
}

/// Whether closing discards what is unsent, and how many bytes writes have reported.
type Written = (bool, usize);

/// Writes in a manner that the seed decides, and drops the stream.
async fn write(random: &mut Random, mut stream: TcpStream) -> Written {
    let mut written = 0;
    for _ in 0..random.below(8) {
        let patience = Duration::from_micros(random.below(3000));
        match random.below(4) {
            0 => sleep(patience).await,
            1 => {
                let _ = timeout(patience, stream.flush()).await;
            }
            _ => {
                let part = bytes(written, 1 + random.below(60_000) as usize);
                if let Ok(Ok(len)) = timeout(patience, stream.write(&part)).await {
                    written += len;
                }
            }
        }
    }
    let discards = random.below(8) == 0;
    if discards {
        stream.set_linger_zero().unwrap();
    } else if random.below(2) == 0 {
        let _ = timeout(Duration::from_micros(random.below(3000)), stream.shutdown(Shutdown::Write)).await;
    }
    (discards, written)
}

/// What a reader has seen: bytes, and how they ended.
#[derive(Debug)]
struct Seen {
    got: usize,
    end: io::Result<()>,
}

/// Checks the bytes of a read. Returns how reading ended, if it has.
fn check(seen: &mut Seen, read: io::Result<&[u8]>) -> bool {
    match read {
        Ok([]) => return true,
        Ok(part) => {
            assert!(part.iter().zip(seen.got..).all(|(got, at)| *got == byte(at)), "other bytes than were written");
            seen.got += part.len();
        }
        Err(error) => {
            seen.end = Err(error);
            return true;
        }
    }
    false
}

/// How long a reader rests before its next read: seldom longer than what a dropped stream waits for.
fn pause(random: &mut Random, stalls: bool) -> Duration {
    let longest = if stalls && random.below(3) == 0 { CLOSE_TIMEOUT * 3 } else { MS };
    Duration::from_micros(random.below(longest.as_micros() as u64))
}

/// Returns whether bytes are lost that the writer wanted to arrive.
fn judge(seed: u64, stalls: bool, (discards, written): Written, seen: &Seen) -> bool {
    let whole = seen.got == written;
    assert!(seen.got <= written, "seed {seed}: {written} written, {seen:?}");
    assert!(whole || seen.end.is_err(), "seed {seed}: a clean end after a loss: {written} written, {seen:?}");
    assert!(discards || stalls || (whole && seen.end.is_ok()), "seed {seed}: {written} written, and lost: {seen:?}");
    !whole && !discards
}

#[test]
fn written_bytes_arrive_or_the_peer_is_reset() {
    let mut losses = 0;
    for seed in 0..SEEDS {
        // Little fits into the sockets, so that the runtime holds what is still to be sent.
        let world =
            World::with_settings(seed, Settings { send_buffer: 8 << 10, receive_window: 8 << 10, ..Settings::rough() });
        let play = async {
            let (writer, mut reader) = pair().await;
            let mut random = Random::new(seed);
            let stalls = random.below(2) == 0;
            let written = Rc::new(Cell::new(None));
            let (told, mut of_writer) = (written.clone(), Random::new(seed + SEEDS));
            spawn(async move { told.set(Some(write(&mut of_writer, writer).await)) });
            let (mut seen, mut into) = (Seen { got: 0, end: Ok(()) }, vec![0; 9000]);
            loop {
                sleep(pause(&mut random, stalls)).await;
                let read = reader.read(&mut into).await;
                if check(&mut seen, read.map(|len| &into[..len])) {
                    break;
                }
            }
            judge(seed, stalls, written.get().expect("its end has come"), &seen)
        };
        let lost =
            world.run_on(&builder(BackendKind::Uring), play).unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}"));
        losses += u64::from(lost);
    }
    assert!(losses > SEEDS / 50, "bytes were lost in {losses} of {SEEDS} seeds, which shows too little");
}

/// Here the runtime ends too, a moment after the stream was dropped.
#[test]
fn written_bytes_arrive_or_the_peer_is_reset_by_a_runtime_that_ends() {
    for backend in [BackendKind::Uring, BackendKind::Epoll] {
        for seed in 0..12 {
            let Ok(runtime) = builder(backend).build() else { continue };
            let mut random = Random::new(seed);
            let (reader, written) = runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                let mut of_reader = Random::new(seed + SEEDS);
                let mut stream = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let reader = thread::spawn(move || {
                    let (mut seen, mut into) = (Seen { got: 0, end: Ok(()) }, vec![0; 9000]);
                    loop {
                        thread::sleep(pause(&mut of_reader, true));
                        let read = stream.read(&mut into);
                        if check(&mut seen, read.map(|len| &into[..len])) {
                            return seen;
                        }
                    }
                });
                let stream = listener.accept().await.unwrap();
                stream.set_send_buffer_size(4096).unwrap();
                let written = write(&mut random, stream).await;
                sleep(Duration::from_micros(random.below(2000))).await;
                (reader, written)
            });
            drop(runtime);
            judge(seed, true, written, &reader.join().unwrap());
        }
    }
}

/// It takes much longer than the close timeout, and never as long as that for the next bytes: a read empties the window.
#[test]
fn a_slow_reader_gets_all_of_a_stream_that_was_dropped() {
    let world =
        World::with_settings(1, Settings { send_buffer: 8 << 10, receive_window: 8 << 10, ..Settings::default() });
    let play = async {
        let (mut writer, mut reader) = pair().await;
        spawn(async move { writer.write_all(&bytes(0, 600_000)).await });
        let (mut seen, mut into) = (Seen { got: 0, end: Ok(()) }, [0; 9000]);
        loop {
            sleep(CLOSE_TIMEOUT / 8).await;
            let read = reader.read(&mut into).await;
            if check(&mut seen, read.map(|len| &into[..len])) {
                return seen;
            }
        }
    };
    let seen = world.run_on(&builder(BackendKind::Uring), play).unwrap();
    assert!(seen.got == 600_000 && seen.end.is_ok(), "{seen:?}");
}

/// What fits neither into the sockets nor into one send buffer is still sent, to a peer that reads.
#[test]
fn a_runtime_that_ends_sends_what_was_written() {
    for backend in [BackendKind::Uring, BackendKind::Epoll] {
        let Ok(runtime) = Runtime::builder().backend(Some(backend)).close_timeout(Duration::from_secs(60)).build()
        else {
            continue;
        };
        let (mut client, written) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut stream = listener.accept().await.unwrap();
            let mut written = 0;
            while let Ok(len) = timeout(20 * MS, stream.write(&bytes(written, 10_000))).await {
                written += len.unwrap();
            }
            (client, written)
        });
        let reader = thread::spawn(move || {
            let (mut seen, mut into) = (Seen { got: 0, end: Ok(()) }, vec![0; 9000]);
            while !check(&mut seen, client.read(&mut into).map(|len| &into[..len])) {}
            seen
        });
        drop(runtime);
        let seen = reader.join().unwrap();
        assert!(seen.got == written && seen.end.is_ok(), "{backend:?}: {written} written, {seen:?}");
    }
}
