//! `disk`: writes of blocks to a file, one file a thread, again from its beginning at its end.
//!
//! The file has no name from its first moment on, so that the system frees it when the process ends, however it ends.

use crate::dose::WorkTime;
use crate::error::{StressError, failed, usage};
use crate::random::Random;
use crate::resource::{Figure, Other, Resource, Worker};
use crate::stop::Stop;
use brunt_results::Size;
use rustix::fs::{FallocateFlags, OFlags, fallocate, fstatvfs};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// When a block counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// `fdatasync` after each block.
    Fsync,
    /// On the device, past the page cache (`O_DIRECT`).
    Direct,
    /// In the page cache, which the system writes to the disk later.
    Buffered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Sequential,
    Random,
}

#[derive(Debug)]
pub struct Options {
    pub dir: PathBuf,
    /// Bytes of all files.
    pub size: u64,
    pub block: u64,
    pub mode: WriteMode,
    pub order: Order,
}

/// Unit and alignment of direct writes, a multiple of every block device's.
const PAGE: u64 = 4096;

const MOST_WRITTEN: u64 = 64 << 20;

pub(crate) struct Disk<'a> {
    options: &'a Options,
    /// Of each thread's file.
    blocks: u64,
    files: u64,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(options: &'a Options, threads: usize) -> Result<Self, StressError> {
        let (block, files) = (options.block, threads as u64);
        if !(1..=MOST_WRITTEN).contains(&block) {
            return usage(format!("--block {}: it must be from 1B to {}", Size(block), Size(MOST_WRITTEN)));
        }
        if options.mode == WriteMode::Direct && !block.is_multiple_of(PAGE) {
            return usage(format!("--block {}: direct writes need a multiple of {}", Size(block), Size(PAGE)));
        }
        let blocks = options.size / files / block;
        if blocks == 0 {
            let size = Size(options.size);
            return usage(format!(
                "--size {size}: too small for --threads {threads}, of which each needs at least one --block of {}",
                Size(block)
            ));
        }
        if let Err(error) = fs::read_dir(&options.dir) {
            return usage(format!("--dir {}: {error}; name a directory on the disk to be used", options.dir.display()));
        }
        Ok(Self { options, blocks, files })
    }
}

impl Resource for Disk<'_> {
    fn figure(&self) -> Figure {
        Figure { resource: "disk", unit: "bytes", other: Other::Nothing, work_time: WorkTime::Wall }
    }

    fn size(&self) -> Option<u64> {
        Some(self.blocks * self.options.block * self.files)
    }

    fn worker(&self, index: usize, _: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        let file = create(&self.options.dir, self.options.mode)?;
        reserve(&file, self.blocks * self.options.block, self)?;
        // Random bytes: some devices and file systems compress, or store equal blocks once.
        let mut random = Random::new(index);
        let mut content = vec![0; (self.options.block + PAGE) as usize];
        content.fill_with(|| random.next() as u8);
        Ok(Box::new(Writer { file, content, blocks: self.blocks, next: 0, options: self.options, random }))
    }
}

/// A new file without a name.
fn create(dir: &Path, mode: WriteMode) -> Result<File, StressError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!(".brunt-stress-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = dir.join(name);
    let flags = if mode == WriteMode::Direct { OFlags::DIRECT.bits() as i32 } else { 0 };
    let opened = OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(&path);
    // A file system that refuses direct writes has created the file.
    let removed = fs::remove_file(&path);
    match opened {
        Ok(file) => {
            removed.map(|()| file).or_else(|error| failed(format!("cannot remove {}: {error}", path.display())))
        }
        Err(error) if mode == WriteMode::Direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => failed(
            format!("--write direct: the file system of {} has no direct writes; choose --write fsync", dir.display()),
        ),
        Err(error) => failed(format!("cannot create a file in {}: {error}; choose another --dir", dir.display())),
    }
}

/// Reserves the space of a file.
fn reserve(file: &File, bytes: u64, disk: &Disk<'_>) -> Result<(), StressError> {
    let free = || fstatvfs(file).map(|system| system.f_bavail.saturating_mul(system.f_frsize));
    let reserved = match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // The file system cannot reserve.
        Err(Errno::OPNOTSUPP) if free().is_ok_and(|free| free < bytes) => Err(Errno::NOSPC),
        Err(Errno::OPNOTSUPP) => Ok(()),
        reserved => reserved,
    };
    reserved.or_else(|error| {
        let (size, dir) = (Size(bytes * disk.files), disk.options.dir.display());
        failed(format!("--size {size}: no room in {dir}: {error}; choose a smaller --size or another --dir"))
    })
}

struct Writer<'a> {
    file: File,
    /// One block, somewhere within, at an address that is a multiple of the page.
    content: Vec<u8>,
    blocks: u64,
    next: u64,
    options: &'a Options,
    random: Random,
}

impl Worker for Writer<'_> {
    fn step(&mut self) -> Result<u64, StressError> {
        let block = match self.options.order {
            Order::Random => u64::from(self.random.next()) % self.blocks,
            Order::Sequential => self.next,
        };
        self.next = (block + 1) % self.blocks;
        let start = self.content.as_ptr().align_offset(PAGE as usize);
        let content = &self.content[start..start + self.options.block as usize];
        let written = self.file.write_all_at(content, block * self.options.block);
        let written = written.and_then(|()| match self.options.mode {
            WriteMode::Fsync => self.file.sync_data(),
            WriteMode::Direct | WriteMode::Buffered => Ok(()),
        });
        match written {
            Ok(()) => Ok(self.options.block),
            Err(error) => {
                failed(format!("cannot write in {}: {error}; choose another --dir", self.options.dir.display()))
            }
        }
    }
}
