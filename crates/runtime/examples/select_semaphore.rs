//! Select, semaphore and notification from runtime-agnostic crates: an echo server that serves four clients at a time
//! and can disconnect all of them.
//!
//! - `async_lock::Semaphore` limits the clients served at once; later ones wait for a permit.
//! - `event_listener::Event` notifies all clients when one of them sends a line `quit`.
//! - `futures_lite::FutureExt::or` selects between reading and that notification. The dropped read loses nothing.
//!
//! `cargo run -p brunt-runtime --example select_semaphore [ADDRESS] [uring|epoll]`, then `nc 127.0.0.1 7000`

mod common;

use async_lock::Semaphore;
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use event_listener::Event;
use futures_lite::FutureExt;
use std::{error::Error, io, net::SocketAddr, rc::Rc};

const MAX_CLIENTS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let (permits, quit) = (Rc::new(Semaphore::new(MAX_CLIENTS)), Rc::new(Event::new()));
    loop {
        let stream = listener.accept().await?;
        let (permits, quit) = (permits.clone(), quit.clone());
        spawn(async move {
            let _permit = permits.acquire().await;
            echo(stream, &quit).await
        });
    }
}

async fn echo(mut stream: TcpStream, quit: &Event) -> io::Result<()> {
    let mut notified = quit.listen();
    loop {
        let end = async {
            (&mut notified).await;
            Ok(None)
        };
        let received = async { stream.recv().await.map(Some) }.or(end).await?;
        match received {
            None => return stream.write_all(b"goodbye\n").await,
            Some(received) if received.is_empty() => return Ok(()),
            Some(received) if *received == *b"quit\n" => {
                quit.notify(usize::MAX);
            }
            Some(received) => stream.send(received).await?,
        }
    }
}
