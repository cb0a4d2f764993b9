//! When receive buffers run out: who waits for one, and where more come from.
//!
//! A worker has a usual set of buffers, small enough to stay in the cache. Readers that are slow and peers that read
//! nothing can hold all of it, and nobody else may starve for that: when none has come back for some turns, spare ones
//! are handed out, a few at a time. A spare goes home after one use, so the usual set is the usual set again when the
//! hunger is over.
//!
//! Must never put more spares into the kernel's ring than it has room for: a receive that found the ring empty proves
//! that all spares handed out before it began are gone.

use super::Io;
use crate::{
    buffers::recv::{BUFFERS, SPARES, SPARES_AT_ONCE},
    driver::Driver,
    io::conn::flag,
    slab::Key,
};
use std::collections::VecDeque;

/// Starved connections that may try again in one turn.
const FEED: usize = 64;
/// Turns that hungry connections wait for buffers to come back by themselves: those of tasks that are about to run, and of
/// sends just begun.
const PATIENCE: u8 = 2;
/// No spare is left either: only a buffer that comes back can help.
const HOPELESS: u8 = u8::MAX;

pub(super) struct Hunger {
    starved: VecDeque<Key>,
    /// Buffers below this number go straight back to the driver: the usual set, or none while anybody starves.
    straight_below: u16,
    /// A buffer has come back since somebody was fed last.
    hopeful: bool,
    /// Who was fed last, and how many buffers had been given to the driver by then. If one of these finds nothing and
    /// no buffer was given since, nothing is there.
    fed: VecDeque<Key>,
    given: u16,
    /// One of them has found nothing.
    dry: bool,
    /// Turns gone by since then.
    waited: u8,
}

impl Hunger {
    pub fn new() -> Self {
        let (starved, fed) = (VecDeque::new(), VecDeque::new());
        Self { starved, straight_below: BUFFERS, hopeful: false, fed, given: 0, dry: false, waited: 0 }
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.starved.is_empty()
    }

    /// Something can be done for those who starve: the worker must not sleep.
    pub fn is_urgent(&self) -> bool {
        !self.is_over() && (self.hopeful || !self.dry || self.waited != HOPELESS)
    }
}

impl Io {
    /// Gives a buffer back; a connection that waited for one goes on.
    #[inline(always)]
    pub fn release_buffer(&mut self, buffer: u16) {
        if buffer >= self.hunger.straight_below {
            return self.release_while_starved(buffer);
        }
        self.driver.give(&self.buffers, buffer);
    }

    #[cold]
    fn release_while_starved(&mut self, buffer: u16) {
        if buffer < BUFFERS {
            self.hunger.hopeful = true;
            return self.driver.give(&self.buffers, buffer);
        }
        if buffer < SPARES {
            return self.driver.give_large(&self.buffers, buffer);
        }
        self.buffers.put_spare(buffer);
        self.hunger.waited = self.hunger.waited.min(PATIENCE);
    }

    /// A connection found no buffer to receive into.
    pub(super) fn starve(&mut self, key: Key) {
        self.metrics.buffers_exhausted += 1;
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::LARGE) {
            if !self.driver.give_more_large(&mut self.buffers) {
                conn.clear(flag::LARGE);
            }
            return self.start_receive(key);
        }
        if self.hand_out_more_buffers() {
            return self.start_receive(key);
        }
        let Some(conn) = self.conns.get(key) else { return };
        if conn.front().is_some() {
            // It has something to read: its reader asks for more when that is gone.
            return;
        }
        conn.set(flag::STARVED);
        let hunger = &mut self.hunger;
        hunger.starved.push_back(key);
        hunger.straight_below = 0;
        hunger.dry |= match &self.driver {
            // It has looked itself, just now.
            Driver::Epoll(_) => true,
            // Its completion may be older than buffers that were given since, or come turns after those of others.
            Driver::Uring(_) => hunger.given == self.driver.given() && hunger.fed.contains(&key),
        };
    }

    /// Does in one turn what can be done for those who starve.
    #[cold]
    pub(super) fn relieve(&mut self) {
        let hunger = &mut self.hunger;
        if hunger.hopeful || !hunger.dry {
            (hunger.hopeful, hunger.dry, hunger.waited) = (false, false, 0);
            self.feed();
        } else if hunger.waited < PATIENCE {
            hunger.waited += 1;
        } else if hunger.waited == PATIENCE {
            hunger.waited = HOPELESS;
            for _ in 0..SPARES_AT_ONCE {
                let Some(spare) = self.buffers.take_spare() else { break };
                self.driver.give(&self.buffers, spare);
                // Whoever is fed next may find them.
                self.hunger.dry = false;
            }
        }
    }

    /// Lets those who starve longest try again. They may find something or not; who does not will say so.
    fn feed(&mut self) {
        let given = self.driver.given();
        if self.hunger.given != given {
            self.hunger.given = given;
            self.hunger.fed.clear();
        }
        let mut fed = 0;
        while fed < FEED
            && let Some(key) = self.hunger.starved.pop_front()
        {
            if let Some(conn) = self.conns.get(key).filter(|conn| conn.has(flag::STARVED) && !conn.has(flag::DROPPED)) {
                conn.clear(flag::STARVED);
                if self.hunger.fed.len() == FEED {
                    self.hunger.fed.pop_front();
                }
                self.hunger.fed.push_back(key);
                self.start_receive(key);
                fed += 1;
            }
        }
        if self.hunger.is_over() {
            self.hunger.straight_below = BUFFERS;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Unit tests have few spares: what happens when those are out, too.
    use crate::{
        BackendKind, Runtime,
        net::{RecvBuf, TcpListener, TcpStream},
        spawn,
        time::{sleep, timeout},
    };
    use std::{
        future::{Future, poll_fn},
        pin::pin,
        task::Poll,
        time::Duration,
    };

    fn on_both(body: impl AsyncFn()) {
        for backend in [BackendKind::Uring, BackendKind::Epoll] {
            let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
            runtime.block_on(timeout(Duration::from_secs(120), body())).expect("the test hangs");
        }
    }

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap())
    }

    /// Every buffer there is, as leases.
    async fn take_all() -> Vec<RecvBuf> {
        let (mut leases, (mut client, mut server)) = (Vec::new(), pair().await);
        loop {
            client.write_all(b"x").await.unwrap();
            match timeout(Duration::from_millis(100), server.recv()).await {
                Ok(lease) => leases.push(lease.unwrap()),
                Err(_) => return leases,
            }
        }
    }

    /// Polls a future once and forgets it.
    async fn touch<T>(future: impl Future<Output = T>) {
        let mut future = pin!(future);
        let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        drop(polled);
    }

    async fn answers(mut stream: TcpStream) {
        while let Ok(lease) = stream.recv().await {
            stream.send(lease).await.unwrap();
        }
    }

    #[test]
    fn idle_connections_in_the_queue_for_buffers_let_others_through() {
        on_both(async || {
            let leases = take_all().await;
            assert!(leases.len() >= usize::from(super::BUFFERS) + 1000, "{}", leases.len());
            // More idle connections than buffers, all of which ask for one before the one that needs it.
            let mut idle = Vec::new();
            for _ in 0..leases.len() + 500 {
                let (client, server) = pair().await;
                spawn(answers(server));
                idle.push(client);
            }
            sleep(Duration::from_millis(5)).await;
            let (mut client, server) = pair().await;
            spawn(answers(server));
            client.write_all(b"at last").await.unwrap();
            sleep(Duration::from_millis(5)).await;
            // The best of some times: on a busy machine the last of the idle ones may just have come.
            let mut turns = u64::MAX;
            for _ in 0..20 {
                let before = crate::metrics();
                sleep(Duration::from_millis(50)).await;
                turns = turns.min(crate::metrics().turns - before.turns);
            }
            assert!(turns < 20, "{turns} turns though nothing can be done");
            drop(leases);
            let mut answer = [0; 7];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"at last");
            for client in &mut idle {
                client.write_all(b"morning").await.unwrap();
                client.read_exact(&mut answer).await.unwrap();
                assert_eq!(&answer, b"morning");
            }
        });
    }

    #[test]
    fn who_is_gone_does_not_take_the_place_of_others_in_the_queue() {
        on_both(async || {
            let mut leases = take_all().await;
            let ((mut gone, mut first), (mut client, mut second)) = (pair().await, pair().await);
            gone.write_all(b"never read").await.unwrap();
            touch(first.recv()).await;
            sleep(Duration::from_millis(5)).await;
            client.write_all(b"me").await.unwrap();
            touch(second.recv()).await;
            sleep(Duration::from_millis(5)).await;
            drop(first);
            // One buffer, and the one who has waited longest for it is not there any more.
            leases.pop();
            assert_eq!(*second.recv().await.unwrap(), *b"me");
        });
    }
}
