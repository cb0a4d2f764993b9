//! The ends of pipes, as of child processes.

use crate::net::AsyncFd;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::task::{Context, Poll};
use std::{future::poll_fn, io};

/// The reading end of a pipe.
#[derive(Debug)]
pub struct PipeReader {
    fd: AsyncFd<OwnedFd>,
}

/// The writing end of a pipe. Dropping it ends what the reader reads.
#[derive(Debug)]
pub struct PipeWriter {
    fd: AsyncFd<OwnedFd>,
}

/// For a child process, which reads from it or writes to it: blocking again, as programs expect it.
fn for_a_child(fd: AsyncFd<OwnedFd>) -> io::Result<Stdio> {
    let fd = fd.into_inner();
    rustix::io::ioctl_fionbio(&fd, false)?;
    Ok(fd.into())
}

impl TryFrom<PipeReader> for Stdio {
    type Error = io::Error;
    fn try_from(pipe: PipeReader) -> io::Result<Self> {
        for_a_child(pipe.fd)
    }
}

impl TryFrom<PipeWriter> for Stdio {
    type Error = io::Error;
    fn try_from(pipe: PipeWriter) -> io::Result<Self> {
        for_a_child(pipe.fd)
    }
}

#[track_caller]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    Ok(AsyncFd::new(fd))
}

impl PipeReader {
    /// Adopts the reading end of a pipe, and makes it non-blocking. Must be called inside `block_on`.
    pub fn adopt(end: impl Into<OwnedFd>) -> io::Result<Self> {
        watched(end.into()).map(|fd| Self { fd })
    }

    /// Reads some bytes; 0 is the end. Cancel-safe.
    pub async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, into)).await
    }

    /// Poll form of `read`.
    pub fn poll_read(&mut self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_read_with(cx, |fd| Ok(rustix::io::read(fd, &mut *into)?))
    }
}

impl PipeWriter {
    /// Adopts the writing end of a pipe, and makes it non-blocking. Must be called inside `block_on`.
    pub fn adopt(end: impl Into<OwnedFd>) -> io::Result<Self> {
        watched(end.into()).map(|fd| Self { fd })
    }

    /// Writes some of `bytes`, at least one. Cancel-safe.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write(cx, bytes)).await
    }

    /// Poll form of `write`.
    pub fn poll_write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_write_with(cx, |fd| Ok(rustix::io::write(fd, bytes)?))
    }

    /// Writes all of `bytes`. Not cancel-safe: a dropped future may have written a part.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let len = self.write(bytes).await?;
            bytes = &bytes[len..];
        }
        Ok(())
    }
}

impl AsFd for PipeReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }
}

impl AsFd for PipeWriter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }
}
