//! Published pages name the sources that they measured: prints the pages whose crates have changed since.
//!
//! A page that is out of date does not fail the test; a page with a foot that cannot be read does.
//! `UPDATE_RESULTS=1 cargo test -p brunt --test tree published` writes the column of `docs/results/README.md`.

mod foot;
mod index;

use foot::{Foot, Hashes};
use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

fn clone(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The hashes of the sources as they are; cargo keeps them current.
fn hashes_now() -> Hashes {
    let words = env!("BRUNT_SOURCE_HASHES").split_whitespace().map(|word| word.split_once('=').unwrap());
    words.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
}

/// Names of the folders of `docs/results`, in alphabetical order.
fn pages() -> Vec<String> {
    let entries = fs::read_dir(clone("docs/results")).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn foot_of(page: &str) -> Foot {
    let path = clone("docs/results").join(page).join("README.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let exists = |name: &str| clone("crates").join(name).join("Cargo.toml").exists();
    Foot::read(&text, exists).unwrap_or_else(|why| panic!("docs/results/{page}/README.md: {why}"))
}

#[test]
fn pages_tell_which_crates_have_changed_since() {
    let (path, now) = (clone("docs/results/README.md"), hashes_now());
    let published = fs::read_to_string(&path).unwrap();
    let (mut index, mut said) = (published.clone(), String::new());
    for page in pages() {
        let changed = foot_of(&page).changed(&now);
        said += &format!("docs/results/{page}: crates changed since: {changed}\n");
        index =
            index::with_changed(&index, &page, &changed).unwrap_or_else(|why| panic!("docs/results/README.md: {why}"));
    }
    if index != published {
        match std::env::var_os("UPDATE_RESULTS") {
            Some(_) => fs::write(&path, &index).unwrap(),
            None => {
                said += "docs/results/README.md says otherwise: UPDATE_RESULTS=1 cargo test -p brunt --test tree published\n"
            }
        }
    }
    // Standard error itself: the output of a test that passes is not shown.
    stderr().write_all(said.as_bytes()).unwrap();
}

#[test]
fn links_of_the_index_lead_to_pages() {
    let text = fs::read_to_string(clone("docs/results/README.md")).unwrap();
    let (mut found, all) = (index::pages(&text), pages());
    found.sort();
    assert_eq!(found, all, "rows of the table of pages, and folders");
}
