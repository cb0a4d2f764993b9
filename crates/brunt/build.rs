//! Hashes the sources of the crates that serve, load and meter, for `env.json` and the foot of reports.
//!
//! The variable `BRUNT_SOURCE_HASHES` of the compiler is `CRATE=HASH` for each, in alphabetical order, with spaces between.
//! Invariants:
//! - A hash depends on the paths and contents of the files in `src/` and on `Cargo.toml`, on nothing else.
//! - Without the sources of the other crates beside this one, as in a package, the variable is empty.

use fnv::FnvHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates of descriptions, plans, statistics, reports, views and users' files, whose code runs before, beside and after a
/// measurement, as this one's does; that of tests; and that of the messages between machines.
const LEFT_OUT: [&str; 10] =
    ["client", "diagnostic", "fleet", "inputs", "lab", "slices", "spec", "statistics", "testkit", "view"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    // A crate that is new is a dependency that is new.
    println!("cargo::rerun-if-changed=Cargo.toml");
    let mut words = Vec::new();
    for entry in own.join("..").read_dir()? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_crate(&folder, &name) || LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        for part in ["Cargo.toml", "src"] {
            println!("cargo::rerun-if-changed={}", folder.join(part).display());
        }
        words.push(format!("{name}={:08x}", hash(&folder)?));
    }
    words.sort();
    println!("cargo::rustc-env=BRUNT_SOURCE_HASHES={}", words.join(" "));
    Ok(())
}

/// Whether the folder has the crate of the workspace with this name.
fn is_crate(folder: &Path, name: &str) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line == format!("name = \"brunt-{name}\""))
}

/// 64-bit FNV-1a, its halves combined.
fn hash(folder: &Path) -> io::Result<u32> {
    let mut files = vec![folder.join("Cargo.toml")];
    add_files(&folder.join("src"), &mut files)?;
    files.sort();
    let mut hash = FnvHasher::default();
    for file in files {
        let path = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
        for bytes in [path.into_bytes(), fs::read(&file)?] {
            hash.write(&(bytes.len() as u64).to_le_bytes());
            hash.write(&bytes);
        }
    }
    Ok((hash.finish() >> 32) as u32 ^ hash.finish() as u32)
}

/// Files below a folder; hidden ones are an editor's.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => add_files(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}
