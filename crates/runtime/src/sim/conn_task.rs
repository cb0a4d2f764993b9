//! Tasks of a test: each performs the operations of its connection's plan.

use super::{
    plan::{ConnPlan, Op, Origin},
    socket,
    world::{Activity, World},
};
use crate::{
    net::{AsyncFd, RecvBuf, TcpListener, TcpStream},
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

/// A stream on a socket of the simulated kernel.
pub(super) fn adopt(world: &World, sock: usize) -> TcpStream {
    let (near, far) = socket::pair();
    world.kernel.borrow_mut().net.socks[sock].open(near.as_raw_fd(), Some(far));
    TcpStream::from_std(near.into()).unwrap()
}

/// Accepts connections and spawns a task for each.
pub(super) async fn accept(world: Rc<World>, plans: Rc<Vec<ConnPlan>>, listener: TcpListener) {
    let me = plans.len() + 1;
    let _guard = world.begins(me);
    loop {
        match world.during(me, Activity::Accepts, false, listener.accept()).await {
            Ok(stream) => {
                let sock = world.kernel.borrow_mut().net.accepted.pop_front().expect("it was accepted");
                let task = spawn(run(world.clone(), sock, plans.clone(), Some(stream)));
                world.handles.borrow_mut().push((plans[sock].abort, task));
            }
            Err(error) => world.fault(format!("accept: {error}")),
        }
    }
}

/// Receives and keeps as many buffers as its peer's data fills.
pub(super) async fn hoard(world: Rc<World>, me: usize) {
    let _guard = world.begins(me);
    let mut stream = adopt(&world, me);
    loop {
        let buffer = world.during(me, Activity::Reads, false, stream.recv()).await.unwrap();
        world.got(me, &buffer);
        let copy = buffer.to_vec();
        world.kept.borrow_mut().push_back((buffer, copy));
    }
}

/// A connection from its beginning to its end.
pub(super) async fn run(world: Rc<World>, me: usize, plans: Rc<Vec<ConnPlan>>, accepted: Option<TcpStream>) {
    let _guard = world.begins(me);
    let plan = &plans[me];
    let stream = match (plan.origin, accepted) {
        (_, Some(stream)) => stream,
        (Origin::Connected, None) => {
            let address = ([127, 0, 0, 1], me as u16 + 1).into();
            match world.during(me, Activity::Connects, plan.foreign, TcpStream::connect(address)).await {
                Ok(stream) => stream,
                Err(error) => return world.failed(me, "connect", &error),
            }
        }
        _ => adopt(&world, me),
    };
    let mut conn = Connection { world: &world, me, foreign: plan.foreign, stream, closed: false };
    for op in &plan.ops {
        conn.apply(op).await;
    }
    if plan.split {
        let (mut read, write) = conn.stream.into_split();
        // Shuts the write direction down after everything written has been sent.
        drop(write);
        loop {
            match world.during(me, Activity::Reads, plan.foreign, read.recv()).await {
                Ok(buffer) => {
                    world.got(me, &buffer);
                    if buffer.is_empty() {
                        break;
                    }
                }
                Err(error) => break world.failed(me, "recv", &error),
            }
        }
    }
}

struct Connection<'a> {
    world: &'a World,
    me: usize,
    foreign: bool,
    stream: TcpStream,
    closed: bool,
}

impl Connection<'_> {
    async fn apply(&mut self, op: &Op) {
        let (world, me, foreign) = (self.world, self.me, self.foreign);
        match *op {
            Op::Read(size) => {
                let mut into = vec![0; size];
                let read = world.during(me, Activity::Reads, foreign, self.stream.read(&mut into)).await;
                self.read(read.map(|len| into[..len].to_vec()));
            }
            Op::Recv => drop(self.recv().await),
            Op::Keep => {
                if let Some(buffer) = self.recv().await {
                    let copy = buffer.to_vec();
                    world.kept.borrow_mut().push_back((buffer, copy));
                }
            }
            Op::Forget => {
                let kept = world.kept.borrow_mut().pop_back();
                if kept.is_some_and(|(buffer, copy)| *buffer != *copy) {
                    world.fault("a kept buffer has changed".to_owned());
                }
            }
            Op::DropRead(how) => {
                let mut into = [0; 50];
                if how != 0
                    && let Some(buffer) = now(self.stream.recv()).await
                {
                    self.read(buffer.map(|buffer| buffer.to_vec()));
                }
                if how != 1
                    && let Some(len) = now(self.stream.read(&mut into)).await
                {
                    self.read(len.map(|len| into[..len].to_vec()));
                }
            }
            Op::Timeout(micros) => {
                let limit = Duration::from_micros(micros.into());
                let recv = timeout(limit, self.stream.recv());
                if let Ok(buffer) = world.during(me, Activity::Sleeps, foreign, recv).await {
                    self.read(buffer.map(|buffer| buffer.to_vec()));
                }
            }
            Op::Yield(times) => {
                for _ in 0..times {
                    yield_now().await;
                }
            }
            Op::Echo => {
                while let Some(buffer) = self.recv().await {
                    let copy = buffer.to_vec();
                    self.send(buffer, copy).await;
                }
            }
            Op::Pipe(bytes) => self.pipe(bytes).await,
            _ if self.closed => (),
            Op::Send => {
                let kept = world.kept.borrow_mut().pop_front();
                if let Some((buffer, copy)) = kept {
                    self.send(buffer, copy).await;
                }
            }
            Op::Write(size) => drop(self.write(size).await),
            Op::WriteVectored(size, pieces) => {
                let bytes = self.fresh(size);
                let pieces: Vec<_> = bytes.chunks(size.div_ceil(pieces)).map(io::IoSlice::new).collect();
                let written = world.during(me, Activity::Writes, foreign, self.stream.write_vectored(&pieces)).await;
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
                let flushed = world.during(me, Activity::Writes, foreign, self.stream.flush()).await;
                self.flushed("flush", flushed);
            }
            Op::DropWrite(size) => {
                let bytes = self.fresh(size);
                if let Some(Ok(len)) = now(self.stream.write(&bytes)).await {
                    world.wrote(me, &bytes[..len]);
                }
                if let Some(flushed) = now(self.stream.flush()).await {
                    self.flushed("flush", flushed);
                }
            }
            Op::HalfClose => {
                let shut = world.during(me, Activity::Writes, foreign, self.stream.shutdown(Shutdown::Write)).await;
                // A simulated connect leaves the real socket unconnected.
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

    /// A buffer, or `None` at the end.
    async fn recv(&mut self) -> Option<RecvBuf> {
        let buffer = self.world.during(self.me, Activity::Reads, self.foreign, self.stream.recv()).await;
        match buffer {
            Ok(buffer) => {
                self.world.got(self.me, &buffer);
                Some(buffer).filter(|buffer| !buffer.is_empty())
            }
            Err(error) => {
                self.world.failed(self.me, "recv", &error);
                None
            }
        }
    }

    async fn send(&mut self, buffer: RecvBuf, copy: Vec<u8>) {
        if *buffer != *copy {
            self.world.fault("a kept buffer has changed".to_owned());
        }
        if self.closed {
            return;
        }
        match self.world.during(self.me, Activity::Writes, self.foreign, self.stream.send(buffer)).await {
            Ok(()) => self.world.wrote(self.me, &copy),
            Err(error) => self.world.failed(self.me, "send", &error),
        }
    }

    async fn write(&mut self, size: usize) -> Option<usize> {
        let bytes = self.fresh(size);
        match self.world.during(self.me, Activity::Writes, self.foreign, self.stream.write(&bytes)).await {
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
        let reader = AsyncFd::new(reader);
        let _ = now(reader.readable()).await;
        spawn(async move {
            yield_now().await;
            // The reader may be gone.
            let _ = writer.write_all(&vec![7; bytes.into()]);
        });
        let (mut left, mut into) = (usize::from(bytes), [0; 1000]);
        while left > 0 {
            let read = reader.read_with(|mut pipe| pipe.read(&mut into));
            left -= self.world.during(self.me, Activity::Watches, self.foreign, read).await.unwrap();
        }
    }

    async fn both(&mut self, size: usize) {
        let bytes = self.fresh(size);
        let (mut rest, mut reading) = (bytes.as_slice(), true);
        let (world, me, stream) = (self.world, self.me, &mut self.stream);
        let both = poll_fn(|cx| {
            while reading && let Poll::Ready(buffer) = stream.poll_recv(cx) {
                match buffer {
                    Ok(buffer) => {
                        world.got(me, &buffer);
                        reading = !buffer.is_empty();
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
        world.during(me, Activity::Writes, self.foreign, both).await;
    }
}
