//! Files, whose reads and writes do not block the worker: requests of the ring on io_uring, else work of the blocking pool.
//!
//! Made for regular files: a FIFO that is opened may wait for its other end on one backend and not on the other, and
//! [`AsyncFd`](crate::net::AsyncFd) waits for it better.
//!
//! What a call reads into or writes from goes into it and comes back with its result: the kernel may use the memory after the
//! future was dropped.

mod buffer;
mod file;
mod open;
mod path;
mod request;
mod status;

pub use buffer::{AlignedBuf, Buffer, BufferMut};
pub use file::File;
pub use open::OpenOptions;
pub use path::{read, remove_file, rename, write};
pub use status::{Metadata, metadata};
