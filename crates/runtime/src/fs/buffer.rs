//! Memory that file operations read into and write from.

use std::alloc::{self, Layout};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory that a file operation takes with it, to write what is in it.
///
/// # Safety
/// `bytes` returns the same memory whenever it is called, and that stays where it is when the value in its box moves.
pub unsafe trait Buffer: Send + 'static {
    /// The bytes to write.
    fn bytes(&self) -> &[u8];
}

/// Memory that a file operation takes with it, to read into it.
///
/// # Safety
/// `bytes_mut` returns the memory that [`bytes`](Buffer::bytes) returns.
pub unsafe trait BufferMut: Buffer {
    /// The bytes to read into.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// For types whose memory is their own, or shared and never written.
macro_rules! buffers {
    ($($(#[$attribute:meta])* $type:ty),+) => { $(
        $(#[$attribute])*
        // SAFETY: the memory lies outside the value, and changes its place only when the value changes.
        unsafe impl Buffer for $type {
            fn bytes(&self) -> &[u8] {
                self
            }
        }
    )+ };
}

buffers!(
    Vec<u8>,
    Box<[u8]>,
    AlignedBuf,
    Arc<[u8]>,
    &'static [u8],
    #[cfg(feature = "hyper")]
    hyper::body::Bytes
);

/// For those whose memory is their own.
macro_rules! mutable_buffers {
    ($($type:ty),+) => { $(
        // SAFETY: the memory is that of `bytes`.
        unsafe impl BufferMut for $type {
            fn bytes_mut(&mut self) -> &mut [u8] {
                self
            }
        }
    )+ };
}

mutable_buffers!(Vec<u8>, Box<[u8]>, AlignedBuf);

/// Bytes at an address that is a multiple of an alignment, as files opened with `O_DIRECT` demand it. Initially zeros.
///
/// ```
/// let buffer = brunt_runtime::fs::AlignedBuf::new(8192, 4096);
/// assert_eq!((buffer.len(), buffer.as_ptr().addr() % 4096), (8192, 0));
/// ```
pub struct AlignedBuf {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, which is bytes.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// # Panics
    /// If `len` is 0, the alignment is no power of two, or memory runs out.
    pub fn new(len: usize, alignment: usize) -> Self {
        assert!(len > 0, "an aligned buffer has at least one byte");
        let layout = Layout::from_size_align(len, alignment).expect("an alignment that is a power of two");
        // SAFETY: the layout has a size.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| alloc::handle_alloc_error(layout));
        Self { start, layout }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: that many initialised bytes are its own.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes, aligned to {})", self.layout.size(), self.layout.align())
    }
}
