//! TCP echo on compio's io_uring driver, one thread a core.
//! It must stay what a compio user would write: owned buffers, no operation compio does not offer.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use compio::{
    BufResult,
    driver::ProactorBuilder,
    io::{AsyncRead, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

/// Submission entries: no turn of the loop should run out of them.
const ENTRIES: u32 = 4096;

fn main() {
    let args = args::Peer {
        name: "compio",
        buffer: (16 << 10, "a connection"),
        flag: Some(("--ring", &["deferred", "default"])),
    }
    .args();
    let what = format!("compio, {} ring", args.choice);
    host::thread_per_core(&what, args.listen, &args.cores, |listener, _| {
        let mut ring = ProactorBuilder::new();
        ring.capacity(ENTRIES);
        if args.choice == "deferred" {
            ring.single_issuer(true).defer_taskrun(true).taskrun_flag(true);
        }
        match Runtime::builder().with_proactor(ring).build() {
            Ok(runtime) => runtime.block_on(accept(listener, args.buffer)),
            Err(error) => host::fail(1, host::no_ring(error)),
        }
    });
}

async fn accept(listener: std::net::TcpListener, buffer: usize) {
    let listener = TcpListener::from_std(listener)
        .unwrap_or_else(|error| host::fail(1, format!("cannot register the listener: {error}")));
    let mut spare = host::Spare::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) if spare.admits() => compio::runtime::spawn(echo(stream, buffer)).detach(),
            Ok(_) => {}
            Err(_) => spare.accept_failed(),
        }
    }
}

async fn echo(mut stream: TcpStream, size: usize) {
    let mut buffer = Vec::with_capacity(size);
    loop {
        let BufResult(read, received) = stream.read(buffer).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let BufResult(written, sent) = stream.write_all(received).await;
        if written.is_err() {
            return;
        }
        buffer = sent;
        buffer.clear(); // compio never shortens a buffer: without this a short read would send old bytes too.
    }
}
