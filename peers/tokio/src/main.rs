//! TCP echo on tokio, on either scheduler.
//! It must stay what a tokio user would write: no ring, no hand-made readiness.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

fn main() {
    let args = args::Peer {
        name: "tokio",
        buffer: (16 << 10, "a connection"),
        flag: Some(("--scheduler", &["current-thread", "multi-thread"])),
    }
    .args();
    let buffer = args.buffer;
    match args.choice {
        "multi-thread" => {
            // The workers inherit this thread's mask. Which worker runs on which of the cores is the kernel's choice:
            // work stealing makes them interchangeable.
            host::pin(&args.cores);
            let listener = host::listen(args.listen, 1).remove(0);
            host::announce("tokio multi-thread", &listener, &args.cores);
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(args.cores.len());
            // Spawned, because a future given to `block_on` runs on this thread, which is not a worker.
            run(builder, async move {
                tokio::spawn(accept(listener, buffer))
                    .await
                    .expect("accepting does not panic")
            });
        }
        _ => host::thread_per_core("tokio current-thread", args.listen, &args.cores, |listener, _| {
            run(Builder::new_current_thread(), accept(listener, buffer));
        }),
    }
}

fn run(mut builder: Builder, server: impl Future<Output = ()>) {
    match builder.enable_io().build() {
        Ok(runtime) => runtime.block_on(server),
        Err(error) => host::fail(1, format!("cannot start tokio: {error}")),
    }
}

async fn accept(listener: std::net::TcpListener, buffer: usize) {
    let listener = listener
        .set_nonblocking(true)
        .and_then(|()| TcpListener::from_std(listener));
    let listener = listener.unwrap_or_else(|error| host::fail(1, format!("cannot register the listener: {error}")));
    let mut spare = host::Spare::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) if spare.admits() => drop(tokio::spawn(echo(stream, buffer))),
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
