//! Copying between two streams, in both directions.

use super::conn_handle::{ConnHandle, Held};
use super::splice::Splice;
use super::stream::{RecvFuture, SendFuture};
use super::{Family, Stream};
use crate::task::OnDrop;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::{io, net::Shutdown};

/// Copies what each of two streams receives to the other, until both have ended. The end of one direction is passed on, and the
/// other goes on. Returns the bytes from `one` to `other`, and back.
///
/// No byte is copied in this process: received buffers are lent to the sends and, once much comes in a row, bytes stay with the
/// kernel, in a pipe (splice(2)), with four descriptors for each direction.
///
/// ```
/// use brunt_runtime::net::{UnixStream, copy_both};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let ((mut client, mut near), (mut far, mut server)) = (UnixStream::pair()?, UnixStream::pair()?);
/// let proxy = brunt_runtime::spawn(async move { copy_both(&mut near, &mut far).await });
/// client.write_all(b"question").await?;
/// let mut question = [0; 8];
/// server.read_exact(&mut question).await?;
/// server.write_all(b"answer").await?;
/// let mut answer = [0; 6];
/// client.read_exact(&mut answer).await?;
/// drop((client, server));
/// assert!(proxy.await.unwrap().is_ok_and(|(there, back)| (there, back) == (8, 6)));
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// The first of either direction. Then, and when the future is dropped before its end, bytes may be lost: nothing more can be
/// written to a stream that they were for, and dropping it resets the connection. Its peer does not see a clean end.
pub async fn copy_both<A: Family, B: Family>(one: &mut Stream<A>, other: &mut Stream<B>) -> io::Result<(u64, u64)> {
    let (one, other) = (one.conn(), other.conn());
    let mut there = Direction { copy: pin!(copy(one, other)), bytes: None };
    let mut back = Direction { copy: pin!(copy(other, one)), bytes: None };
    poll_fn(|cx| {
        let (there, back) = (there.poll(cx), back.poll(cx));
        match (there?, back?) {
            (Poll::Ready(there), Poll::Ready(back)) => Poll::Ready(Ok((there, back))),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Long pieces in a row after which bytes stay with the kernel.
const MANY: u32 = 16;
/// The shortest long piece. With pieces of 1,000 bytes neither way is cheaper.
const LONG: usize = 8 << 10;

async fn copy(from: &ConnHandle, to: &ConnHandle) -> io::Result<u64> {
    let (mut bytes, mut long) = (0, 0);
    loop {
        let len = pass_on(from, to).await?;
        if len == 0 {
            break;
        }
        bytes += len as u64;
        long = if len < LONG { 0 } else { long + 1 };
        if long == MANY {
            if let Some(splice) = Splice::new(from, to) {
                bytes += splice_rest(from, to, &splice).await?;
                break;
            }
            long = 0;
        }
    }
    poll_fn(|cx| to.poll_shutdown(cx, Shutdown::Write)).await?;
    Ok(bytes)
}

/// Passes a piece on as soon as there is one. Returns its length, 0 at the end.
async fn pass_on(from: &ConnHandle, to: &ConnHandle) -> io::Result<usize> {
    let part = RecvFuture { conn: from }.await.inspect_err(|_| to.lose())?;
    let len = part.len();
    if len > 0 {
        let held = Held(to);
        SendFuture { conn: to, buffer: Some(part) }.await?;
        held.arrived();
    }
    Ok(len)
}

/// What the worker has received is passed on first, then all else by the kernel.
async fn splice_rest(from: &ConnHandle, to: &ConnHandle, splice: &Splice<'_>) -> io::Result<u64> {
    let _resumes = OnDrop(|| from.resume());
    from.pause().await?;
    let mut bytes = 0;
    while from.has_input() {
        match pass_on(from, to).await? {
            0 => return Ok(bytes),
            len => bytes += len as u64,
        }
    }
    poll_fn(|cx| to.poll_flush(cx)).await?;
    loop {
        match splice.some().await? {
            0 => return Ok(bytes),
            len => bytes += len as u64,
        }
    }
}

/// One direction, and what it has copied once it has ended.
struct Direction<'a, F> {
    copy: Pin<&'a mut F>,
    bytes: Option<u64>,
}

impl<F: Future<Output = io::Result<u64>>> Direction<'_, F> {
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<io::Result<u64>> {
        if self.bytes.is_none()
            && let Poll::Ready(ended) = self.copy.as_mut().poll(cx)
        {
            self.bytes = Some(ended?);
        }
        self.bytes.map_or(Poll::Pending, |bytes| Poll::Ready(Ok(bytes)))
    }
}
