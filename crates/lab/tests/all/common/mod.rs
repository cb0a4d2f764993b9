//! Modelled results and golden files, of several modules.

pub mod model;
pub mod summary;

/// Compares text with the file of this name in `tests/golden`.
#[track_caller]
pub fn golden(name: &str, actual: &str) {
    brunt_testkit::golden(golden_file(name), actual);
}

pub fn golden_file(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}
