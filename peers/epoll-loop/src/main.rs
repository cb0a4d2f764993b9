//! TCP echo on a bare level-triggered epoll loop: the floor of every readiness-based runtime.
//! It must never gain a task, a future, a timer or a queue that such a server does not need.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
};

use rustix::{
    event::epoll::{self, CreateFlags, EventData, EventFlags},
    fd::OwnedFd,
    net::{SocketFlags, accept_with},
};

/// Events taken from the kernel in one turn.
const EVENTS: usize = 1024;

/// A connection, and what its full send buffer did not take: nothing, save for a client slow to read.
struct Connection {
    stream: TcpStream,
    unsent: Vec<u8>,
}

struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    /// By descriptor, which is also the event's token. A descriptor has one entry in the epoll set, so one batch of
    /// events cannot name both a closed connection and its successor under the same number.
    connections: Vec<Option<Connection>>,
    /// One for all connections, so that it stays in the core's cache.
    buffer: Box<[u8]>,
    spare: host::Spare,
}

fn main() {
    let args = args::Peer {
        name: "epoll-loop",
        buffer: (64 << 10, "a thread"),
        flag: None,
    }
    .args();
    host::thread_per_core("epoll-loop", args.listen, &args.cores, |listener, _| {
        let failed = Server::new(listener, args.buffer).and_then(|mut server| server.run());
        if let Err(error) = failed {
            host::fail(1, format!("epoll: {error}"));
        }
    });
}

impl Server {
    fn new(listener: TcpListener, buffer: usize) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, token(&listener), EventFlags::IN)?;
        let (connections, buffer) = (Vec::new(), vec![0; buffer].into());
        Ok(Self {
            epoll,
            listener,
            connections,
            buffer,
            spare: host::Spare::new(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let fd = event.data.u64() as usize;
                if fd == self.listener.as_raw_fd() as usize {
                    self.accept();
                } else if self.serve(fd).is_err() {
                    self.connections[fd] = None; // Closes, and closing leaves the epoll set.
                }
            }
        }
    }

    /// Accepts all pending connections: a burst costs one wake-up.
    fn accept(&mut self) {
        loop {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(fd) if self.spare.admits() => {
                    let fd_number = fd.as_raw_fd() as usize;
                    if epoll::add(&self.epoll, &fd, token(&fd), EventFlags::IN).is_err() {
                        continue; // No memory for it, or fs.epoll.max_user_watches: only this client is refused.
                    }
                    if self.connections.len() <= fd_number {
                        self.connections.resize_with(fd_number + 1, || None);
                    }
                    self.connections[fd_number] = Some(Connection {
                        stream: fd.into(),
                        unsent: Vec::new(),
                    });
                }
                Ok(_) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => return self.spare.accept_failed(), // Still readable if somebody waits.
            }
        }
    }

    /// One read and one write: level triggering reports what is left. An error means: close.
    fn serve(&mut self, fd: usize) -> io::Result<()> {
        let Some(Connection { stream, unsent }) = self.connections.get_mut(fd).and_then(Option::as_mut) else {
            return Ok(());
        };
        if !unsent.is_empty() {
            let sent = write(stream, unsent)?;
            unsent.drain(..sent);
            if unsent.is_empty() {
                *unsent = Vec::new(); // Gives the memory back.
                epoll::modify(&self.epoll, &*stream, token(stream), EventFlags::IN)?;
            }
            return Ok(());
        }
        let count = match stream.read(&mut self.buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let sent = write(stream, &self.buffer[..count])?;
        if sent < count {
            unsent.extend_from_slice(&self.buffer[sent..count]);
            // Until the client has read its answers it is not listened to: nothing piles up.
            epoll::modify(&self.epoll, &*stream, token(stream), EventFlags::OUT)?;
        }
        Ok(())
    }
}

fn token(fd: &impl AsRawFd) -> EventData {
    EventData::new_u64(fd.as_raw_fd() as u64)
}

/// Bytes that the socket took, 0 if its buffer is full.
fn write(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match stream.write(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        other => other,
    }
}
