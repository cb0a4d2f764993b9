//! The ring of a worker where worlds can be simulated: that of Linux, or one of a world.

use super::uring::{Features, RingFeature, Uring};
use super::user_data::OpKind;
#[cfg(test)]
use crate::sim::scripted;
use crate::sim_kernel::{WorldRing, active};
use crate::{metrics::Metrics, slab::Key, task::registry::Remote};
use io_uring::{cqueue, squeue};
use std::os::fd::{OwnedFd, RawFd};
use std::{io, mem::MaybeUninit, ptr::NonNull, sync::Arc, time::Duration};

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

    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Its machine and its number there, if it is one of a world.
    pub fn world(&self) -> Option<&WorldRing> {
        if let Self::World(ring) = self { Some(ring) } else { None }
    }

    /// Those of a world's ring are none.
    pub fn features(&self) -> Vec<RingFeature> {
        match self {
            Self::Real(ring) => ring.features(),
            Self::World(_) => Vec::new(),
            #[cfg(test)]
            Self::Scripted(ring) => ring.0.borrow_mut().features(),
        }
    }

    /// Ends the sleep of another worker; in a world the drive looks at its mailbox.
    pub fn message(&mut self, to: Arc<Remote>) {
        match self {
            Self::Real(ring) => ring.message(to),
            Self::World(_) => (),
            #[cfg(test)]
            Self::Scripted(ring) => ring.0.borrow_mut().message(to),
        }
    }

    /// # Safety
    /// As the method of [`Uring`].
    pub unsafe fn operate(&mut self, key: Key, entry: squeue::Entry) {
        if let Self::Real(ring) = self {
            // SAFETY: as demanded of the caller.
            unsafe { ring.operate(key, entry) };
        }
    }

    dispatch! {
        fn in_flight(self: &Self) -> u32;
        fn ring_fd(self: &Self) -> Option<OwnedFd>;
        [unsafe] fn provide(self: &mut Self, start: NonNull<u8>, buffer: u16);
        fn receive(self: &mut Self, key: Key, fd: RawFd);
        [unsafe] fn send(self: &mut Self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32);
        [unsafe] fn connect(self: &mut Self, key: Key, fd: RawFd, address: &socket2::SockAddr);
        fn cancel(self: &mut Self, kind: OpKind, key: Key);
        fn poll(self: &mut Self, kind: OpKind, key: Key, fd: RawFd);
        fn flush(self: &mut Self);
        fn arm_wake_fd(self: &mut Self, fd: RawFd);
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
