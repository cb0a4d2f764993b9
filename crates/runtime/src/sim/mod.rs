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
mod script;
mod socket;
mod tests;
mod world;

use crate::{
    buffers::recv::RecvBuffers,
    driver::Opened,
    driver::uring::{Features, RingFeature, Uring},
    driver::user_data::OpKind,
    metrics::Metrics,
    slab::Key,
    task::registry::Remote,
};
use io_uring::cqueue;
use kernel::Kernel;
use std::{
    cell::{Ref, RefCell},
    io,
    mem::MaybeUninit,
    os::fd::{OwnedFd, RawFd},
    ptr::NonNull,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

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

pub(crate) struct SimRing(Rc<RefCell<Kernel>>);

impl SimRing {
    pub fn kernel(&self) -> Ref<'_, Kernel> {
        self.0.borrow()
    }
}

impl Drop for SimRing {
    fn drop(&mut self) {
        self.0.borrow_mut().close();
    }
}

/// Dispatches a call to either ring.
macro_rules! either {
    ($ring:expr, $real:ident => $on_real:expr, $kernel:ident => $on_sim:expr) => {
        match $ring {
            Ring::Real($real) => $on_real,
            Ring::Sim(sim) => {
                let mut $kernel = sim.0.borrow_mut();
                $on_sim
            }
        }
    };
}

impl Ring {
    pub fn new(features: Features) -> io::Result<Self> {
        Ok(match NEXT.take() {
            Some(kernel) => Self::Sim(SimRing(kernel)),
            None => Self::Real(Uring::new(features)?),
        })
    }

    pub fn in_flight(&self) -> u32 {
        match self {
            Self::Real(ring) => ring.in_flight(),
            Self::Sim(sim) => sim.kernel().in_flight(),
        }
    }

    /// # Safety
    /// See [`Uring::provide`].
    pub unsafe fn provide(&mut self, buffers: &RecvBuffers, buffer: u16) {
        let start = buffers.address(buffer);
        // SAFETY: as demanded of the caller.
        either!(self, ring => unsafe { ring.provide(buffers, buffer) }, kernel => kernel.provide(buffer, start, false));
    }

    /// # Safety
    /// See [`Uring::provide_large`].
    pub unsafe fn provide_large(&mut self, buffers: &RecvBuffers, buffer: u16) {
        let start = buffers.address(buffer);
        // SAFETY: as demanded of the caller.
        either!(self, ring => unsafe { ring.provide_large(buffers, buffer) }, kernel => kernel.provide(buffer, start, true));
    }

    pub fn open_large(&mut self) -> Opened {
        either!(self, ring => ring.open_large(), kernel => kernel.open_large())
    }

    pub fn features(&self) -> Vec<RingFeature> {
        match self {
            Self::Real(ring) => ring.features(),
            Self::Sim(_) => Vec::new(),
        }
    }

    pub fn receive(&mut self, key: Key, fd: RawFd, large: bool) {
        either!(self, ring => ring.receive(key, fd, large), kernel => kernel.receive(key, fd, large));
    }

    /// # Safety
    /// See [`Uring::send`].
    pub unsafe fn send(&mut self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32) {
        // SAFETY: as demanded of the caller.
        either!(self, ring => unsafe { ring.send(key, fd, from, len) }, kernel => kernel.send(key, fd, from, len));
    }

    pub fn accept(&mut self, key: Key, fd: RawFd) {
        either!(self, ring => ring.accept(key, fd), kernel => kernel.accept(key));
    }

    /// # Safety
    /// See [`Uring::connect`].
    pub unsafe fn connect(&mut self, key: Key, fd: RawFd, address: &socket2::SockAddr) {
        // SAFETY: as demanded of the caller.
        either!(self, ring => unsafe { ring.connect(key, fd, address) }, kernel => kernel.connect(key, fd, address));
    }

    pub fn cancel(&mut self, kind: OpKind, key: Key) {
        either!(self, ring => ring.cancel(kind, key), kernel => kernel.cancel(kind, key));
    }

    pub fn poll(&mut self, kind: OpKind, key: Key, fd: RawFd) {
        either!(self, ring => ring.poll(kind, key, fd), kernel => kernel.poll(kind, key, fd));
    }

    pub fn arm_wake_fd(&mut self, fd: RawFd) {
        either!(self, ring => ring.arm_wake_fd(fd), kernel => kernel.arm_wake_fd(fd));
    }

    pub fn ring_fd(&self) -> Option<OwnedFd> {
        match self {
            Self::Real(ring) => ring.ring_fd(),
            Self::Sim(_) => None,
        }
    }

    pub fn message(&mut self, to: Arc<Remote>) {
        match self {
            Self::Real(ring) => ring.message(to),
            Self::Sim(_) => to.wake(),
        }
    }

    pub fn has_work(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.has_work(),
            Self::Sim(sim) => sim.kernel().has_work(),
        }
    }

    pub fn has_queued(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.has_queued(),
            Self::Sim(sim) => sim.kernel().has_queued(),
        }
    }

    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        either!(self, ring => ring.wait(timeout, metrics), kernel => kernel.wait(timeout));
    }

    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        either!(self, ring => ring.take(into), kernel => kernel.take(into))
    }

    pub fn ended(&mut self) {
        either!(self, ring => ring.ended(), kernel => kernel.ended());
    }
}
