//! Bytes that go from one connection to another within the kernel: splice(2), through a pipe.

use super::AsyncFd;
use super::conn_handle::{ConnHandle, Held};
use crate::sys;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::{io, ptr};

/// Whether SIGPIPE, which splice(2) to a closed socket sends, would end the process. Rust programs ignore it.
fn ends_by_sigpipe() -> bool {
    let mut action = MaybeUninit::uninit();
    // SAFETY: the call writes the action of the signal, and changes nothing.
    let known = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: written by the call.
    !known || unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

/// The most bytes of one call, and what is asked for as the size of a pipe. A poll of a task copies 4 MiB at most: a call reads or
/// writes, and the budget allows 64.
const MOST: usize = 128 << 10;

/// The sockets of two connections, and a pipe between them. Bytes in the pipe belong to the second.
pub(super) struct Splice<'a> {
    from: &'a ConnHandle,
    to: &'a ConnHandle,
    source: AsyncFd<OwnedFd>,
    sink: AsyncFd<OwnedFd>,
    out: OwnedFd,
    into: OwnedFd,
}

impl<'a> Splice<'a> {
    /// `None` without descriptors for it, in a simulated world, and where a closed peer would end the process.
    pub fn new(from: &'a ConnHandle, to: &'a ConnHandle) -> Option<Self> {
        if sys::is_simulated() || ends_by_sigpipe() {
            return None;
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // Refused beyond the limits for pipes of a user; a smaller one does.
        let _ = fcntl_setpipe_size(&into, MOST);
        // Duplicates: the worker may watch the descriptors themselves.
        let [source, sink] = [from, to].map(|conn| conn.as_fd().try_clone_to_owned().map(AsyncFd::new));
        Some(Self { from, to, source: source.ok()?, sink: sink.ok()?, out, into })
    }

    /// Copies some bytes as soon as there are any; 0 at the end of the first connection, which has to be paused.
    pub async fn some(&self) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        // The pipe is empty: the call waits for bytes of the socket alone.
        let read = self.source.read_with(|from| Ok(splice(from, None, &self.into, None, MOST, flags)?)).await;
        let len = read.inspect_err(|error| {
            self.from.fail(error);
            self.to.lose();
        })?;
        let held = Held(self.to);
        let mut left = len;
        while left > 0 {
            let written = self.sink.write_with(|to| Ok(splice(&self.out, None, to, None, left, flags)?)).await;
            left -= written.map_err(|error| self.to.fail_write(&error))?;
        }
        held.arrived();
        Ok(len)
    }
}
