//! Comparison with a golden file. `BRUNT_GOLDEN=write` rewrites the files; review the difference.

use std::{env, fs, path::Path};

/// Compares text with a file.
#[track_caller]
pub fn golden(file: impl AsRef<Path>, actual: &str) {
    let file = file.as_ref();
    if env::var("BRUNT_GOLDEN").is_ok_and(|word| word == "write") {
        fs::write(file, actual).unwrap();
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    let lines = || expected.lines().zip(actual.lines()).zip(1..);
    let differs = lines().find(|((expected, actual), _)| expected != actual);
    let at = differs
        .map_or(String::new(), |((expected, actual), line)| format!("\nline {line} was {expected}\nand is {actual}"));
    assert!(expected == actual, "{} differs{at}; it is now\n{actual}", file.display());
}
