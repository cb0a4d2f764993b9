//! An echo server with a known amount of work for each message: `work_server ADDRESS COUNT`, for example
//! `work_server 127.0.0.1:7000 00030000`. It tests comparisons: the true ratio of two of them is known.
//!
//! The work is counted, not timed: a loop until some time has passed does less work in a slow spell, and none in a pause. COUNT
//! is the number of steps of an integer recurrence, written with eight digits, because the length of the arguments shifts the
//! stack and with it the speed. One thread; pin it with `taskset` or in a plan.
//!
//! `work_server measure COUNT` prints the CPU time of a message's work, in nanoseconds.

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::{BackendKind, Runtime, spawn};
use std::hint::black_box;
use std::net::SocketAddr;
use std::{env, fs, io, process};

const DIGITS: usize = 8;
/// Messages of a measurement.
const MEASURED: u64 = 2_000;

fn main() {
    let args: Vec<_> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure", count] => steps(count).and_then(measure),
        [address, count] => steps(count).and_then(|steps| run(address, steps)),
        _ => Err("usage: work_server ADDRESS COUNT, or work_server measure COUNT".to_owned()),
    };
    if let Err(message) = result {
        eprintln!("error: {message}");
        process::exit(2);
    }
}

fn steps(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|_| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()));
    count.ok_or_else(|| format!("'{text}' is not a count of {DIGITS} digits; write one like 00030000"))
}

/// A step takes its input from the one before, so steps cannot overlap, and the compiler knows no shorter way.
fn work(steps: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(x);
}

fn measure(steps: u64) -> Result<(), String> {
    // Nanoseconds on a core: the first field, exact when a thread reads its own.
    let cpu = || {
        let text = fs::read_to_string("/proc/thread-self/schedstat")
            .map_err(|e| format!("/proc/thread-self/schedstat: {e}"))?;
        text.split(' ').next().and_then(|field| field.parse::<u64>().ok()).ok_or(format!("no CPU time in '{text}'"))
    };
    work(steps);
    let before = cpu()?;
    (0..MEASURED).for_each(|_| work(steps));
    println!("{}", (cpu()? - before) / MEASURED);
    Ok(())
}

fn run(address: &str, steps: u64) -> Result<(), String> {
    let address: SocketAddr =
        address.parse().map_err(|_| format!("'{address}' is not an address; write one like 127.0.0.1:7000"))?;
    // The backend that exists everywhere, and no polling: it would be part of the CPU time of a message.
    let builder = Runtime::builder().backend(Some(BackendKind::Epoll)).spin(std::time::Duration::ZERO);
    let runtime = builder.build().map_err(|e| format!("the runtime: {e}"))?;
    runtime.block_on(serve(address, steps)).map_err(|e| format!("{address}: {e}"))
}

async fn serve(address: SocketAddr, steps: u64) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let stream = listener.accept().await?;
        spawn(echo(stream, steps));
    }
}

/// Clients await each reply before the next message, and messages are shorter than a segment: what arrives is one message.
async fn echo(mut stream: TcpStream, steps: u64) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        work(steps);
        stream.send(received).await?;
    }
}
