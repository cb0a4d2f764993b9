//! `File`: reads and writes at an offset.

use super::buffer::{Buffer, BufferMut};
use super::request::run;
use super::status::{Metadata, status_of};
use crate::named::{named, not_duplicated};
use io_uring::opcode;
use io_uring::types::{Fd, FsyncFlags};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::{fs, io};

/// The most bytes of one read(2) or write(2) on Linux.
const MOST: usize = 0x7fff_f000;

/// An open file. Operations take `&self`: any number of them may be in flight, in any order.
///
/// ```
/// use brunt_runtime::fs;
///
/// # let folder = std::env::temp_dir().join(format!("brunt-runtime-file-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("file");
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let file = fs::OpenOptions::new().read(true).write(true).create(true).open(&path).await?;
/// file.write_all_at(b"0123456789".to_vec(), 0).await?;
/// file.sync_data().await?;
/// let (len, bytes) = file.read_at(vec![0; 4], 7).await?;
/// assert_eq!(&bytes[..len], b"789");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::fs::remove_dir_all(folder)?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct File {
    fd: Arc<OwnedFd>,
}

/// A transfer: the file, the buffer, and where in the buffer it begins.
type Transfer<B> = (Arc<OwnedFd>, B, usize);

impl File {
    /// Adopts a file of the standard library.
    pub fn from_std(file: fs::File) -> Self {
        Self::adopt(file.into())
    }

    pub(super) fn adopt(fd: OwnedFd) -> Self {
        Self { fd: Arc::new(fd) }
    }

    /// The file for the standard library: a duplicate of the descriptor while a clone of this one or an operation has it.
    pub fn into_std(self) -> io::Result<fs::File> {
        Arc::try_unwrap(self.fd).or_else(|fd| fd.try_clone()).map(Into::into).map_err(not_duplicated)
    }

    /// Reads at most the length of the buffer, which is not its capacity, from `offset` on. Returns the number of bytes, 0 at the end
    /// of the file, and the buffer.
    pub async fn read_at<B: BufferMut>(&self, buffer: B, offset: u64) -> io::Result<(usize, B)> {
        self.read_unnamed(buffer, offset).await.map_err(|error| not_read(offset, error))
    }

    /// As [`read_at`](Self::read_at), with errors that do not say what was read.
    pub(super) async fn read_unnamed<B: BufferMut>(&self, buffer: B, offset: u64) -> io::Result<(usize, B)> {
        let (len, (_, buffer, _)) = read_part((self.fd.clone(), buffer, 0), offset).await?;
        Ok((len, buffer))
    }

    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before.
    pub async fn read_exact_at<B: BufferMut>(&self, buffer: B, offset: u64) -> io::Result<B> {
        let mut transfer = (self.fd.clone(), buffer, 0);
        while transfer.2 < transfer.1.bytes().len() {
            let from = offset.saturating_add(transfer.2 as u64);
            let read = read_part(transfer, from).await;
            let (len, (fd, buffer, at)) = read.map_err(|error| not_read(from, error))?;
            if len == 0 {
                return Err(not_read(from, io::ErrorKind::UnexpectedEof.into()));
            }
            transfer = (fd, buffer, at + len);
        }
        Ok(transfer.1)
    }

    /// Writes some of the buffer at `offset`, in a file opened for appending at its end. Returns the number of bytes, and the
    /// buffer.
    pub async fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> io::Result<(usize, B)> {
        let written = write_part((self.fd.clone(), buffer, 0), offset).await;
        let (len, (_, buffer, _)) = written.map_err(|error| not_written(offset, error))?;
        Ok((len, buffer))
    }

    /// Writes all of the buffer at `offset`.
    pub async fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> io::Result<B> {
        self.write_unnamed(buffer, offset).await.map_err(|(to, error)| not_written(to, error))
    }

    /// As [`write_all_at`](Self::write_all_at), with the offset of the write that failed beside its error.
    pub(super) async fn write_unnamed<B: Buffer>(&self, buffer: B, offset: u64) -> Result<B, (u64, io::Error)> {
        let mut transfer = (self.fd.clone(), buffer, 0);
        while transfer.2 < transfer.1.bytes().len() {
            let to = offset.saturating_add(transfer.2 as u64);
            let (len, (fd, buffer, at)) = write_part(transfer, to).await.map_err(|error| (to, error))?;
            if len == 0 {
                return Err((to, io::ErrorKind::WriteZero.into()));
            }
            transfer = (fd, buffer, at + len);
        }
        Ok(transfer.1)
    }

    /// Returns once all data and metadata are on the disk.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.sync(FsyncFlags::empty()).await
    }

    /// As [`sync_all`](Self::sync_all), without metadata that reading the data does not need.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.sync(FsyncFlags::DATASYNC).await
    }

    async fn sync(&self, flags: FsyncFlags) -> io::Result<()> {
        let data_only = flags.contains(FsyncFlags::DATASYNC);
        let entry = |fd: &mut Arc<OwnedFd>| opcode::Fsync::new(Fd(fd.as_raw_fd())).flags(flags).build();
        let call = move |fd: &mut Arc<OwnedFd>| {
            if data_only {
                rustix::fs::fdatasync(&**fd)?
            } else {
                rustix::fs::fsync(&**fd)?
            }
            Ok(0)
        };
        // SAFETY: the descriptor is owned.
        let synced = unsafe { run(self.fd.clone(), entry, call) }.await;
        synced.map(drop).map_err(|error| named("cannot bring the file to the disk", error))
    }

    /// Truncates or extends the file to that length, on the blocking pool.
    pub async fn set_len(&self, len: u64) -> io::Result<()> {
        let fd = self.fd.clone();
        let set = crate::spawn_blocking(move || Ok(rustix::fs::ftruncate(&*fd, len)?)).await;
        let set = set.unwrap_or_else(|error| Err(error.into()));
        set.map_err(|error| named(format!("cannot set the length of the file to {len}"), error))
    }

    /// Its length, times and permissions.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        status_of(Some(self.fd.clone()), c"".into()).await
    }
}

#[cold]
fn not_read(offset: u64, error: io::Error) -> io::Error {
    named(format!("cannot read the file at offset {offset}"), error)
}

#[cold]
fn not_written(offset: u64, error: io::Error) -> io::Error {
    named(format!("cannot write to the file at offset {offset}"), error)
}

/// The ring takes -1 for the place where a read(2) would go on.
fn check(offset: u64) -> io::Result<()> {
    let message = || format!("the largest offset in a file is {}", i64::MAX);
    i64::try_from(offset).map(drop).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, message()))
}

async fn read_part<B: BufferMut>(transfer: Transfer<B>, offset: u64) -> io::Result<(usize, Transfer<B>)> {
    check(offset)?;
    let entry = |(fd, buffer, at): &mut Transfer<B>| {
        let into = &mut buffer.bytes_mut()[*at..];
        opcode::Read::new(Fd(fd.as_raw_fd()), into.as_mut_ptr(), into.len().min(MOST) as u32).offset(offset).build()
    };
    let call = move |(fd, buffer, at): &mut Transfer<B>| {
        let into = &mut buffer.bytes_mut()[*at..];
        match retry_on_intr(|| rustix::io::pread(&**fd, &mut *into, offset)) {
            // A pipe or terminal has no offsets: the ring ignores them.
            Err(Errno::SPIPE) => Ok(retry_on_intr(|| rustix::io::read(&**fd, &mut *into))?),
            read => Ok(read?),
        }
    };
    // SAFETY: the descriptor and the buffer are owned, and a buffer's memory does not move.
    unsafe { run(transfer, entry, call) }.await
}

async fn write_part<B: Buffer>(transfer: Transfer<B>, offset: u64) -> io::Result<(usize, Transfer<B>)> {
    check(offset)?;
    let entry = |(fd, buffer, at): &mut Transfer<B>| {
        let from = &buffer.bytes()[*at..];
        opcode::Write::new(Fd(fd.as_raw_fd()), from.as_ptr(), from.len().min(MOST) as u32).offset(offset).build()
    };
    let call = move |(fd, buffer, at): &mut Transfer<B>| {
        let from = &buffer.bytes()[*at..];
        match retry_on_intr(|| rustix::io::pwrite(&**fd, from, offset)) {
            Err(Errno::SPIPE) => Ok(retry_on_intr(|| rustix::io::write(&**fd, from))?),
            written => Ok(written?),
        }
    };
    // SAFETY: the descriptor and the buffer are owned, and a buffer's memory does not move.
    unsafe { run(transfer, entry, call) }.await
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
