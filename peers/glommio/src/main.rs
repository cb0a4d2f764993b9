//! TCP echo on glommio, one executor a core.
//! It must stay what a glommio user would write.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use std::{
    os::fd::{FromRawFd, IntoRawFd},
    panic,
    time::Duration,
};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use glommio::{
    LocalExecutorBuilder, Placement,
    net::{TcpListener, TcpStream},
};

/// Entries of a ring: above the default of 128, which a turn with more ready connections than that fills.
const RING_DEPTH: usize = 4096;

/// How long glommio's own benchmark lets an executor look for work before it sleeps.
const SPIN: Duration = Duration::from_millis(10);

fn main() {
    let args = args::Peer {
        name: "glommio",
        buffer: (16 << 10, "a connection"),
        flag: Some(("--idle", &["sleep", "spin"])),
    }
    .args();
    // Without io_uring glommio returns no error, it panics; one line is enough to say so.
    panic::set_hook(Box::new(|what| host::fail(1, host::no_ring(what))));
    let what = format!("glommio, idle: {}", args.choice);
    host::thread_per_core(&what, args.listen, &args.cores, |listener, core| {
        // No storage: the smallest area of registered memory, so that a low RLIMIT_MEMLOCK is enough.
        let mut builder = LocalExecutorBuilder::new(Placement::Fixed(core))
            .ring_depth(RING_DEPTH)
            .io_memory(0);
        if args.choice == "spin" {
            builder = builder.spin_before_park(SPIN);
        }
        match builder.make() {
            Ok(executor) => executor.run(accept(listener, args.buffer)),
            Err(error) => host::fail(1, host::no_ring(error)),
        }
    });
}

async fn accept(listener: std::net::TcpListener, buffer: usize) {
    // SAFETY: `into_raw_fd` gives up the only owner of an open, listening descriptor.
    let listener = unsafe { TcpListener::from_raw_fd(listener.into_raw_fd()) };
    let mut spare = host::Spare::new();
    loop {
        match listener.accept().await {
            Ok(stream) if spare.admits() => drop(glommio::spawn_local(echo(stream, buffer)).detach()),
            Ok(_) => {}
            Err(_) => spare.accept_failed(),
        }
    }
}

async fn echo(mut stream: TcpStream, size: usize) {
    let mut buffer = vec![0; size];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if stream.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
