//! A `Waker` that is a packed token: no allocation, no reference count, safe from any thread.

use super::Token;
use super::context;
use std::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| RawWaker::new(data, &VTABLE),
    |data| context::wake(Token(data.addr() as u64)),
    |data| context::wake(Token(data.addr() as u64)),
    |_| (),
);

const _: () = assert!(size_of::<usize>() == 8, "tokens are packed in a 64-bit pointer");

#[inline]
pub(crate) fn new(token: Token) -> Waker {
    // SAFETY: the vtable never dereferences its data, which is the token itself as an address; all four functions are
    // thread-safe because `context::wake` is, and clone and drop own nothing.
    unsafe { Waker::new(std::ptr::without_provenance(token.0 as usize), &VTABLE) }
}

/// The token of a waker of this module.
#[inline]
pub(crate) fn token(waker: &Waker) -> Option<Token> {
    std::ptr::eq(waker.vtable(), &VTABLE).then(|| Token(waker.data().addr() as u64))
}

/// For tests: a waker that logs its number.
#[cfg(test)]
pub(crate) struct LogWaker(pub u64, pub std::sync::Arc<std::sync::Mutex<Vec<u64>>>);

#[cfg(test)]
impl std::task::Wake for LogWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}
