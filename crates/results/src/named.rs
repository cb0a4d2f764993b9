//! Files that a load names, wherever it names them: a load on another machine is read there from copies.
//!
//! What reads such a file asks [`place`] first. On the thread that calls [`noted`] the names are collected; on one that calls [`copied`]
//! each name is that of a copy, and nothing else is read, so that a description which comes from elsewhere reaches no other file. What reads
//! files on other threads, such as a script, takes the [`Named`] of the thread that has prepared it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files of one load, for any thread.
#[derive(Debug, Clone, Default)]
pub struct Named(Arc<Mutex<Places>>);

#[derive(Debug, Clone, Default)]
enum Places {
    /// Files are read where they are.
    #[default]
    Here,
    /// The same, and their names are collected.
    Noted(BTreeSet<PathBuf>),
    /// Copies by name.
    Copied(BTreeMap<PathBuf, PathBuf>),
}

thread_local! {
    static NAMED: RefCell<Named> = RefCell::default();
}

impl Named {
    /// Those of this thread.
    pub fn of_thread() -> Self {
        NAMED.with_borrow(Self::clone)
    }

    /// Where the file of this name is read.
    ///
    /// # Errors
    /// There are copies, and none of this file.
    pub fn place(&self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        let name = name.as_ref();
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Places::Here => Ok(name.to_owned()),
            Places::Noted(names) => {
                names.insert(name.to_owned());
                Ok(name.to_owned())
            }
            Places::Copied(copies) => match copies.get(name) {
                Some(copy) => Ok(copy.clone()),
                None => Err(io::Error::new(io::ErrorKind::NotFound, "it is no file of the load that was sent")),
            },
        }
    }

    /// Whether there is a file of this name.
    pub fn is_file(&self, name: &Path) -> bool {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Places::Here | Places::Noted(_) => name.is_file(),
            Places::Copied(copies) => copies.contains_key(name),
        }
    }
}

/// Where the file of this name is read on this thread.
///
/// # Errors
/// There are copies, and none of this file.
pub fn place(name: impl AsRef<Path>) -> io::Result<PathBuf> {
    Named::of_thread().place(name)
}

/// The names of the files that `read` reads on this thread, beside what it returns.
pub fn noted<T>(read: impl FnOnce() -> T) -> (T, BTreeSet<PathBuf>) {
    match within(Places::Noted(BTreeSet::new()), read) {
        (value, Places::Noted(names)) => (value, names),
        (value, _) => (value, BTreeSet::new()),
    }
}

/// What `read` returns where it reads these copies, by name, instead of the files.
pub fn copied<T>(copies: BTreeMap<PathBuf, PathBuf>, read: impl FnOnce() -> T) -> T {
    within(Places::Copied(copies), read).0
}

fn within<T>(places: Places, read: impl FnOnce() -> T) -> (T, Places) {
    let own = Named(Arc::new(Mutex::new(places)));
    let before = NAMED.replace(own.clone());
    let value = read();
    NAMED.set(before);
    let places = own.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (value, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_collected_and_copies_take_their_place() {
        let ((), names) =
            noted(|| ["b", "a", "b"].iter().for_each(|name| assert_eq!(place(name).unwrap(), Path::new(name))));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [PathBuf::from("a"), PathBuf::from("b")]);
        copied([("a".into(), "/copies/1".into())].into(), || {
            assert_eq!(place("a").unwrap(), Path::new("/copies/1"));
            assert!(["b", "/copies/1", "./a"].iter().all(|name| place(name).is_err()));
        });
        assert_eq!(place("b").unwrap(), Path::new("b"));
    }

    #[test]
    fn files_of_a_load_are_the_same_on_other_threads() {
        let named = copied([("a".into(), "/copies/1".into())].into(), Named::of_thread);
        let read = || {
            assert_eq!(named.place("a").unwrap(), Path::new("/copies/1"));
            assert!(named.is_file(Path::new("a")) && !named.is_file(Path::new("/")) && named.place("/").is_err());
        };
        std::thread::scope(|scope| scope.spawn(read).join().unwrap());
        let ((), names) = noted(|| _ = Named::of_thread().place("c"));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [PathBuf::from("c")]);
    }
}
