//! Comparison with a golden file. `BRUNT_GOLDEN=write cargo test -p brunt-lab` rewrites the files; review the difference.

use std::{fs, path::Path};

/// Compares text with the file of this name in `tests/golden`.
#[track_caller]
pub fn golden(name: &str, actual: &str) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("BRUNT_GOLDEN").is_ok_and(|word| word == "write") {
        fs::write(&place, actual).unwrap();
    }
    let expected = fs::read_to_string(&place).unwrap_or_default();
    assert!(expected == actual, "{} differs; it is now\n{actual}", place.display());
}
