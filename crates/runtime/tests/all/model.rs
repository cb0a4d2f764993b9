//! Two connected streams against a model: after any sequence of operations, with futures dropped at any point, the bytes
//! written on one side arrive on the other, all of them, once, in order.

use crate::shared::{LIMIT, is_available};
use brunt_runtime::net::{RecvBuf, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, Runtime, yield_now};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use socket2::{Domain, Socket, Type};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::{Shutdown, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// An operation, and the stream it applies to.
#[derive(Debug, Clone)]
enum Op {
    /// Writes that many bytes, or until the socket is full.
    Write(usize, usize),
    /// Reads into a buffer of that size.
    Read(usize, usize),
    /// Receives a buffer, checks it and drops it.
    Recv(usize),
    /// Receives a buffer and keeps it.
    Keep(usize),
    /// Sends the oldest kept buffer, from either stream.
    Send(usize),
    /// Drops the newest kept buffer.
    Forget,
    /// Polls a read, a receive, or both in turn, and drops the futures.
    DropRead(usize, u8),
    /// Polls a write and a flush once and drops the futures.
    DropWrite(usize, usize),
    Flush(usize),
    /// Shuts the write direction down.
    HalfClose(usize),
    /// Runs the event loop.
    Yield(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let side = || 0usize..2;
    // Around the sizes of the runtime's buffers, and far above.
    let size = prop_oneof![1usize..100, 4000usize..4200, 16_300usize..16_500, 1usize..200_000];
    prop_oneof![
        6 => (side(), size.clone()).prop_map(|(side, size)| Op::Write(side, size)),
        4 => (side(), size.clone()).prop_map(|(side, size)| Op::Read(side, size)),
        4 => side().prop_map(Op::Recv),
        3 => side().prop_map(Op::Keep),
        3 => side().prop_map(Op::Send),
        1 => Just(Op::Forget),
        4 => (side(), 0u8..3).prop_map(|(side, how)| Op::DropRead(side, how)),
        2 => (side(), size).prop_map(|(side, size)| Op::DropWrite(side, size)),
        1 => side().prop_map(Op::Flush),
        1 => side().prop_map(Op::HalfClose),
        2 => (0u8..4).prop_map(Op::Yield),
    ]
}

/// The streams and the model.
struct Pair {
    streams: [TcpStream; 2],
    /// Bytes in flight to each stream.
    due: [VecDeque<u8>; 2],
    /// Streams whose write direction is shut down.
    closed: [bool; 2],
    kept: VecDeque<(RecvBuf, Vec<u8>)>,
    /// Makes written bytes distinct.
    written: u32,
}

async fn must<T>(what: &str, future: impl Future<Output = std::io::Result<T>>) -> Result<T, TestCaseError> {
    match timeout(LIMIT, future).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(TestCaseError::fail(format!("{what}: {error}"))),
        Err(_) => Err(TestCaseError::fail(format!("{what}: nothing happens"))),
    }
}

fn failed(error: std::io::Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Polls once.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

impl Pair {
    /// Small sockets are full after a few kilobytes, so sends are partial.
    fn new(small: bool) -> Self {
        let socket = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            if small {
                socket.set_recv_buffer_size(4096).unwrap();
                socket.set_send_buffer_size(4096).unwrap();
            }
            socket
        };
        let (listener, client) = (socket(), socket());
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(1).unwrap();
        client.connect(&listener.local_addr().unwrap()).unwrap();
        let streams = [client, listener.accept().unwrap().0].map(|socket| TcpStream::from_std(socket.into()).unwrap());
        Self { streams, due: Default::default(), closed: [false; 2], kept: VecDeque::new(), written: 0 }
    }

    fn fresh(&mut self, size: usize) -> Vec<u8> {
        self.written += 1;
        (0..size as u32).map(|i| (i ^ i >> 8 ^ self.written.wrapping_mul(37)) as u8).collect()
    }

    async fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Read(side, size) => {
                let mut into = vec![0; size];
                if self.may_wait(side) {
                    prop_assert!(now(self.streams[side].read(&mut into)).await.is_none(), "unexpected bytes");
                } else {
                    let len = must("read", self.streams[side].read(&mut into)).await?;
                    self.got(side, &into[..len])?;
                }
            }
            Op::Recv(side) => drop(self.received(side).await?),
            Op::Keep(side) => {
                if let Some(received) = self.received(side).await?.filter(|received| !received.is_empty()) {
                    let copy = received.to_vec();
                    self.kept.push_back((received, copy));
                }
            }
            Op::Forget => {
                if let Some((received, copy)) = self.kept.pop_back() {
                    prop_assert_eq!(&*received, copy, "a kept buffer has changed");
                }
            }
            Op::DropRead(side, how) => {
                let mut into = [0; 50];
                if how != 0
                    && let Some(received) = now(self.streams[side].recv()).await
                {
                    self.got(side, &received.map_err(failed)?)?;
                }
                if how != 1
                    && let Some(len) = now(self.streams[side].read(&mut into)).await
                {
                    self.got(side, &into[..len.map_err(failed)?])?;
                }
            }
            Op::Flush(side) => {
                // The other side may have to read first.
                if let Ok(flushed) = timeout(Duration::from_millis(2), self.streams[side].flush()).await {
                    flushed.map_err(failed)?;
                }
            }
            Op::Yield(times) => {
                for _ in 0..times {
                    yield_now().await;
                }
            }
            Op::Write(side, _) | Op::Send(side) | Op::DropWrite(side, _) | Op::HalfClose(side) => {
                // No writes after the shutdown.
                if !self.closed[side] {
                    self.apply_write(op).await?;
                }
            }
        }
        Ok(())
    }

    async fn apply_write(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Write(side, size) => {
                let bytes = self.fresh(size);
                let mut rest = bytes.as_slice();
                // Without a reader the sockets may fill.
                while let Ok(len) = timeout(Duration::from_millis(2), self.streams[side].write(rest)).await {
                    let len = len.map_err(failed)?;
                    prop_assert!((1..=rest.len()).contains(&len));
                    self.due[1 - side].extend(&rest[..len]);
                    rest = &rest[len..];
                    if rest.is_empty() {
                        break;
                    }
                }
            }
            Op::Send(side) => {
                if let Some((received, copy)) = self.kept.pop_front() {
                    prop_assert_eq!(&*received, copy.as_slice(), "a kept buffer has changed");
                    // A pending send owns its buffer and drops it with the future.
                    if let Ok(sent) = timeout(Duration::from_millis(2), self.streams[side].send(received)).await {
                        sent.map_err(failed)?;
                        self.due[1 - side].extend(copy);
                    }
                }
            }
            Op::DropWrite(side, size) => {
                let bytes = self.fresh(size);
                if let Some(len) = now(self.streams[side].write(&bytes)).await {
                    self.due[1 - side].extend(&bytes[..len.map_err(failed)?]);
                }
                let _ = now(self.streams[side].flush()).await;
            }
            Op::HalfClose(side) => {
                let closed = timeout(Duration::from_millis(2), self.streams[side].shutdown(Shutdown::Write)).await;
                self.closed[side] = closed.is_ok();
                closed.unwrap_or(Ok(())).map_err(failed)?;
            }
            _ => unreachable!("{op:?} does not write"),
        }
        Ok(())
    }

    /// Checks that nothing is readable while nothing is in flight.
    fn may_wait(&self, side: usize) -> bool {
        self.due[side].is_empty() && !self.closed[1 - side]
    }

    async fn received(&mut self, side: usize) -> Result<Option<RecvBuf>, TestCaseError> {
        if self.may_wait(side) {
            prop_assert!(now(self.streams[side].recv()).await.is_none(), "unexpected bytes");
            return Ok(None);
        }
        let received = must("recv", self.streams[side].recv()).await?;
        self.got(side, &received)?;
        Ok(Some(received))
    }

    /// Checks received bytes against the model; none is the end.
    fn got(&mut self, side: usize, bytes: &[u8]) -> Result<(), TestCaseError> {
        if bytes.is_empty() {
            prop_assert!(self.due[side].is_empty(), "the end came {} bytes early", self.due[side].len());
            prop_assert!(self.closed[1 - side], "an end without a shutdown");
        }
        prop_assert!(bytes.len() <= self.due[side].len(), "more bytes than were sent");
        let due: Vec<u8> = self.due[side].drain(..bytes.len()).collect();
        prop_assert!(bytes == due, "other bytes than were sent");
        Ok(())
    }

    /// Reads everything in flight, then closes both directions.
    async fn finish(mut self) -> Result<(), TestCaseError> {
        for side in [0, 1] {
            while !self.due[side].is_empty() {
                self.received(side).await?;
            }
        }
        for side in [0, 1] {
            if !std::mem::replace(&mut self.closed[side], true) {
                must("shutdown", self.streams[side].shutdown(Shutdown::Write)).await?;
            }
        }
        for side in [0, 1] {
            prop_assert!(self.received(side).await?.is_some_and(|received| received.is_empty()), "the end is missing");
        }
        for (received, copy) in self.kept.drain(..) {
            prop_assert_eq!(&*received, copy, "a kept buffer has changed");
        }
        drop(self);
        let mut waited = 0;
        while brunt_runtime::metrics().connections > 0 {
            prop_assert!(waited < 60_000, "a connection leaked");
            waited += 1;
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

fn bytes_in_are_bytes_out(backend: BackendKind) {
    if !is_available(backend) {
        return;
    }
    let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
    let mut runner =
        TestRunner::new(Config { cases: 150, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() });
    let sequences = (any::<bool>(), proptest::collection::vec(op(), 1..80));
    let result = runner.run(&sequences, |(small, ops)| {
        runtime.block_on(async {
            let mut pair = Pair::new(small);
            for op in &ops {
                pair.apply(op).await?;
            }
            pair.finish().await
        })
    });
    if let Err(failure) = result {
        panic!("{backend}: {failure}");
    }
}

#[test]
fn bytes_in_are_bytes_out_on_uring() {
    bytes_in_are_bytes_out(BackendKind::Uring);
}

#[test]
fn bytes_in_are_bytes_out_on_epoll() {
    bytes_in_are_bytes_out(BackendKind::Epoll);
}
