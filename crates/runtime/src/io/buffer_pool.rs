//! The receive buffers of a worker: returning them, and what happens when they run out.
//!
//! A worker provides a small set of buffers to the kernel, so that they stay in the cache. Slow readers can hold all of them.
//! After [`BUFFER_DELAY`] turns without any, overflow buffers are added, [`OVERFLOW_BATCH`] at a time; each is retired
//! after one use, so the usual set is restored when the shortage is over.
//!
//! Invariants:
//! - `available` = buffers provided - completions with `F_BUFFER` (large buffers aside): an upper bound of what the kernel's
//!   ring holds, as completions may be on their way; 0 means that the ring is empty.
//! - `available` never exceeds the entries of the ring ([`RING`]).
//! - A connection that found no buffer tries again at the start of a later turn, never in the same: one armed again in the
//!   turn in which it failed can fail in that turn forever.

use super::{BUFFER_DELAY, Io};
use crate::buffers::recv::{BUFFERS, OVERFLOW_BATCH, OVERFLOW_START, RING};
use crate::{io::conn::flag, slab::Key};
use std::collections::VecDeque;

/// Waiting connections that may try again in one turn.
const RETRIES: usize = 64;
/// No overflow buffer is left: only a returned buffer helps, and the worker may sleep.
const EXHAUSTED: u8 = u8::MAX;

pub(super) struct Replenisher {
    /// Connections that found no buffer, in order.
    waiting: VecDeque<Key>,
    /// Buffers in the kernel's ring, or on epoll in the free list.
    pub available: u32,
    /// `available` and the length of `waiting` at the last look, or since then at the last failure.
    last: (u32, usize),
    /// Looks since one of the two changed; or [`EXHAUSTED`].
    idle_turns: u8,
}

impl Replenisher {
    pub fn new() -> Self {
        Self { waiting: VecDeque::new(), available: 0, last: (0, 0), idle_turns: 0 }
    }

    #[inline(always)]
    pub fn on_buffer_used(&mut self) {
        self.available -= 1;
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A connection waits. One that tried again in vain may have been overtaken: the buffer it was to have is used, and may be
    /// returned before the next look, which then sees the same numbers as the last one.
    fn wait(&mut self, key: Key) {
        self.waiting.push_back(key);
        match (self.idle_turns, self.available) {
            (EXHAUSTED, 0) => self.last = self.state(),
            // The completions that used those buffers are on their way.
            (EXHAUSTED, _) => self.idle_turns = BUFFER_DELAY,
            _ => (),
        }
    }

    fn state(&self) -> (u32, usize) {
        (self.available, self.waiting.len())
    }
}

impl Io {
    /// Returns a buffer to the kernel, or to its place if the kernel has no use for it.
    #[inline(always)]
    pub fn release_buffer(&mut self, buffer: u16) {
        if buffer >= BUFFERS {
            return self.release_special(buffer);
        }
        self.provide(buffer);
    }

    #[inline(always)]
    fn provide(&mut self, buffer: u16) {
        self.replenisher.available += 1;
        debug_assert!(self.replenisher.available <= u32::from(RING));
        // SAFETY: the buffer is free: the caller has just released it, or it was never provided.
        unsafe { self.driver.provide(&self.buffers, buffer) };
    }

    #[cold]
    fn release_special(&mut self, buffer: u16) {
        if buffer < OVERFLOW_START {
            return self.buffers.return_large(buffer);
        }
        self.buffers.return_overflow(buffer);
        self.replenisher.idle_turns = self.replenisher.idle_turns.min(BUFFER_DELAY);
    }

    /// Provides usual buffers that were never used before; false at the cap.
    pub(super) fn provide_more(&mut self) -> bool {
        let more = self.buffers.more();
        let any = !more.is_empty();
        more.for_each(|buffer| self.provide(buffer));
        any
    }

    /// A receive ended for want of a buffer.
    pub(super) fn on_no_buffers(&mut self, key: Key) {
        self.metrics.buffers_exhausted += 1;
        if self.provide_more() {
            return self.start_receive(key);
        }
        let Some(conn) = self.conns.get(key) else { return };
        if conn.front().is_some() {
            // Its inbox is not empty: its reader arms the receive when it is.
            return;
        }
        conn.set(flag::NO_BUFFER);
        self.replenisher.wait(key);
    }

    /// Whether waiting connections can be helped now: the worker must not sleep.
    pub fn needs_replenishing(&self) -> bool {
        let replenisher = &self.replenisher;
        !self.large_waits.is_idle()
            || !replenisher.is_idle()
                && (replenisher.idle_turns != EXHAUSTED || replenisher.state() != replenisher.last)
    }

    /// At the start of a turn in which connections wait for buffers: adds overflow buffers if nothing else has helped, and
    /// lets those that wait longest try again if there may be a buffer for them.
    #[cold]
    pub(super) fn replenish(&mut self) {
        let state = self.replenisher.state();
        if state != self.replenisher.last {
            (self.replenisher.last, self.replenisher.idle_turns) = (state, 0);
        }
        match self.replenisher.idle_turns {
            EXHAUSTED => return,
            BUFFER_DELAY => self.add_overflow(),
            _ => self.replenisher.idle_turns += 1,
        }
        if self.replenisher.available > 0 {
            self.retry_waiting();
        }
    }

    fn add_overflow(&mut self) {
        self.replenisher.idle_turns = EXHAUSTED;
        for _ in 0..OVERFLOW_BATCH {
            // One more would overwrite an entry of the ring that the kernel may not have consumed.
            if self.replenisher.available >= u32::from(RING) {
                return;
            }
            let Some(buffer) = self.buffers.take_overflow() else { return };
            self.provide(buffer);
            self.replenisher.idle_turns = 0;
        }
    }

    /// Arms the receives of those that wait longest. Idle connections use no buffer; others that find none wait again.
    fn retry_waiting(&mut self) {
        let mut retried = 0;
        while retried < RETRIES
            && let Some(key) = self.replenisher.waiting.pop_front()
        {
            let waits = |conn: &&mut crate::io::conn::Conn| conn.has(flag::NO_BUFFER) && !conn.has(flag::DROPPED);
            if let Some(conn) = self.conns.get(key).filter(waits) {
                conn.clear(flag::NO_BUFFER);
                self.start_receive(key);
                retried += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! In unit tests, which have few overflow buffers: behaviour when those are used up as well.
    use crate::net::RecvBuf;
    use crate::sim::{Settings, World};
    use crate::testing::{self, echo, pair};
    use crate::time::{sleep, timeout};
    use crate::{spawn, yield_now};
    use futures_lite::future::poll_once;
    use std::time::Duration;

    fn on_both(body: impl AsyncFn()) {
        testing::allow_files();
        for runtime in testing::runtimes() {
            runtime.block_on(timeout(Duration::from_secs(120), body())).expect("the test hangs");
        }
    }

    /// Takes every buffer.
    async fn take_all() -> Vec<RecvBuf> {
        let (mut taken, (mut client, mut server)) = (Vec::new(), pair().await);
        loop {
            client.write_all(b"x").await.unwrap();
            match timeout(Duration::from_millis(100), server.recv()).await {
                Ok(received) => taken.push(received.unwrap()),
                Err(_) => return taken,
            }
        }
    }

    /// More idle connections than buffers, all waiting for one before the connection that needs it; `meanwhile` none is there.
    async fn idle_connections_wait(meanwhile: impl AsyncFn()) {
        let taken = take_all().await;
        assert!(taken.len() >= usize::from(super::BUFFERS) + 1000, "{}", taken.len());
        let mut idle = Vec::new();
        for _ in 0..taken.len() + 500 {
            let (client, server) = pair().await;
            spawn(echo(server));
            idle.push(client);
        }
        sleep(Duration::from_millis(5)).await;
        let (mut client, server) = pair().await;
        spawn(echo(server));
        client.write_all(b"at last").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        meanwhile().await;
        drop(taken);
        let mut answer = [0; 7];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"at last");
        for client in &mut idle {
            client.write_all(b"morning").await.unwrap();
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"morning");
        }
    }

    #[test]
    fn idle_connections_that_wait_for_buffers_do_not_delay_others() {
        on_both(async || idle_connections_wait(async || ()).await);
    }

    #[test]
    fn idle_connections_that_wait_for_buffers_wake_no_worker() {
        testing::allow_files();
        let an_hour = async || {
            let before = crate::metrics().turns;
            sleep(Duration::from_secs(3600)).await;
            assert!(crate::metrics().turns - before <= 2, "{} turns without any work", crate::metrics().turns - before);
        };
        World::new(1).run(idle_connections_wait(an_hour)).unwrap();
    }

    #[test]
    fn a_closed_connection_that_waits_for_a_buffer_does_not_delay_others() {
        on_both(async || {
            let mut taken = take_all().await;
            let ((mut gone, mut first), (mut client, mut second)) = (pair().await, pair().await);
            gone.write_all(b"never read").await.unwrap();
            poll_once(first.recv()).await;
            sleep(Duration::from_millis(5)).await;
            client.write_all(b"me").await.unwrap();
            poll_once(second.recv()).await;
            sleep(Duration::from_millis(5)).await;
            drop(first);
            // One buffer; the connection that waited for it longest is closed.
            taken.pop();
            assert_eq!(*second.recv().await.unwrap(), *b"me");
        });
    }

    /// Readers that are busy elsewhere while their peers send single bytes: 16 buffers each would be more than there are.
    const READERS: usize = 400;
    const BYTES: usize = 20;

    /// In a `pause` a byte is received.
    async fn peers_send_bytes_to_busy_readers(pause: impl AsyncFn()) {
        let mut busy = Vec::new();
        for _ in 0..READERS {
            let (mut writer, mut reader) = pair().await;
            writer.write_all(b"?").await.unwrap();
            reader.read_exact(&mut [0]).await.unwrap();
            for byte in 0..BYTES {
                writer.write_all(&[byte as u8]).await.unwrap();
                writer.flush().await.unwrap();
                pause().await;
            }
            busy.push((writer, reader));
        }
        let (mut client, server) = pair().await;
        spawn(echo(server));
        let mut answer = [0; 3];
        client.write_all(b"new").await.unwrap();
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"new");
        for (_writer, mut reader) in busy {
            let mut bytes = [0; BYTES];
            reader.read_exact(&mut bytes).await.unwrap();
            assert!(bytes.iter().enumerate().all(|(at, byte)| at == usize::from(*byte)), "{bytes:?}");
        }
    }

    #[test]
    fn busy_readers_do_not_hold_every_buffer() {
        on_both(async || peers_send_bytes_to_busy_readers(async || yield_now().await).await);
    }

    #[test]
    fn busy_readers_do_not_hold_every_buffer_in_any_world() {
        for seed in 0..5 {
            let world = World::with_settings(seed, Settings::rough());
            let pause = async || sleep(Duration::from_millis(1)).await;
            world
                .run(peers_send_bytes_to_busy_readers(pause))
                .unwrap_or_else(|stopped| panic!("seed {seed}: {stopped}"));
        }
    }
}
