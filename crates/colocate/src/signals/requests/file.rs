//! A file of counts that grows, as `brunt load --counts` writes it. One that is truncated or replaced is read from its begin; what a
//! file has before the first look is of the past and not read.

use super::{feed::Feed, lines::Lines};
use crate::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, inotify};
use rustix::io::Errno;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Time between two looks at a file of which the kernel tells no changes.
const PERIOD: Duration = Duration::from_millis(20);
/// Most time between two looks at another, so that a replacement is seen, and what another machine writes.
const LONGEST: Duration = Duration::from_millis(100);
/// Cleared at every look, which usually finds a line or none.
const CHUNK: usize = 8 << 10;

/// Reads the file in a thread, until the feed is stopped.
pub fn follow(feed: &Arc<Feed>, path: &Path) -> io::Result<()> {
    let mut follower =
        Follower { path: path.to_owned(), file: None, changes: None, position: 0, lines: Lines::default() };
    follower.open(true)?;
    let feed = Arc::clone(feed);
    let work = move || {
        while !feed.is_stopped() {
            if let Err(error) = follower.look(&feed) {
                feed.warn("file", format!("cannot read {}: {error}", follower.path.display()));
            }
            follower.wait();
        }
    };
    thread::Builder::new().name("counts".to_owned()).spawn(work).map(drop)
}

struct Follower {
    path: PathBuf,
    file: Option<File>,
    /// Tells when the file has grown.
    changes: Option<OwnedFd>,
    position: u64,
    lines: Lines,
}

impl Follower {
    /// Opens the file, if it exists. Its begin is skipped if it is of the past.
    fn open(&mut self, is_of_the_past: bool) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        // A pipe without a writer would block.
        match OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(named(error)),
            Ok(file) => self.file = Some(file),
        }
        self.position = 0;
        self.lines.clear();
        self.changes = None;
        if let Some(file) = &mut self.file {
            let found = file.metadata()?;
            if found.is_dir() {
                return Err(named(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            if found.is_file() {
                self.changes = changes(&self.path).ok();
                if is_of_the_past {
                    self.position = file.seek(SeekFrom::End(0)).map_err(named)?;
                }
            }
        }
        Ok(())
    }

    /// Until the next look.
    fn wait(&self) {
        let Some(changes) = &self.changes else { return clock::sleep(PERIOD) };
        let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(LONGEST.subsec_nanos()) };
        match poll(&mut [PollFd::new(changes, PollFlags::IN)], Some(&longest)) {
            Ok(0) | Err(Errno::INTR) => {}
            // Those until now: the look sees what they are about.
            Ok(_) => _ = rustix::io::read(changes, &mut [0; 4096]),
            Err(_) => clock::sleep(PERIOD),
        }
    }

    fn look(&mut self, feed: &Feed) -> io::Result<()> {
        self.read(feed)?;
        let Some(file) = &self.file else { return self.open(false) };
        let Ok(named) = fs::metadata(&self.path) else { return Ok(()) };
        let is = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        if !is(&file.metadata()?, &named) {
            // What was written between the last read and the replacement.
            self.read(feed)?;
            self.open(false)?;
        } else if named.len() < self.position && !named.file_type().is_fifo() {
            self.position = 0;
            self.lines.clear();
            self.file.as_mut().map_or(Ok(0), |file| file.seek(SeekFrom::Start(0)))?;
        } else {
            return Ok(());
        }
        self.read(feed)
    }

    fn read(&mut self, feed: &Feed) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut chunk = [0; CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    self.position += length as u64;
                    self.lines.add(&chunk[..length], feed);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Becomes readable when the file is written to.
fn changes(path: &Path) -> rustix::io::Result<OwnedFd> {
    let inotify = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&inotify, path, inotify::WatchFlags::MODIFY)?;
    Ok(inotify)
}
