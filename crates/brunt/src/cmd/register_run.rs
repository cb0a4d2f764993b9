//! Registers a directory in the index of results, before and after a measurement. Index errors are warnings and never
//! end a measurement.

use brunt_lab::Error;
use brunt_lab::history::{self, Index};
use std::io::{self, Write as _};
use std::path::Path;

/// Notes `dir` in the index, runs `work`, then adds the results of `dir` to the index.
pub(super) fn registered<T>(dir: &Path, work: impl FnOnce() -> T) -> T {
    let folder = history::folder().and_then(|folder| history::register(&folder, dir).map(|()| folder));
    let done = work();
    let added = folder.and_then(|folder| Index::open(&folder)?.add(dir));
    if let Err(Error::Usage(why) | Error::Failed(why)) = added {
        let _ = writeln!(io::stderr(), "warning: {} is missing from brunt list: {why}", dir.display());
    }
    done
}
