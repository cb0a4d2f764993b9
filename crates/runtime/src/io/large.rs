//! Long messages: a connection whose messages fill buffers of the usual size receives into large ones, by calls.
//!
//! On io_uring a poll replaces its multishot receive, which fills buffers before their reader is ready and in the order of a
//! ring, so that none is in the cache. A call takes the buffer that was used last, once a reader waits.
//!
//! Invariant: a connection that waits for a large buffer gets one, or receives into usual buffers [`BUFFER_DELAY`] turns later.

use super::{BUFFER_DELAY, Io};
use crate::buffers::recv::{BUFFER_SIZE, LARGE_SIZE};
use crate::io::conn::{Conn, flag};
use crate::{driver::Driver, slab::Key};
use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct LargeWaits {
    /// Connections with unread bytes that found no large buffer, in order.
    waiting: VecDeque<Key>,
    /// Turns in which none was free.
    turns: u8,
}

impl LargeWaits {
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Io {
    /// Switches a connection to large buffers when one of the usual size is full and more bytes are there, and back after some short
    /// pieces in a row.
    pub(super) fn adapt_buffer_size(&mut self, key: Key, len: usize, unread: bool) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::LARGE) {
            if conn.count_piece(len) {
                conn.clear(flag::LARGE);
            }
        } else if len == BUFFER_SIZE && unread && self.buffers.has_free_large() && !self.driver.is_scripted() {
            conn.set(flag::LARGE);
            if matches!(self.driver, Driver::Uring(_)) {
                self.stop_receive(key);
            }
        }
    }

    /// Takes a buffer for a call, and says its size. On io_uring those of the usual size are the kernel's.
    pub(super) fn take_buffer(&mut self, large: bool) -> Option<(u16, usize)> {
        if large && let Some(buffer) = self.buffers.take_large() {
            return Some((buffer, LARGE_SIZE));
        }
        let Driver::Epoll(epoll) = &mut self.driver else { return None };
        let buffer = epoll.free_buffers.pop()?;
        self.replenisher.on_buffer_used();
        Some((buffer, BUFFER_SIZE))
    }

    /// Io_uring: a connection with unread bytes has found no large buffer.
    pub(super) fn wait_for_large(&mut self, key: Key) {
        // With an inbox that is not empty, its reader arms the receive when it is.
        let Some(conn) = self.conns.get(key).filter(|conn| conn.front().is_none()) else { return };
        conn.set(flag::NO_BUFFER);
        self.large_waits.waiting.push_back(key);
    }

    /// At the end of a turn in which connections wait for large buffers: those that wait longest read.
    #[cold]
    pub(super) fn help_large(&mut self) {
        if !self.buffers.has_free_large() && self.large_waits.turns < BUFFER_DELAY {
            self.large_waits.turns += 1;
            return;
        }
        let waits = |conn: &&mut Conn| conn.has(flag::NO_BUFFER) && !conn.has(flag::DROPPED);
        for _ in 0..self.large_waits.waiting.len() {
            let free = self.buffers.has_free_large();
            if !free && self.large_waits.turns < BUFFER_DELAY {
                return;
            }
            let Some(key) = self.large_waits.waiting.pop_front() else { return };
            let Some(conn) = self.conns.get(key).filter(waits) else { continue };
            conn.clear(flag::NO_BUFFER);
            if free {
                self.large_waits.turns = 0;
                self.polled_readable(key);
            } else {
                conn.clear(flag::LARGE);
                self.start_receive(key);
            }
        }
        self.large_waits.turns = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::net::{RecvBuf, TcpStream};
    use crate::sim::{Settings, World};
    use crate::testing::{self, echo, pair};
    use crate::time::{sleep, timeout};
    use crate::{JoinSet, executor, spawn};
    use futures_lite::future::zip;
    use std::time::Duration;

    /// Keeps what a peer sends until every large buffer is lent.
    async fn take_all() -> (Vec<RecvBuf>, TcpStream) {
        let ((mut writer, mut reader), mut taken) = (pair().await, Vec::new());
        spawn(async move { while writer.write_all(&[7; 100_000]).await.is_ok() {} });
        while executor::current(|worker| worker.io().buffers.has_free_large()) {
            taken.push(reader.recv().await.unwrap());
        }
        (taken, reader)
    }

    async fn ask(number: usize) {
        let (mut client, server) = pair().await;
        spawn(echo(server));
        for len in [100_000 + number, 10, 60_000] {
            let question: Vec<u8> = (0..len).map(|at| (at * number + at / 251) as u8).collect();
            let mut answer = vec![0; len];
            let (mut read, mut write) = client.split();
            let (asked, answered) = zip(write.write_all(&question), read.read_exact(&mut answer)).await;
            asked.and(answered).unwrap();
            assert!(answer == question, "connection {number}, {len} bytes");
        }
    }

    async fn all_answer(many: usize) {
        let mut asks = JoinSet::new();
        for number in 0..many {
            asks.spawn(ask(number));
        }
        while let Some(asked) = asks.join_next().await {
            asked.unwrap();
        }
    }

    /// More connections than large buffers; and with every large buffer lent. Afterwards each becomes free.
    async fn play() {
        all_answer(200).await;
        for _ in 0..2 {
            let taken = take_all().await;
            all_answer(40).await;
            drop(taken);
            while executor::current(|worker| worker.io().buffers.large_in_use()) > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    async fn long_messages_are_answered() {
        timeout(Duration::from_secs(120), play()).await.expect("a message is not answered, or a large buffer is lost");
    }

    #[test]
    fn long_messages_are_answered_without_large_buffers() {
        for seed in 0..20 {
            let world = World::with_settings(seed, Settings::rough());
            world.run(long_messages_are_answered()).unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}"));
        }
    }

    #[test]
    fn long_messages_are_answered_without_large_buffers_by_the_kernels_of_this_machine() {
        testing::allow_files();
        for runtime in testing::runtimes() {
            runtime.block_on(long_messages_are_answered());
        }
    }
}
