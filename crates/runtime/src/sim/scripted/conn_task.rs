//! Tasks of a test: each performs the operations of its connection's plan.

use super::net;
use super::plan::{ConnPlan, Op, Origin};
use super::world::{Activity, World};
use crate::net::{AsyncFd, RecvBuf, TcpListener, TcpStream};
use crate::{spawn, time::timeout, yield_now};
use futures_lite::future::poll_once;
use std::io::{self, Read, Write};
use std::{
    future::poll_fn,
    net::Shutdown,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    rc::Rc,
    task::Poll,
    time::Duration,
};

/// A stream on a socket of the simulated kernel.
pub(super) fn adopt(world: &World, sock: usize) -> TcpStream {
    let (near, far) = net::pair();
    world.sock(sock).open(near.as_raw_fd(), Some(far));
    TcpStream::from_std(near.into()).unwrap()
}

/// Accepts connections and spawns a task for each.
pub(super) async fn accept(world: Rc<World>, plans: Rc<Vec<ConnPlan>>, listener: TcpListener) {
    let me = plans.len() + 1;
    let _guard = world.begins(me);
    loop {
        match world.during(me, Activity::Accepts, false, listener.accept()).await {
            Ok(stream) => {
                let (sock, far) = world.kernel.borrow_mut().net.arrived.pop_front().expect("it was accepted");
                world.sock(sock).open(stream.as_fd().as_raw_fd(), Some(far));
                world.spawn(plans[sock].abort, run(world.clone(), sock, plans.clone(), Some(stream)));
            }
            Err(error) => world.report(format!("accept: {error}")),
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
        world.keep(buffer);
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
            let connected = world.during(me, Activity::Connects, plan.foreign, TcpStream::connect(address)).await;
            let Some(stream) = world.check(me, "connect", connected) else { return };
            stream
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
            let received = world.during(me, Activity::Reads, plan.foreign, read.recv()).await;
            let Some(buffer) = world.check(me, "recv", received) else { return };
            world.got(me, &buffer);
            if buffer.is_empty() {
                return;
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
                self.got(read.map(|len| &into[..len]));
            }
            Op::Recv => drop(self.recv().await),
            Op::Keep => {
                if let Some(buffer) = self.recv().await {
                    world.keep(buffer);
                }
            }
            Op::Forget => {
                let kept = world.kept.borrow_mut().pop_back();
                if let Some((buffer, copy)) = kept {
                    world.check_kept(&buffer, &copy);
                }
            }
            Op::DropRead(how) => {
                let mut into = [0; 50];
                if how != 0
                    && let Some(buffer) = poll_once(self.stream.recv()).await
                {
                    self.got(buffer);
                }
                if how != 1
                    && let Some(len) = poll_once(self.stream.read(&mut into)).await
                {
                    self.got(len.map(|len| &into[..len]));
                }
            }
            Op::Timeout(micros) => {
                let limit = Duration::from_micros(micros.into());
                let recv = timeout(limit, self.stream.recv());
                if let Ok(buffer) = world.during(me, Activity::Sleeps, foreign, recv).await {
                    self.got(buffer);
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
            _ => self.apply_write(op).await,
        }
    }

    async fn apply_write(&mut self, op: &Op) {
        let (world, me, foreign) = (self.world, self.me, self.foreign);
        match *op {
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
                if let Some(len) = world.check(me, "write_vectored", written) {
                    world.wrote(me, &bytes[..len]);
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
                if let Some(Ok(len)) = poll_once(self.stream.write(&bytes)).await {
                    world.wrote(me, &bytes[..len]);
                }
                if let Some(flushed) = poll_once(self.stream.flush()).await {
                    self.flushed("flush", flushed);
                }
            }
            Op::HalfClose => {
                let shut = world.during(me, Activity::Writes, foreign, self.stream.shutdown(Shutdown::Write)).await;
                // A simulated connect leaves the real socket unconnected.
                let connected = |error: &io::Error| error.kind() != io::ErrorKind::NotConnected;
                self.flushed("shutdown", shut.or_else(|error| if connected(&error) { Err(error) } else { Ok(()) }));
                self.closed = true;
            }
            Op::Both(size) => self.both(size).await,
            _ => unreachable!("{op:?} does not write"),
        }
    }

    fn fresh(&self, size: usize) -> Vec<u8> {
        let from = self.world.written(self.me);
        (from..from + size).map(|position| net::byte(self.me + 100, position)).collect()
    }

    fn got(&self, read: io::Result<impl Deref<Target = [u8]>>) {
        if let Some(bytes) = self.world.check(self.me, "read", read) {
            self.world.got(self.me, &bytes);
        }
    }

    fn flushed(&self, what: &str, flushed: io::Result<()>) {
        if self.world.check(self.me, what, flushed).is_some() && !self.world.is_flushed(self.me) {
            self.world.report(format!("socket {}: {what} did not wait", self.me));
        }
    }

    /// A buffer, or `None` at the end.
    async fn recv(&mut self) -> Option<RecvBuf> {
        let received = self.world.during(self.me, Activity::Reads, self.foreign, self.stream.recv()).await;
        let buffer = self.world.check(self.me, "recv", received)?;
        self.world.got(self.me, &buffer);
        Some(buffer).filter(|buffer| !buffer.is_empty())
    }

    async fn send(&mut self, buffer: RecvBuf, copy: Vec<u8>) {
        self.world.check_kept(&buffer, &copy);
        if self.closed {
            return;
        }
        let sent = self.world.during(self.me, Activity::Writes, self.foreign, self.stream.send(buffer)).await;
        if self.world.check(self.me, "send", sent).is_some() {
            self.world.wrote(self.me, &copy);
        }
    }

    async fn write(&mut self, size: usize) -> Option<usize> {
        let bytes = self.fresh(size);
        let written = self.world.during(self.me, Activity::Writes, self.foreign, self.stream.write(&bytes)).await;
        let len = self.world.check(self.me, "write", written)?;
        self.world.wrote(self.me, &bytes[..len]);
        Some(len)
    }

    async fn pipe(&mut self, bytes: u16) {
        let (reader, mut writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let reader = AsyncFd::new(reader);
        let _ = poll_once(reader.readable()).await;
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
            while reading && let Poll::Ready(received) = stream.poll_recv(cx) {
                let buffer = world.check(me, "recv", received);
                buffer.iter().for_each(|buffer| world.got(me, buffer));
                reading = buffer.is_some_and(|buffer| !buffer.is_empty());
            }
            while !rest.is_empty() {
                let Poll::Ready(written) = stream.poll_write(cx, rest) else { return Poll::Pending };
                let len = world.check(me, "write", written);
                world.wrote(me, &rest[..len.unwrap_or(0)]);
                rest = &rest[len.unwrap_or(rest.len())..];
            }
            Poll::Ready(())
        });
        world.during(me, Activity::Writes, self.foreign, both).await;
    }
}
