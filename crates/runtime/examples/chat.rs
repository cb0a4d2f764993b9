//! A chat: each line of a client goes to all others. A client that does not read is disconnected, and delays no other.
//!
//! `cargo run -p brunt-runtime --example chat [ADDRESS] [uring|epoll]`, then `nc 127.0.0.1 7000` in several terminals.

mod common;

use async_channel::{Receiver, Sender, TrySendError};
use brunt_runtime::net::{OwnedReadHalf, OwnedWriteHalf, Tcp, TcpListener};
use brunt_runtime::{CancellationToken, spawn};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

/// Lines that wait for a client.
const QUEUE: usize = 256;
/// The longest line.
const LONGEST: usize = 4096;

/// The queues of all clients.
#[derive(Clone, Default)]
struct Room {
    clients: Rc<RefCell<BTreeMap<u64, Client>>>,
}

struct Client {
    lines: Sender<Rc<[u8]>>,
    /// Cancelled when the queue is full.
    gone: CancellationToken,
}

impl Room {
    /// Sends a line to all but its author.
    fn say(&self, author: u64, line: &str) {
        let line: Rc<[u8]> = line.as_bytes().into();
        self.clients.borrow_mut().retain(|number, client| {
            if *number == author {
                return true;
            }
            let sent = client.lines.try_send(line.clone());
            if matches!(sent, Err(TrySendError::Full(_))) {
                client.gone.cancel();
            }
            sent.is_ok()
        });
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let room = Room::default();
    for number in 1.. {
        let (reader, writer) = listener.accept().await?.into_split();
        let (lines, queue) = async_channel::bounded(QUEUE);
        let gone = CancellationToken::new();
        room.clients.borrow_mut().insert(number, Client { lines, gone: gone.clone() });
        room.say(number, &format!("client {number} has come\n"));
        spawn(write(writer, queue, gone.clone()));
        let room = room.clone();
        spawn(async move {
            // Ends at the end of its input, an error, or with the queue.
            gone.run_until_cancelled(read(reader, number, &room)).await;
            room.clients.borrow_mut().remove(&number);
            room.say(number, &format!("client {number} has gone\n"));
        });
    }
    Ok(())
}

async fn read(mut reader: OwnedReadHalf<Tcp>, number: u64, room: &Room) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let received = reader.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        for byte in received.iter() {
            line.push(*byte);
            if *byte == b'\n' {
                room.say(number, &format!("{number}: {}", String::from_utf8_lossy(&line)));
                line.clear();
            } else if line.len() > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
}

async fn write(mut writer: OwnedWriteHalf<Tcp>, queue: Receiver<Rc<[u8]>>, gone: CancellationToken) {
    let lines = async {
        while let Ok(line) = queue.recv().await {
            writer.write_all(&line).await?;
        }
        io::Result::Ok(())
    };
    if gone.run_until_cancelled(lines).await.is_none() {
        // What the client has not read is discarded: it gets a reset.
        let _ = writer.as_ref().set_linger_zero();
    }
}
