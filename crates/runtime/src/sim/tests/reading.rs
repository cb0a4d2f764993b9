//! However a stream is read, each byte comes once and in order, and then the end: over seeds, in worlds and on the kernels of this
//! machine. Reads have little room or much, lend the bytes, end at a time limit, and the stream leaves the runtime and comes back.

use super::super::{Settings, World};
use super::{byte, bytes, pair};
use crate::net::TcpStream;
use crate::sim_kernel::random::Random;
use crate::time::{sleep, timeout};
use crate::{BackendKind, Runtime, spawn};
use std::cell::Cell;
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;
use std::{io, iter};

const SEEDS: u64 = 400;

fn rest(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(1500))
}

/// Writes long and short messages and ends. Returns how many bytes, and whether it ended with a reset.
async fn write(random: &mut Random, mut stream: TcpStream) -> (usize, bool) {
    let mut written = 0;
    for _ in 0..2 + random.below(12) {
        let most = if random.below(4) == 0 { 300 } else { 200_000 };
        let part = bytes(written, 1 + random.below(most) as usize);
        stream.write_all(&part).await.unwrap();
        written += part.len();
        if random.below(2) == 0 {
            sleep(rest(random)).await;
        }
    }
    stream.flush().await.unwrap();
    let resets = random.below(4) == 0;
    if resets {
        stream.set_linger_zero().unwrap();
    } else {
        stream.shutdown(Shutdown::Write).await.unwrap();
    }
    (written, resets)
}

/// Takes the next bytes in one of many ways; none are the end.
async fn take(random: &mut Random, mut stream: TcpStream) -> io::Result<(Vec<u8>, TcpStream)> {
    let room = if random.below(3) == 0 { 5_000 } else { 100_000 };
    let mut into = vec![0; 1 + random.below(room) as usize];
    loop {
        match random.below(16) {
            0 => sleep(rest(random)).await,
            1..4 => return Ok((stream.recv().await?.to_vec(), stream)),
            4..7 => {
                if let Ok(len) = timeout(rest(random) / 10, stream.read(&mut into)).await {
                    into.truncate(len?);
                    return Ok((into, stream));
                }
            }
            7 => {
                let left = stream.into_std().await?;
                stream = TcpStream::from_std(left.stream)?;
                if !left.unread.is_empty() {
                    return Ok((left.unread, stream));
                }
            }
            _ => {
                let len = stream.read(&mut into).await?;
                into.truncate(len);
                return Ok((into, stream));
            }
        }
    }
}

async fn play(seed: u64) {
    let (writer, mut reader) = pair().await;
    let (mut random, told) = (Random::new(seed), Rc::new(Cell::new(None)));
    let (written, mut of_writer) = (told.clone(), Random::new(seed + SEEDS));
    spawn(async move { written.set(Some(write(&mut of_writer, writer).await)) });
    let mut got = 0;
    let end = loop {
        match take(&mut random, reader).await {
            Ok((part, stream)) if !part.is_empty() => {
                let wrong = iter::zip(&part, got..).find(|(got, at)| **got != byte(*at));
                assert!(wrong.is_none(), "seed {seed}: another byte at {:?}", wrong.map(|(_, at)| at));
                got += part.len();
                reader = stream;
            }
            end => break end.map(drop),
        }
    };
    let (written, resets) = told.get().expect("its end has come");
    assert!(got == written || (resets && got < written), "seed {seed}: {got} of {written} bytes, and then {end:?}");
    assert!(end.is_err() == resets, "seed {seed}: {end:?}, and the writer's reset is {resets}");
}

#[test]
fn however_bytes_are_taken_each_comes_once_and_then_the_end() {
    for seed in 0..SEEDS {
        let settings = Settings { send_buffer: 200 << 10, receive_window: 100 << 10, ..Settings::rough() };
        let world = World::with_settings(seed, settings);
        world.run(play(seed)).unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}"));
    }
}

#[test]
fn however_bytes_are_taken_each_comes_once_and_then_the_end_on_the_kernels_of_this_machine() {
    for backend in [BackendKind::Uring, BackendKind::Epoll] {
        let Ok(runtime) = Runtime::builder().backend(Some(backend)).build() else { continue };
        for seed in 0..60 {
            let played = runtime.block_on(timeout(Duration::from_secs(60), play(seed)));
            assert!(played.is_ok(), "seed {seed} on {backend}: the read never ends");
        }
    }
}
