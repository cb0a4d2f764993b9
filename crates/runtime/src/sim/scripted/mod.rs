//! A simulated io_uring for unit tests of the runtime itself: plays both ends of every connection from a plan, executes
//! requests in an order chosen by a script, and checks the memory and descriptors lent to it. It has no time.

mod conn_task;
pub(super) mod kernel;
mod net;
mod plan;
mod real;
mod request;
mod tests;
mod world;

use crate::driver::uring::RingFeature;
use crate::task::registry::Remote;
use kernel::Kernel;
use std::os::fd::OwnedFd;
use std::{cell::RefCell, rc::Rc, sync::Arc};

thread_local! {
    /// The kernel of the next ring built on this thread; another ring without one.
    pub(crate) static NEXT: RefCell<Option<Rc<RefCell<Kernel>>>> = const { RefCell::new(None) };
}

pub(crate) struct SimRing(pub Rc<RefCell<Kernel>>);

impl Drop for SimRing {
    fn drop(&mut self) {
        self.0.borrow_mut().close();
    }
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
