//! A simulated kernel, with the feature `sim`: programs of this runtime in virtual time, each run a function of its seed.
//!
//! A [`World`] is a machine: a clock, sockets joined in memory, and workers. Everything above the ring is the real runtime;
//! below it, requests and system calls of sockets go to the world's kernel instead of Linux. The world is that of one thread:
//! while one is active there, every [`Runtime`](crate::Runtime) built on the thread is a worker of it; on other threads, and
//! without one, runtimes are as they are without the feature.
//!
//! Invariants:
//! - Never does what no kernel does: where Linux may choose, the seed chooses; where it may not, the world does what Linux does
//!   (`tests/kernels.rs` runs the same scripts on the world, io_uring and epoll).
//! - Nothing waits in real time. Time moves by what work costs, and to the next event when nobody can work.
//! - A run is a function of seed, settings and program. [`World::trace_digest`] tells two runs apart.
//! - Without the feature nothing of this is in the build.
//!
//! # Programs of several threads
//!
//! A thread with a runtime is a worker of the world. [`group::spawn`](crate::group::spawn) starts one in either case: a thread
//! without a world, a worker within one; [`World::spawn_worker`] is its form for tests. Workers wake each other through their
//! mailboxes ([`Handle`](crate::Handle), channels, join handles), and each has a core: what one costs delays no other. So
//! code that says "a thread for each core" is simulated as it is, with its counters, buffers and `drain` apart from those of
//! the program's other half, which tasks of one worker would share.
//!
//! It must await what it would block on: a coordinator that waits for its threads is a future too. Threads without a runtime it
//! must not have, for nothing orders them with virtual time; [`spawn_blocking`](crate::spawn_blocking) runs its work at once,
//! on the worker. [`group::run`](crate::group::run), which blocks its caller, starts threads and is not simulated.

pub(crate) mod calls;
mod clock;
mod completion;
mod connection;
mod datagram;
mod drive;
mod happen;
mod lent;
mod machine;
mod pipe;
mod random;
mod ring;
mod ring_state;
mod root;
#[cfg(test)]
pub(crate) mod scripted;
mod settings;
mod socket;
mod spares;
mod stopped;
mod stream;
#[cfg(all(test, not(loom)))]
mod tests;
mod trace;
mod world;
mod world_ring;

pub use settings::{Costs, Direction, Faults, Link, Settings};
pub use stopped::Stopped;
pub use trace::Entry;
pub use world::{World, is_active, spend};

pub(crate) use machine::Machine;
pub(crate) use root::end_worker;
pub(crate) use world::{active, block_on, elapsed, now, spawn_worker};

use crate::driver::uring::{Features, RingFeature, Uring};
use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key, task::registry::Remote};
use io_uring::cqueue;
use std::os::fd::{OwnedFd, RawFd};
use std::{io, mem::MaybeUninit, ptr::NonNull, sync::Arc, time::Duration};
use world_ring::WorldRing;

/// A real ring, one of the active world, or in unit tests a scripted one.
#[expect(clippy::large_enum_variant, reason = "as large as it is without the feature")]
pub(crate) enum Ring {
    Real(Uring),
    World(WorldRing),
    #[cfg(test)]
    Scripted(scripted::SimRing),
}

/// Defines methods that call the method of that name of any ring.
macro_rules! dispatch {
    ($($([$unsafe:ident])? fn $name:ident($ring:ident: $receiver:ty $(, $arg:ident: $type:ty)*) $(-> $output:ty)?;)*) => {$(
        /// # Safety
        /// As the method of [`Uring`].
        #[inline]
        pub $($unsafe)? fn $name($ring: $receiver $(, $arg: $type)*) $(-> $output)? {
            match $ring {
                // SAFETY: as demanded of the caller.
                Self::Real(ring) => $($unsafe)? { ring.$name($($arg),*) },
                // SAFETY: as demanded of the caller.
                Self::World(ring) => $($unsafe)? { ring.$name($($arg),*) },
                #[cfg(test)]
                // SAFETY: as demanded of the caller.
                Self::Scripted(ring) => $($unsafe)? { ring.0.borrow_mut().$name($($arg),*) },
            }
        }
    )*};
}

impl Ring {
    pub fn new(features: Features) -> io::Result<Self> {
        #[cfg(test)]
        if let Some(kernel) = scripted::NEXT.take() {
            return Ok(Self::Scripted(scripted::SimRing(kernel)));
        }
        Ok(match active() {
            Some(machine) => Self::World(WorldRing::new(machine)),
            None => Self::Real(Uring::new(features)?),
        })
    }

    /// Its machine and its number there, if it is one of a world.
    pub fn world(&self) -> Option<&WorldRing> {
        if let Self::World(ring) = self { Some(ring) } else { None }
    }

    dispatch! {
        fn in_flight(self: &Self) -> u32;
        fn features(self: &Self) -> Vec<RingFeature>;
        fn ring_fd(self: &Self) -> Option<OwnedFd>;
        [unsafe] fn provide(self: &mut Self, start: NonNull<u8>, buffer: u16, large: bool);
        fn open_large(self: &mut Self) -> bool;
        fn receive(self: &mut Self, key: Key, fd: RawFd, large: bool);
        [unsafe] fn send(self: &mut Self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32);
        fn accept(self: &mut Self, key: Key, fd: RawFd);
        [unsafe] fn connect(self: &mut Self, key: Key, fd: RawFd, address: &socket2::SockAddr);
        fn cancel(self: &mut Self, kind: OpKind, key: Key);
        fn poll(self: &mut Self, kind: OpKind, key: Key, fd: RawFd);
        fn arm_wake_fd(self: &mut Self, fd: RawFd);
        fn message(self: &mut Self, to: Arc<Remote>);
        fn has_work(self: &mut Self) -> bool;
        fn has_queued(self: &mut Self) -> bool;
        fn wait(self: &mut Self, timeout: Option<Duration>, metrics: &mut Metrics);
        fn ended(self: &mut Self);
    }

    #[inline]
    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        match self {
            Self::Real(ring) => ring.take(into),
            Self::World(ring) => ring.take(into),
            #[cfg(test)]
            Self::Scripted(ring) => ring.0.borrow_mut().take(into),
        }
    }
}
