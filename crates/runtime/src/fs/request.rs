//! One operation: a request of the ring, or on the blocking pool a system call.

use crate::executor::{self, StaysOnItsThread};
use crate::io::closed;
use crate::slab::Key;
use crate::task::JoinError;
use io_uring::squeue;
use std::any::Any;
use std::ffi::CString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::task::{Context, Poll};
use std::{future::poll_fn, io};

/// Runs the operation of `owned`: as the request that `entry` makes of it, or without a ring as `call`. Returns what the kernel
/// returned, and `owned`, which is dropped with an error.
///
/// # Safety
/// The entry refers to nothing but what `owned`, in its box, owns, and its result is no descriptor.
pub(super) async unsafe fn run<T: Send + 'static>(
    owned: T,
    entry: impl FnOnce(&mut T) -> squeue::Entry,
    call: impl FnOnce(&mut T) -> io::Result<usize> + Send + 'static,
) -> io::Result<(usize, T)> {
    let mut owned = Box::new(owned);
    if !executor::current(|worker| worker.io().has_operations()) {
        let done = crate::spawn_blocking(move || Ok((call(&mut owned)?, *owned))).await;
        return done.unwrap_or_else(|error| Err(error.into()));
    }
    // SAFETY: as demanded of the caller.
    unsafe { Request::start(owned, entry, false) }.end().await
}

/// As [`run`], for an operation that opens a descriptor, which is closed if the future is dropped.
///
/// # Safety
/// The entry refers to nothing but what `owned`, in its box, owns, and its result is a descriptor.
pub(super) async unsafe fn open<T: Send + 'static>(
    owned: T,
    entry: impl FnOnce(&mut T) -> squeue::Entry,
    call: impl FnOnce(&mut T) -> io::Result<OwnedFd> + Send + 'static,
) -> io::Result<OwnedFd> {
    let mut owned = Box::new(owned);
    if !executor::current(|worker| worker.io().has_operations()) {
        let done = crate::spawn_blocking(move || call(&mut owned)).await;
        return done.unwrap_or_else(|error| Err(error.into()));
    }
    // SAFETY: as demanded of the caller.
    let (fd, _) = unsafe { Request::start(owned, entry, true) }.end::<T>().await?;
    // SAFETY: just opened, and given to nothing else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A request in flight. Dropping it leaves it to the worker.
struct Request {
    worker: u16,
    key: Key,
    ended: bool,
    _stays: StaysOnItsThread,
}

impl Request {
    /// # Safety
    /// The entry refers to nothing but what `owned` owns, and its result is a descriptor if it `opens`.
    unsafe fn start<T: 'static>(mut owned: Box<T>, entry: impl FnOnce(&mut T) -> squeue::Entry, opens: bool) -> Self {
        let entry = entry(&mut owned);
        executor::current(|worker| {
            // SAFETY: as demanded of the caller.
            let key = unsafe { worker.io().start_operation(entry, owned, opens) };
            let key = key.expect("it was asked whether there is a ring");
            Self { worker: worker.id(), key, ended: false, _stays: StaysOnItsThread::default() }
        })
    }

    async fn end<T: 'static>(mut self) -> io::Result<(usize, T)> {
        let ended = poll_fn(|cx| self.poll(cx)).await;
        self.ended = true;
        let (result, owned) = ended?;
        let result = usize::try_from(result).map_err(|_| failed(-result))?;
        let owned = owned.downcast().unwrap_or_else(|_| unreachable!("what the request was started with"));
        Ok((result, *owned))
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<io::Result<(i32, Box<dyn Any>)>> {
        executor::with(self.worker, |worker| worker.io().poll_operation(self.key, cx))
            .unwrap_or_else(|| Poll::Ready(Err(closed())))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.ended {
            executor::with(self.worker, |worker| worker.io().abandon_operation(self.key));
        }
    }
}

/// The error of a request. One whose future lives is cancelled by the kernel alone, which then has no thread for requests that
/// block and can start none; it does not say why, and a limit on threads is the usual cause.
fn failed(errno: i32) -> io::Error {
    match errno {
        libc::ECANCELED => JoinError::no_thread(io::Error::from_raw_os_error(libc::EAGAIN)).into(),
        errno => io::Error::from_raw_os_error(errno),
    }
}

/// A path as system calls take it.
pub(super) fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        let shown = path.to_string_lossy().replace('\0', "\\0");
        let message = format!("'{shown}' cannot name a file: it contains a zero byte");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Both backends say the same of a thread that cannot be started.
    #[test]
    fn a_request_without_a_thread_has_the_error_of_the_pool() {
        let error = failed(libc::ECANCELED);
        let pool: io::Error = JoinError::no_thread(io::Error::from_raw_os_error(libc::EAGAIN)).into();
        assert_eq!((error.kind(), error.to_string()), (pool.kind(), pool.to_string()));
        assert!(error.to_string().contains("ulimit -u"), "{error}");
        assert_eq!(failed(libc::EBADF).raw_os_error(), Some(libc::EBADF));
    }
}
