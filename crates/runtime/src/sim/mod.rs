//! A simulated io_uring for unit tests: does what the kernel is allowed to do, in an order chosen by a script.
//!
//! In unit tests [`Ring`] replaces the driver's ring; everything above it is the real runtime. The simulated ring holds the
//! requests, plays both ends of every connection, and checks the memory and descriptors lent to it.
//!
//! Invariant: never does what no kernel does.

mod conn_task;
mod kernel;
mod net;
mod plan;
mod real;
mod request;
mod tests;
mod world;

use crate::driver::uring::{Features, RingFeature, Uring};
use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key, task::registry::Remote};
use io_uring::cqueue;
use kernel::Kernel;
use std::os::fd::{OwnedFd, RawFd};
use std::{cell::RefCell, io, mem::MaybeUninit, ptr::NonNull, rc::Rc, sync::Arc, time::Duration};

thread_local! {
    /// The kernel of the next ring built on this thread; a real ring without one.
    static NEXT: RefCell<Option<Rc<RefCell<Kernel>>>> = const { RefCell::new(None) };
}

/// A real ring, or a simulated one if the test has set [`NEXT`].
#[expect(clippy::large_enum_variant, reason = "as large as it is without tests")]
pub(crate) enum Ring {
    Real(Uring),
    Sim(SimRing),
}

pub(crate) struct SimRing(pub Rc<RefCell<Kernel>>);

impl Drop for SimRing {
    fn drop(&mut self) {
        self.0.borrow_mut().close();
    }
}

/// Defines methods that call the method of that name of either ring.
macro_rules! dispatch {
    ($($([$unsafe:ident])? fn $name:ident($ring:ident: $receiver:ty $(, $arg:ident: $type:ty)*) $(-> $output:ty)?;)*) => {$(
        /// # Safety
        /// As the method of [`Uring`].
        pub $($unsafe)? fn $name($ring: $receiver $(, $arg: $type)*) $(-> $output)? {
            match $ring {
                // SAFETY: as demanded of the caller.
                Self::Real(ring) => $($unsafe)? { ring.$name($($arg),*) },
                // SAFETY: as demanded of the caller.
                Self::Sim(sim) => $($unsafe)? { sim.0.borrow_mut().$name($($arg),*) },
            }
        }
    )*};
}

/// The methods of `Uring` that need no more of the kernel.
impl Kernel {
    pub fn features(&self) -> Vec<RingFeature> {
        Vec::new()
    }

    pub fn ring_fd(&self) -> Option<OwnedFd> {
        None
    }

    pub fn message(&mut self, to: Arc<Remote>) {
        to.wake();
    }
}

impl Ring {
    pub fn new(features: Features) -> io::Result<Self> {
        Ok(match NEXT.take() {
            Some(kernel) => Self::Sim(SimRing(kernel)),
            None => Self::Real(Uring::new(features)?),
        })
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

    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        match self {
            Self::Real(ring) => ring.take(into),
            Self::Sim(sim) => sim.0.borrow_mut().take(into),
        }
    }
}
