//! Two threads, one state: one thread serves clients, the other owns a counter, and a channel connects them. The state
//! needs no lock, and its changes have one order.
//!
//! `async-channel` and `oneshot` are independent of the runtime. Each line that a client sends draws the next number.
//!
//! `cargo run -p brunt-runtime --example channel_across_cores [ADDRESS] [uring|epoll]`

mod common;

use async_channel::{Receiver, Sender};
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use std::{error::Error, io, net::SocketAddr, thread};

/// A request for a number, which is sent here.
type Draw = oneshot::Sender<u64>;

/// Requests in the channel; beyond that, clients wait.
const CAPACITY: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let (sender, receiver) = async_channel::bounded(CAPACITY);
    let counter = builder.clone().build()?;
    // Tasks and runtimes stay on their thread; values in the channel do not.
    thread::scope(|scope| {
        let server = scope.spawn(|| builder.build()?.block_on(serve(address, sender)));
        counter.block_on(count(receiver));
        server.join().expect("the server does not panic")
    })?;
    Ok(())
}

/// Answers until all senders are gone.
async fn count(draws: Receiver<Draw>) {
    let mut drawn = 0;
    while let Ok(draw) = draws.recv().await {
        drawn += 1;
        // Fails if the client has gone; its number is skipped, never given twice.
        let _ = draw.send(drawn);
    }
}

async fn serve(address: SocketAddr, counter: Sender<Draw>) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let stream = listener.accept().await?;
        spawn(client(stream, counter.clone()));
    }
}

async fn client(mut stream: TcpStream, counter: Sender<Draw>) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        for _ in received.iter().filter(|byte| **byte == b'\n') {
            let (draw, number) = oneshot::channel();
            counter.send(draw).await.map_err(io::Error::other)?;
            let number = number.await.map_err(io::Error::other)?;
            stream.write_all(format!("{number}\n").as_bytes()).await?;
        }
    }
}
