//! Files, whose reads and writes do not block the worker: requests of the ring on io_uring, else work of the blocking pool.
//!
//! Made for regular files. A FIFO is opened without waiting for its other end, on both backends: for writing alone that is the error
//! `ENXIO` while nothing reads from it; with `create` or `truncate` the open waits, and on epoll holds a thread of the blocking pool. So
//! does a read or write of a FIFO or terminal that has to wait: [`PipeReader::adopt`](crate::pipe::PipeReader::adopt) and
//! [`AsyncFd`](crate::net::AsyncFd) wait without a thread.
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
