//! Mappings that the workers of a simulated world have released, for the next world of the same thread: a test has ten thousand
//! worlds, and mapping, touching and unmapping memory would be most of what a short one costs.
//!
//! Invariant: a thread that has had no world keeps nothing, and one that ends unmaps what it keeps.

use std::cell::RefCell;
use std::ptr::NonNull;

/// Mappings that a thread keeps at most.
const MOST: usize = 256;

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { begun: false, mappings: Vec::new() }) };
}

struct Kept {
    begun: bool,
    /// Address and length.
    mappings: Vec<(NonNull<u8>, usize)>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (base, bytes) in self.mappings.drain(..) {
            // SAFETY: releasing it asserts so.
            unsafe { super::unmap(base, bytes) };
        }
    }
}

/// This thread has a world: from now on it keeps mappings.
pub(crate) fn begin() {
    KEPT.with_borrow_mut(|kept| kept.begun = true);
}

/// A mapping of that length, which is no longer kept.
pub(super) fn take(bytes: usize) -> Option<NonNull<u8>> {
    let take = |kept: &mut Kept| {
        let nth = kept.mappings.iter().rposition(|(_, length)| *length == bytes)?;
        Some(kept.mappings.swap_remove(nth).0)
    };
    // The thread may be ending.
    KEPT.try_with(|kept| take(&mut kept.borrow_mut())).ok().flatten()
}

/// Keeps a mapping; false if it is to be unmapped.
pub(super) fn keep(base: NonNull<u8>, bytes: usize) -> bool {
    let keep = |kept: &mut Kept| {
        let has_room = kept.begun && kept.mappings.len() < MOST;
        if has_room {
            kept.mappings.push((base, bytes));
        }
        has_room
    };
    KEPT.try_with(|kept| keep(&mut kept.borrow_mut())).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::{release, reserve};

    #[test]
    fn a_thread_that_has_had_a_world_uses_its_mappings_again() {
        let reuses = || {
            let bytes = [4096, 8192];
            let bases = bytes.map(|bytes| reserve::<u8>(bytes).unwrap());
            // SAFETY: reserved above with these lengths, and used no more.
            bases.iter().zip(bytes).for_each(|(base, bytes)| unsafe { release(*base, bytes) });
            let kept = super::KEPT.with_borrow(|kept| kept.mappings.len());
            let again = bytes.map(|bytes| reserve::<u8>(bytes).unwrap());
            // SAFETY: as above.
            again.iter().zip(bytes).for_each(|(base, bytes)| unsafe { release(*base, bytes) });
            (kept, again == bases)
        };
        std::thread::spawn(move || {
            assert_eq!(reuses().0, 0);
            super::begin();
            assert_eq!(reuses(), (2, true));
        })
        .join()
        .unwrap();
    }
}
