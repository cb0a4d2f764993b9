//! Programs of `examples/`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of an example of this package, built if only these tests were.
pub fn example(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_brunt")).with_file_name("examples").join(name);
    if !path.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "--quiet", "-p", "brunt", "--example", name]);
        assert!(build.status().unwrap().success());
    }
    path
}
