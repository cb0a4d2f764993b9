//! The files of a load that the coordinator has, read in pieces for the agents.
//!
//! Invariant: only files that the load names are read, and only while they are as they were when the load was described.

use crate::words::{File, MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The files, by digest.
#[derive(Debug, Default)]
pub struct Offered(BTreeMap<String, Known>);

#[derive(Debug)]
struct Known {
    file: File,
    modified: Option<SystemTime>,
}

impl Offered {
    /// Reads the files; those of the same contents are sent once.
    ///
    /// # Errors
    /// One cannot be read or is too large, or there are too many; one line that names it.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Result<(Vec<File>, Self), String> {
        let (mut files, mut offered) = (Vec::new(), Self::default());
        for path in paths {
            let known = describe(&path)?;
            files.push(known.file.clone());
            offered.0.entry(known.file.hash.clone()).or_insert(known);
            if files.len() > MAX_FILES {
                return Err(format!(
                    "the load names more than {MAX_FILES} files: put bodies into the file of requests"
                ));
            }
        }
        match offered.bytes() {
            bytes if bytes > MAX_FILES_BYTES => {
                Err(format!("the files of the load have {bytes} bytes, and agents keep at most {MAX_FILES_BYTES}"))
            }
            _ => Ok((files, offered)),
        }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|known| known.file.bytes).sum()
    }

    /// A piece of a file.
    ///
    /// # Errors
    /// There is no such file, or it has changed; one line that names it.
    pub fn read(&self, hash: &str, offset: u64) -> Result<Vec<u8>, String> {
        let Some(Known { file, modified }) = self.0.get(hash) else {
            return Err("a file was asked for that the load does not name".to_owned());
        };
        let name = file.path.display();
        let failed = |error: io::Error| format!("cannot read {name}: {error}");
        let mut open = fs::File::open(&file.path).map_err(failed)?;
        let now = open.metadata().map_err(failed)?;
        if (now.len(), now.modified().ok()) != (file.bytes, *modified) {
            return Err(format!("{name} has changed since the load was described: start the load again"));
        }
        let mut bytes = vec![0; file.piece(offset)];
        if !bytes.is_empty() {
            open.seek(SeekFrom::Start(offset)).and_then(|_| open.read_exact(&mut bytes)).map_err(failed)?;
        }
        Ok(bytes)
    }
}

fn describe(path: &Path) -> Result<Known, String> {
    let name = path.display();
    let failed = |error: io::Error| format!("cannot read {name}: {error}");
    let is_file = fs::metadata(path).map_err(failed)?.is_file();
    if !is_file {
        return Err(format!("{name} is no regular file, which agents cannot get: write its contents to one"));
    }
    let mut open = fs::File::open(path).map_err(failed)?;
    let metadata: Metadata = open.metadata().map_err(failed)?;
    if metadata.len() > MAX_FILE_BYTES {
        let bytes = metadata.len();
        return Err(format!("{name} has {bytes} bytes, and agents get at most {MAX_FILE_BYTES}: make it shorter"));
    }
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut open, &mut hash).map_err(failed)?;
    if bytes != metadata.len() {
        return Err(format!("{name} has changed while it was read: start the load again"));
    }
    let file = File { path: path.to_owned(), bytes, hash: format!("{:x}", hash.finalize()) };
    Ok(Known { file, modified: metadata.modified().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::PIECE_BYTES;

    #[test]
    fn files_are_read_in_pieces_until_they_change() {
        let home = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| home.path().join(name));
        let long = vec![7; PIECE_BYTES + 3];
        fs::write(&paths[0], &long).unwrap();
        fs::write(&paths[1], "").unwrap();
        fs::write(&paths[2], &long).unwrap();
        let (files, offered) = Offered::of(paths.clone()).unwrap();
        assert_eq!(files.iter().map(|file| file.bytes).collect::<Vec<_>>(), [long.len() as u64, 0, long.len() as u64]);
        assert!(files[0].hash == files[2].hash && offered.bytes() == long.len() as u64);
        assert_eq!(files[1].hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(files.iter().all(|file| file.check().is_ok()));
        let hash = &files[0].hash;
        let read = |offset: usize| offered.read(hash, offset as u64).unwrap().len();
        assert_eq!([read(0), read(PIECE_BYTES), read(long.len()), read(usize::MAX)], [PIECE_BYTES, 3, 0, 0]);
        assert!(offered.read("x", 0).unwrap_err().contains("does not name"));
        for (contents, needle) in [(Some("short"), "has changed"), (None, "cannot read")] {
            match contents {
                Some(contents) => fs::write(&paths[0], contents).unwrap(),
                None => fs::remove_file(&paths[0]).unwrap(),
            }
            let why = offered.read(hash, 0).unwrap_err();
            assert!(why.contains(needle) && why.contains(&paths[0].display().to_string()), "{why}");
        }
        for (path, needle) in [(home.path().join("none"), "cannot read"), (home.path().to_owned(), "no regular file")] {
            let why = Offered::of([path.clone()]).unwrap_err();
            assert!(why.contains(needle) && why.contains(&path.display().to_string()), "{why}");
        }
        let large = home.path().join("large");
        fs::File::create(&large).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        assert!(Offered::of([large]).unwrap_err().contains("at most 1073741824"));
    }
}
