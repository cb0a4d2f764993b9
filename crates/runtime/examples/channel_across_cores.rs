//! Two threads, one state: one serves clients, the other keeps what they change, and a channel runs between them. So the
//! state needs no lock, and its changes have one order, that of the channel.
//!
//! `cargo run -p brunt-runtime --example channel_across_cores [ADDRESS]`; every line that a client sends draws the next
//! number.

use brunt_runtime::{
    Runtime,
    net::{TcpListener, TcpStream},
    spawn,
    sync::{
        channel::{Receiver, Sender, channel},
        oneshot::{self, oneshot},
    },
};
use std::{env, error::Error, io, net::SocketAddr, thread};

/// What a client asks of the keeper: a number, sent here.
type Draw = oneshot::Sender<u64>;

/// Draws on their way. When the keeper falls behind, those who draw wait; nothing queues without end.
const ROOM: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let address = address()?;
    let (sender, receiver) = channel(ROOM);
    let keeper = Runtime::new()?;
    // A task and a runtime stay on their thread; what goes through a channel does not.
    thread::scope(|scope| {
        let serving = scope.spawn(|| Runtime::new()?.block_on(serve(address, sender)));
        keeper.block_on(keep(receiver));
        serving.join().expect("serving does not panic")
    })?;
    Ok(())
}

/// Counts until nobody is left who could draw.
async fn keep(mut draws: Receiver<Draw>) {
    let mut drawn = 0;
    while let Some(draw) = draws.recv().await {
        drawn += 1;
        // A client may have gone while it waited; its number is lost, not given twice.
        let _ = draw.send(drawn);
    }
}

async fn serve(address: SocketAddr, keeper: Sender<Draw>) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let stream = listener.accept().await?;
        spawn(client(stream, keeper.clone()));
    }
}

async fn client(mut stream: TcpStream, keeper: Sender<Draw>) -> io::Result<()> {
    loop {
        let lease = stream.recv().await?;
        if lease.is_empty() {
            return Ok(());
        }
        for _ in lease.iter().filter(|byte| **byte == b'\n') {
            let (draw, number) = oneshot();
            keeper.send(draw).await.map_err(io::Error::other)?;
            let number = number.await.map_err(io::Error::other)?;
            stream.write_all(format!("{number}\n").as_bytes()).await?;
        }
    }
}

fn address() -> Result<SocketAddr, String> {
    let text = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    text.parse().map_err(|_| format!("'{text}' is no address; write one like 127.0.0.1:7000"))
}
