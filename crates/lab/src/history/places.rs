//! The list of result directories: a text file with one path per line.
//!
//! It cannot be rebuilt, so it is only appended to or replaced atomically.

use super::database::lock;
use crate::fs_error::with_path;
use brunt_results::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf, absolute};
use std::{fs, fs::File, io};

#[derive(Debug)]
pub(super) struct Places {
    folder: PathBuf,
}

impl Places {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("places")
    }

    pub(super) fn all(&self) -> Result<Vec<String>, Error> {
        match fs::read_to_string(self.path()) {
            Ok(text) => Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(with_path(&self.path())(error).into()),
        }
    }

    pub(super) fn add(&self, place: &str) -> Result<(), Error> {
        let _lock = lock(&self.folder)?;
        if self.all()?.iter().any(|known| known == place) {
            return Ok(());
        }
        let file = File::options().create(true).append(true).open(self.path());
        // The leading newline separates it from a line truncated by a full disk.
        let added = file.and_then(|mut file| file.write_all(format!("\n{place}\n").as_bytes()));
        Ok(added.map_err(with_path(&self.path()))?)
    }

    pub(super) fn replace<'a>(&self, places: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        let _lock = lock(&self.folder)?;
        let text: String = places.into_iter().map(|place| format!("{place}\n")).collect();
        let beside = self.folder.join("places.new");
        let replaced = fs::write(&beside, text).and_then(|()| fs::rename(&beside, self.path()));
        Ok(replaced.map_err(with_path(&self.path()))?)
    }
}

/// The absolute path without symbolic links; the directory need not exist.
pub(super) fn canonical_path(dir: &Path) -> Result<String, Error> {
    let whole = absolute(dir)?;
    let there = whole.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let settled: Option<PathBuf> = there
        .and_then(|(part, real)| Some(real.components().chain(whole.strip_prefix(part).ok()?.components()).collect()));
    let settled = settled.unwrap_or_else(|| whole.clone());
    let line = settled.into_os_string().into_string().ok().filter(|line| !line.contains('\n'));
    line.ok_or_else(|| {
        Error::Failed(format!("{} cannot be indexed: its name is no line of text (UTF-8)", whole.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_name_before_and_after_it_is_made() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        fs::create_dir(real.join("here")).unwrap();
        std::os::unix::fs::symlink(real.join("here"), real.join("link")).unwrap();
        let expected = real.join("here/runs/x").to_str().unwrap().to_owned();
        assert_eq!(canonical_path(&real.join("link/runs/x")).unwrap(), expected);
        fs::create_dir_all(real.join("here/runs/x")).unwrap();
        assert_eq!(canonical_path(&real.join("link/./runs/x/")).unwrap(), expected);
        assert!(canonical_path(&real.join("a\nb")).unwrap_err().to_string().contains("cannot be indexed"));
    }

    #[test]
    fn a_place_is_written_once_and_half_a_line_spoils_no_other() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::in_folder(&home.path().join("deep/state"));
        assert!(places.all().unwrap().is_empty());
        ["/a", "/b", "/a"].iter().for_each(|place| places.add(place).unwrap());
        assert_eq!(places.all().unwrap(), ["/a", "/b"]);
        File::options().append(true).open(places.path()).unwrap().write_all(b"/hal").unwrap();
        places.add("/c").unwrap();
        assert_eq!(places.all().unwrap(), ["/a", "/b", "/hal", "/c"]);
        places.replace(["/c"]).unwrap();
        assert_eq!(places.all().unwrap(), ["/c"]);
    }
}
