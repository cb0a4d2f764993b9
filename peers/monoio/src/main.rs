//! TCP echo on monoio's io_uring driver, one thread a core.
//! It must stay what a monoio user would write: owned buffers, no operation monoio does not offer.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use monoio::{
    IoUringDriver, RuntimeBuilder,
    io::{AsyncReadRent, AsyncWriteRentExt},
    net::{TcpListener, TcpStream},
};

/// As in monoio's own benchmark: no turn of the loop runs out of submission entries.
const ENTRIES: u32 = 32_768;

fn main() {
    let args = args::Peer {
        name: "monoio",
        buffer: (16 << 10, "a connection"),
        flag: Some(("--ring", &["default", "deferred"])),
    }
    .args();
    let what = format!("monoio, {} ring", args.choice);
    host::thread_per_core(&what, args.listen, &args.cores, |listener, _| {
        let mut ring = io_uring::IoUring::builder();
        if args.choice == "deferred" {
            ring.setup_single_issuer().setup_defer_taskrun();
        }
        let builder = RuntimeBuilder::<IoUringDriver>::new()
            .with_entries(ENTRIES)
            .uring_builder(ring);
        match builder.build() {
            Ok(mut runtime) => runtime.block_on(accept(listener, args.buffer)),
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
            Ok((stream, _)) if spare.admits() => drop(monoio::spawn(echo(stream, buffer))),
            Ok(_) => {}
            Err(_) => spare.accept_failed(),
        }
    }
}

async fn echo(mut stream: TcpStream, size: usize) {
    let mut buffer = Vec::with_capacity(size);
    loop {
        let (read, received) = stream.read(buffer).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let (written, sent) = stream.write_all(received).await;
        if written.is_err() {
            return;
        }
        buffer = sent;
    }
}
