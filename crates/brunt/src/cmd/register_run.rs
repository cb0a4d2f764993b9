//! Puts a directory into the index of results, when it begins to be filled and when it is full. What goes wrong with that
//! is said in one line, and is never the end of a measurement.

use brunt_lab::{
    Error,
    history::{self, Index},
};
use std::{
    io::{self, Write as _},
    path::Path,
};

/// Tells the index that there will be results in `dir`; then does the work, and tells it what came of it.
pub(super) fn registered<T>(dir: &Path, work: impl FnOnce() -> T) -> T {
    let noted = history::folder().and_then(|folder| history::register(&folder, dir).map(|()| folder));
    let done = work();
    let added = noted.and_then(|folder| Index::open(&folder)?.add(dir));
    if let Err(Error::Usage(why) | Error::Failed(why)) = added {
        let _ = writeln!(io::stderr(), "warning: brunt list will not know {}: {why}", dir.display());
    }
    done
}
