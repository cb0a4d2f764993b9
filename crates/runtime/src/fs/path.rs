//! What is asked of a path: renaming, removing, reading and writing a whole file.

use super::file::File;
use super::request::{run, text};
use crate::named::named;
use io_uring::opcode;
use io_uring::types::Fd;
use std::ffi::CString;
use std::io;
use std::path::Path;

/// Renames a file or directory; replaces a file that has the new name.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let paths = (text(from)?, text(to)?);
    let entry = |(from, to): &mut (CString, CString)| {
        let here = Fd(libc::AT_FDCWD);
        opcode::RenameAt::new(here, from.as_ptr(), here, to.as_ptr()).build()
    };
    let call = |(from, to): &mut (CString, CString)| {
        rustix::fs::rename(&**from, &**to)?;
        Ok(0)
    };
    // SAFETY: the paths are owned, and their bytes do not move.
    let renamed = unsafe { run(paths, entry, call) }.await;
    let what = || format!("cannot rename '{}' to '{}'", from.display(), to.display());
    renamed.map(drop).map_err(|error| named(what(), error))
}

/// Removes a file.
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let entry = |path: &mut CString| opcode::UnlinkAt::new(Fd(libc::AT_FDCWD), path.as_ptr()).build();
    let call = |path: &mut CString| {
        rustix::fs::unlink(&**path)?;
        Ok(0)
    };
    // SAFETY: the path is owned, and its bytes do not move.
    let removed = unsafe { run(text(path)?, entry, call) }.await;
    removed.map(drop).map_err(|error| named(format!("cannot remove '{}'", path.display()), error))
}

/// Reads a whole file.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let file = File::open(path).await?;
    read_to_end(&file).await.map_err(|error| named(format!("cannot read '{}'", path.display()), error))
}

async fn read_to_end(file: &File) -> io::Result<Vec<u8>> {
    // Of a file in /proc the length is 0, and others may grow meanwhile: it is read until it ends.
    let room = usize::try_from(file.metadata().await?.len()).unwrap_or(0).clamp(4096, 1 << 20);
    let (mut bytes, mut part) = (Vec::new(), vec![0; room]);
    loop {
        let (len, filled) = file.read_unnamed(part, bytes.len() as u64).await?;
        if len == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&filled[..len]);
        part = filled;
    }
}

/// Writes a whole file: creates it, or replaces what it holds.
pub async fn write(path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
    let path = path.as_ref();
    let written = File::create(path).await?.write_unnamed(bytes.into(), 0).await;
    written.map(drop).map_err(|(_, error)| named(format!("cannot write '{}'", path.display()), error))
}
