//! Programs as a shell finds them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A name with a slash is a path, another one is looked for in `PATH`. `None` if it is no file that can be executed.
pub fn find(name: &str) -> Option<PathBuf> {
    let runnable = |path: &Path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runnable(path));
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| runnable(path))
}
