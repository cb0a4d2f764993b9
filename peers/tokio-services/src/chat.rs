//! The chat: each line of a client goes to all others of its runtime.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};

/// Lines that wait for a client.
const QUEUE: usize = 256;
/// The longest line.
const LONGEST: usize = 4096;

#[derive(Clone, Default)]
pub struct Room {
    next: Rc<Cell<u64>>,
    clients: Rc<RefCell<BTreeMap<u64, Client>>>,
}

struct Client {
    lines: mpsc::Sender<Rc<[u8]>>,
    /// Notified when the queue is full.
    gone: Rc<Notify>,
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
            if matches!(sent, Err(mpsc::error::TrySendError::Full(_))) {
                client.gone.notify_waiters();
            }
            sent.is_ok()
        });
    }
}

pub async fn serve(stream: TcpStream, room: Room) {
    let number = room.next.get() + 1;
    room.next.set(number);
    let (reader, writer) = stream.into_split();
    let (lines, queue) = mpsc::channel(QUEUE);
    let gone = Rc::new(Notify::new());
    room.clients.borrow_mut().insert(number, Client { lines, gone: gone.clone() });
    room.say(number, &format!("client {number} has come\n"));
    let writing = tokio::task::spawn_local(write(writer, queue));
    let reading = tokio::task::spawn_local({
        let room = room.clone();
        async move { read(reader, number, &room).await }
    });
    let (stop_reading, stop_writing) = (reading.abort_handle(), writing.abort_handle());
    let watch = tokio::task::spawn_local(async move {
        gone.notified().await;
        stop_reading.abort();
        stop_writing.abort();
    });
    let _ = reading.await;
    watch.abort();
    room.clients.borrow_mut().remove(&number);
    room.say(number, &format!("client {number} has gone\n"));
}

async fn read(mut reader: OwnedReadHalf, number: u64, room: &Room) -> io::Result<()> {
    let (mut line, mut buffer) = (Vec::new(), vec![0; 4096]);
    loop {
        let len = reader.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        for byte in &buffer[..len] {
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

async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Rc<[u8]>>) -> io::Result<()> {
    while let Some(line) = queue.recv().await {
        writer.write_all(&line).await?;
    }
    Ok(())
}
