//! A task of a test: what it does with its connection, step by step.

use super::{
    plan::{Life, Op, Origin},
    socket,
    world::{Doing, World},
};
use crate::{
    net::{RecvBuf, TcpListener, TcpStream, Watch},
    spawn,
    time::timeout,
    yield_now,
};
use std::{
    future::{Future, poll_fn},
    io::{self, Read, Write},
    net::Shutdown,
    os::fd::AsRawFd,
    pin::pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

/// Polls once.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A stream on a socket of the fake kernel's.
pub(super) fn adopt(world: &World, sock: usize) -> TcpStream {
    let (near, far) = socket::pair();
    world.kernel.borrow_mut().net.socks[sock].open(near.as_raw_fd(), Some(far));
    TcpStream::from_std(near.into()).unwrap()
}

/// Accepts connections and gives each its task.
pub(super) async fn accept(world: Rc<World>, lives: Rc<Vec<Life>>, listener: TcpListener) {
    let me = lives.len() + 1;
    let _gone = world.begins(me);
    loop {
        match world.during(me, Doing::Accepts, false, listener.accept()).await {
            Ok(stream) => {
                let sock = world.kernel.borrow_mut().net.accepted.pop_front().expect("it was accepted");
                let task = spawn(live(world.clone(), sock, lives.clone(), Some(stream)));
                world.handles.borrow_mut().push((lives[sock].abort, task));
            }
            Err(error) => world.fault(format!("accept: {error}")),
        }
    }
}

/// Takes all leases there are to be had.
pub(super) async fn hoard(world: Rc<World>, me: usize) {
    let _gone = world.begins(me);
    let mut stream = adopt(&world, me);
    loop {
        let lease = world.during(me, Doing::Reads, false, stream.recv()).await.unwrap();
        world.got(me, &lease);
        let copy = lease.to_vec();
        world.kept.borrow_mut().push_back((lease, copy));
    }
}

/// A connection from its beginning to its end.
pub(super) async fn live(world: Rc<World>, me: usize, lives: Rc<Vec<Life>>, accepted: Option<TcpStream>) {
    let _gone = world.begins(me);
    let life = &lives[me];
    let stream = match (life.origin, accepted) {
        (_, Some(stream)) => stream,
        (Origin::Connected, None) => {
            let address = ([127, 0, 0, 1], me as u16 + 1).into();
            match world.during(me, Doing::Connects, life.foreign, TcpStream::connect(address)).await {
                Ok(stream) => stream,
                Err(error) => return world.failed(me, "connect", &error),
            }
        }
        _ => adopt(&world, me),
    };
    let mut one = One { world: &world, me, foreign: life.foreign, stream, closed: false };
    for op in &life.ops {
        one.apply(op).await;
    }
    if life.split {
        let (mut read, write) = one.stream.into_split();
        // What was written goes out first, and then the write direction is shut down.
        drop(write);
        loop {
            match world.during(me, Doing::Reads, life.foreign, read.recv()).await {
                Ok(lease) => {
                    world.got(me, &lease);
                    if lease.is_empty() {
                        break;
                    }
                }
                Err(error) => break world.failed(me, "recv", &error),
            }
        }
    }
}

struct One<'a> {
    world: &'a World,
    me: usize,
    foreign: bool,
    stream: TcpStream,
    closed: bool,
}

impl One<'_> {
    async fn apply(&mut self, op: &Op) {
        let (world, me, foreign) = (self.world, self.me, self.foreign);
        match *op {
            Op::Read(size) => {
                let mut into = vec![0; size];
                let read = world.during(me, Doing::Reads, foreign, self.stream.read(&mut into)).await;
                self.read(read.map(|len| into[..len].to_vec()));
            }
            Op::Recv => drop(self.recv().await),
            Op::Keep => {
                if let Some(lease) = self.recv().await {
                    let copy = lease.to_vec();
                    world.kept.borrow_mut().push_back((lease, copy));
                }
            }
            Op::Forget => {
                let kept = world.kept.borrow_mut().pop_back();
                if kept.is_some_and(|(lease, copy)| *lease != *copy) {
                    world.fault("a lease has changed".to_owned());
                }
            }
            Op::GiveUp(how) => {
                let mut into = [0; 50];
                if how != 0
                    && let Some(lease) = now(self.stream.recv()).await
                {
                    self.read(lease.map(|lease| lease.to_vec()));
                }
                if how != 1
                    && let Some(len) = now(self.stream.read(&mut into)).await
                {
                    self.read(len.map(|len| into[..len].to_vec()));
                }
            }
            Op::Timeout(micros) => {
                let patience = Duration::from_micros(micros.into());
                let recv = timeout(patience, self.stream.recv());
                if let Ok(lease) = world.during(me, Doing::Sleeps, foreign, recv).await {
                    self.read(lease.map(|lease| lease.to_vec()));
                }
            }
            Op::Yield(times) => {
                for _ in 0..times {
                    yield_now().await;
                }
            }
            Op::Echo => {
                while let Some(lease) = self.recv().await {
                    let copy = lease.to_vec();
                    self.send(lease, copy).await;
                }
            }
            Op::Pipe(bytes) => self.pipe(bytes).await,
            _ if self.closed => (),
            Op::Send => {
                let kept = world.kept.borrow_mut().pop_front();
                if let Some((lease, copy)) = kept {
                    self.send(lease, copy).await;
                }
            }
            Op::Write(size) => drop(self.write(size).await),
            Op::Pieces(size, pieces) => {
                let bytes = self.fresh(size);
                let pieces: Vec<_> = bytes.chunks(size.div_ceil(pieces)).map(io::IoSlice::new).collect();
                let written = world.during(me, Doing::Writes, foreign, self.stream.write_vectored(&pieces)).await;
                match written {
                    Ok(len) => world.wrote(me, &bytes[..len]),
                    Err(error) => world.failed(me, "write_vectored", &error),
                }
            }
            Op::WriteAll(size) => {
                let mut left = size;
                while left > 0
                    && let Some(len) = self.write(left).await
                {
                    left -= len;
                }
            }
            Op::Flush => {
                let flushed = world.during(me, Doing::Writes, foreign, self.stream.flush()).await;
                self.flushed("flush", flushed);
            }
            Op::GiveUpWriting(size) => {
                let bytes = self.fresh(size);
                if let Some(Ok(len)) = now(self.stream.write(&bytes)).await {
                    world.wrote(me, &bytes[..len]);
                }
                if let Some(flushed) = now(self.stream.flush()).await {
                    self.flushed("flush", flushed);
                }
            }
            Op::HalfClose => {
                let shut = world.during(me, Doing::Writes, foreign, self.stream.shutdown(Shutdown::Write)).await;
                // A socket that was only said to be connected is none to the real kernel.
                self.flushed(
                    "shutdown",
                    shut.or_else(|e| if e.kind() == io::ErrorKind::NotConnected { Ok(()) } else { Err(e) }),
                );
                self.closed = true;
            }
            Op::Both(size) => self.both(size).await,
        }
    }

    fn fresh(&self, size: usize) -> Vec<u8> {
        let from = self.world.written(self.me);
        (from..from + size).map(|position| socket::byte(self.me + 100, position)).collect()
    }

    fn read(&self, bytes: io::Result<Vec<u8>>) {
        match bytes {
            Ok(bytes) => self.world.got(self.me, &bytes),
            Err(error) => self.world.failed(self.me, "read", &error),
        }
    }

    fn flushed(&self, what: &str, flushed: io::Result<()>) {
        match flushed {
            Ok(()) if !self.world.is_flushed(self.me) => {
                self.world.fault(format!("socket {}: {what} did not wait", self.me));
            }
            Ok(()) => (),
            Err(error) => self.world.failed(self.me, what, &error),
        }
    }

    /// A lease, or nothing at the end.
    async fn recv(&mut self) -> Option<RecvBuf> {
        let lease = self.world.during(self.me, Doing::Reads, self.foreign, self.stream.recv()).await;
        match lease {
            Ok(lease) => {
                self.world.got(self.me, &lease);
                Some(lease).filter(|lease| !lease.is_empty())
            }
            Err(error) => {
                self.world.failed(self.me, "recv", &error);
                None
            }
        }
    }

    async fn send(&mut self, lease: RecvBuf, copy: Vec<u8>) {
        if *lease != *copy {
            self.world.fault("a lease has changed".to_owned());
        }
        if self.closed {
            return;
        }
        match self.world.during(self.me, Doing::Writes, self.foreign, self.stream.send(lease)).await {
            Ok(()) => self.world.wrote(self.me, &copy),
            Err(error) => self.world.failed(self.me, "send", &error),
        }
    }

    async fn write(&mut self, size: usize) -> Option<usize> {
        let bytes = self.fresh(size);
        match self.world.during(self.me, Doing::Writes, self.foreign, self.stream.write(&bytes)).await {
            Ok(len) => {
                self.world.wrote(self.me, &bytes[..len]);
                Some(len)
            }
            Err(error) => {
                self.world.failed(self.me, "write", &error);
                None
            }
        }
    }

    async fn pipe(&mut self, bytes: u16) {
        let (reader, mut writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let watch = Watch::new(reader);
        let _ = now(watch.readable()).await;
        spawn(async move {
            yield_now().await;
            // Whoever reads may be gone.
            let _ = writer.write_all(&vec![7; bytes.into()]);
        });
        let (mut left, mut into) = (usize::from(bytes), [0; 1000]);
        while left > 0 {
            let read = watch.read_with(|mut pipe| pipe.read(&mut into));
            left -= self.world.during(self.me, Doing::Watches, self.foreign, read).await.unwrap();
        }
    }

    async fn both(&mut self, size: usize) {
        let bytes = self.fresh(size);
        let (mut rest, mut reading) = (bytes.as_slice(), true);
        let (world, me, stream) = (self.world, self.me, &mut self.stream);
        let both = poll_fn(|cx| {
            while reading && let Poll::Ready(lease) = stream.poll_recv(cx) {
                match lease {
                    Ok(lease) => {
                        world.got(me, &lease);
                        reading = !lease.is_empty();
                    }
                    Err(error) => {
                        world.failed(me, "recv", &error);
                        reading = false;
                    }
                }
            }
            while !rest.is_empty() {
                match stream.poll_write(cx, rest) {
                    Poll::Ready(Ok(len)) => {
                        world.wrote(me, &rest[..len]);
                        rest = &rest[len..];
                    }
                    Poll::Ready(Err(error)) => {
                        world.failed(me, "write", &error);
                        rest = &[];
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(())
        });
        world.during(me, Doing::Writes, self.foreign, both).await;
    }
}
