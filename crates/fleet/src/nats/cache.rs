//! Files that an agent has fetched, by the digest of their contents, so that a load that is repeated fetches nothing.
//!
//! Invariants:
//! - What [`Cache::get`] and [`Cache::keep`] return has the digest that was asked for when they return.
//! - Above the limit the files go first that were used least recently. Several agents may share the directory.

use crate::words::File;
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Makes names of files that are not complete unique within this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A directory of files.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    pub directory: PathBuf,
    /// Bytes that are kept.
    pub most: u64,
}

impl Cache {
    /// The copy of a file, if it is there and whole.
    pub fn get(&self, file: &File) -> Option<PathBuf> {
        file.check().ok()?;
        let path = self.directory.join(&file.hash);
        let mut open = fs::File::open(&path).ok()?;
        let mut hash = Sha256::new();
        io::copy(&mut open, &mut hash).ok()?;
        // It is used now; one that is not what it should be is fetched again.
        let _ = open.set_modified(SystemTime::now());
        (format!("{:x}", hash.finalize()) == file.hash).then_some(path)
    }

    /// Keeps a file whose pieces `piece` returns by offset.
    ///
    /// # Errors
    /// A piece cannot be had or written, or the whole is not what it should be; one line that names the file.
    pub fn keep(&self, file: &File, piece: impl FnMut(u64) -> Result<Vec<u8>, String>) -> Result<PathBuf, String> {
        file.check()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let part = self.directory.join(format!("{}.{}.{number}", file.hash, std::process::id()));
        let kept = self.write(file, &part, piece);
        if kept.is_err() {
            let _ = fs::remove_file(&part);
        }
        kept
    }

    fn write(
        &self,
        file: &File,
        part: &PathBuf,
        mut piece: impl FnMut(u64) -> Result<Vec<u8>, String>,
    ) -> Result<PathBuf, String> {
        let name = file.path.display();
        let failed = |error: io::Error| format!("cannot keep {name} in {}: {error}", self.directory.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        self.make_room(file.bytes);
        let mut open = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(part).map_err(failed)?;
        let (mut hash, mut offset) = (Sha256::new(), 0);
        while offset < file.bytes {
            let data = piece(offset)?;
            if data.len() != file.piece(offset) {
                return Err(format!("{name}: a piece of {} bytes instead of {}", data.len(), file.piece(offset)));
            }
            hash.update(&data);
            open.write_all(&data).map_err(failed)?;
            offset += data.len() as u64;
        }
        if format!("{:x}", hash.finalize()) != file.hash {
            return Err(format!("{name} has changed since the load was described: start the load again"));
        }
        let path = self.directory.join(&file.hash);
        fs::rename(part, &path).map_err(failed)?;
        Ok(path)
    }

    /// Removes the files that were used least recently, until there is room for so many bytes more.
    fn make_room(&self, bytes: u64) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        kept.sort();
        let mut all = kept.iter().fold(bytes, |sum, (_, length, _)| sum.saturating_add(*length));
        for (_, length, path) in kept {
            if all <= self.most {
                return;
            }
            if fs::remove_file(path).is_ok() {
                all -= length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::PIECE_BYTES;
    use std::time::Duration;

    fn of(contents: &[u8]) -> File {
        let hash = format!("{:x}", Sha256::digest(contents));
        File { path: "calls.txt".into(), bytes: contents.len() as u64, hash }
    }

    fn pieces(contents: &[u8]) -> impl FnMut(u64) -> Result<Vec<u8>, String> {
        |offset| Ok(contents[offset as usize..].iter().take(PIECE_BYTES).copied().collect())
    }

    fn names(cache: &Cache) -> Vec<String> {
        let entries = fs::read_dir(&cache.directory).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_kept_is_what_was_asked_for() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache { directory: home.path().join("files"), most: 1 << 30 };
        let contents: Vec<u8> = (0..2 * PIECE_BYTES + 9).map(|at| (at * at % 251) as u8).collect();
        let file = of(&contents);
        assert_eq!(cache.get(&file), None);
        // A bit is wrong; a piece is short, long, or missing; a file is longer than it says.
        let mut wrong = contents.clone();
        wrong[PIECE_BYTES] ^= 1;
        let shorter = File { bytes: file.bytes - 1, ..file.clone() };
        for (file, kept, needle) in [
            (&file, cache.keep(&file, pieces(&wrong)), "has changed"),
            (&file, cache.keep(&file, pieces(&contents[..contents.len() - 1])), "a piece of 8 bytes instead of 9"),
            (&file, cache.keep(&file, |_| Ok(contents.clone())), "bytes instead of 262144"),
            (&file, cache.keep(&file, |_| Err("calls.txt: none".to_owned())), "none"),
            (&shorter, cache.keep(&shorter, pieces(&contents[..contents.len() - 1])), "has changed"),
        ] {
            let why = kept.unwrap_err();
            assert!(why.contains(needle) && why.contains("calls.txt") && !why.contains('\n'), "{why}");
            assert_eq!((cache.get(file), names(&cache).len()), (None, 0));
        }
        let path = cache.keep(&file, pieces(&contents)).unwrap();
        assert_eq!((fs::read(&path).unwrap() == contents, cache.get(&file)), (true, Some(path.clone())));
        // What is kept has been damaged: it is fetched again.
        fs::write(&path, &wrong).unwrap();
        assert_eq!(cache.get(&file), None);
        assert_eq!(cache.keep(&file, pieces(&contents)).unwrap(), path);
        assert_eq!((cache.get(&file), names(&cache)), (Some(path), vec![file.hash.clone()]));
        // A digest that is a path leads nowhere.
        let outside = File { hash: "../outside".to_owned(), ..file };
        assert!(cache.get(&outside).is_none() && cache.keep(&outside, pieces(&contents)).is_err());
        assert!(!home.path().join("outside").exists());
    }

    #[test]
    fn above_the_limit_the_least_recently_used_go_first() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache { directory: home.path().to_owned(), most: 25 };
        let all: Vec<File> = (0..3u8).map(|number| of(&[number; 10])).collect();
        for (number, file) in all.iter().take(2).enumerate() {
            let path = cache.keep(file, pieces(&[number as u8; 10])).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64 + 1);
            fs::File::open(path).unwrap().set_modified(at).unwrap();
        }
        assert!(cache.get(&all[0]).is_some());
        cache.keep(&all[2], pieces(&[2; 10])).unwrap();
        let is_there: Vec<bool> = all.iter().map(|file| cache.get(file).is_some()).collect();
        assert_eq!(is_there, [true, false, true]);
    }
}
