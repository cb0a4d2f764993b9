//! One acceptor and two workers: connections are dealt out in turn, independent of how the kernel would spread them.
//!
//! The acceptor passes each socket to a worker with [`Handle::spawn`]: a `Send` closure that makes the connection's future
//! there. The future itself need not be `Send` and stays on that worker.
//!
//! `cargo run -p brunt-runtime --example remote_spawn [ADDRESS] [uring|epoll]`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::{Handle, group};
use std::{error::Error, io, net::SocketAddr, sync::mpsc, thread};

const WORKERS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let (sender, handles) = mpsc::channel();
    let workers = builder.clone();
    thread::spawn(move || {
        group::run(&workers, &[None; WORKERS], |_| {
            sender.send(Handle::current()).expect("the acceptor waits for all handles");
            // Runs spawned tasks until the process ends.
            std::future::pending::<()>()
        })
    });
    let handles: Vec<Handle> = handles.iter().take(WORKERS).collect();
    Ok(builder.build()?.block_on(accept(address, handles))?)
}

async fn accept(address: SocketAddr, workers: Vec<Handle>) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for turn in 0.. {
        let socket = listener.accept_std().await?;
        let worker = turn % workers.len();
        // The returned handle is dropped: the task goes on by itself.
        drop(workers[worker].spawn(move || async move { echo(TcpStream::from_std(socket)?, worker).await }));
    }
    Ok(())
}

async fn echo(mut stream: TcpStream, worker: usize) -> io::Result<()> {
    stream.write_all(format!("worker {worker}\n").as_bytes()).await?;
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}
