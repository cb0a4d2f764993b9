//! For the report of a simulated world that stands still: what each waiter waits for, in words.

use super::Io;
use crate::io::conn::flag;
use crate::sys;
use crate::task::{Token, waiter::Waiter};
use socket2::SockRef;
use std::os::fd::{AsFd, BorrowedFd};

impl Io {
    /// The waiting task, or `None` for a foreign waker, and what it waits for.
    pub fn waits(&mut self) -> Vec<(Option<Token>, String)> {
        let mut found = Vec::new();
        let mut add = |waiter: Waiter, what: &str, whose: &str| {
            if !waiter.is_none() {
                found.push((waiter.task(), format!("{what} {whose}")));
            }
        };
        for key in self.conns.keys() {
            let Some(conn) = self.conns.get(key) else { continue };
            // SAFETY: the descriptor of a live slot is open.
            let whose = connection(unsafe { BorrowedFd::borrow_raw(conn.fd) });
            add(conn.reader, "reads", &whose);
            add(conn.writer, if conn.has(flag::CONNECTING) { "connects" } else { "writes" }, &whose);
        }
        for key in self.watches.keys() {
            let Some(watched) = self.watches.get(key) else { continue };
            // SAFETY: a watch ends before its `AsyncFd` gives up the descriptor.
            let fd = watched.fd.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
            let listener = fd.filter(|fd| matches!(sys::queue(*fd), Some(Ok(_)))).map(local);
            let (what, whose) =
                listener.map_or(("waits for", "a readable descriptor".to_owned()), |at| ("accepts at", at));
            let [input, output] = &watched.sides;
            input.waiters.waiters().for_each(|waiter| add(waiter, what, &whose));
            output.waiters.waiters().for_each(|waiter| add(waiter, "waits for", "a writable descriptor"));
        }
        found
    }
}

fn name(address: std::io::Result<socket2::SockAddr>) -> String {
    let inet = |address: socket2::SockAddr| address.as_socket().map(|address| address.to_string());
    address.ok().and_then(inet).unwrap_or_else(|| "a Unix socket".to_owned())
}

fn local(fd: BorrowedFd<'_>) -> String {
    name(sys::local_addr(&SockRef::from(&fd.as_fd())))
}

fn connection(fd: BorrowedFd<'_>) -> String {
    format!("{} - {}", local(fd), name(sys::peer_addr(&SockRef::from(&fd))))
}
