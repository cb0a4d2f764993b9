//! The test commands that stand in documents, scripts and comments run something: packages, test targets and examples exist, and
//! each filter is part of the path of a test.

mod targets;
mod text;

use super::layers::crates;
use std::fs;
use std::path::{Path, PathBuf};
use targets::{Package, packages};
use text::{Command, Kind, commands};

/// Flags whose value is a word of its own.
const WITH_VALUE: [&str; 10] = [
    "--features",
    "-F",
    "--manifest-path",
    "--target",
    "--target-dir",
    "--profile",
    "-j",
    "--bin",
    "--exclude",
    "--test-threads",
];

/// The words of a command, by what they mean.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    packages: Vec<String>,
    tests: Vec<String>,
    examples: Vec<String>,
    filters: Vec<String>,
    /// `--lib` or `--bins`: tests below `src`.
    is_src: bool,
}

impl Asked {
    fn read(words: &[String]) -> Self {
        let mut asked = Self::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (flag, joined) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
            let place = match flag {
                "-p" | "--package" => &mut asked.packages,
                "--test" => &mut asked.tests,
                "--example" => &mut asked.examples,
                "--skip" => &mut asked.filters,
                "--lib" | "--bins" => {
                    asked.is_src = true;
                    continue;
                }
                flag if flag.starts_with('-') => {
                    if joined.is_none() && WITH_VALUE.contains(&flag) {
                        words.next();
                    }
                    continue;
                }
                filter => {
                    asked.filters.push(filter.to_owned());
                    continue;
                }
            };
            place.extend(joined.or_else(|| words.next()).map(str::to_owned));
        }
        asked
    }

    /// What of it does not exist.
    fn faults(&self, all: &[Package]) -> Vec<String> {
        let mut faults = Vec::new();
        for name in self.packages.iter().filter(|name| !all.iter().any(|package| package.name == **name)) {
            faults.push(format!("there is no package {name}"));
        }
        let is_asked = |package: &&Package| self.packages.is_empty() || self.packages.contains(&package.name);
        let packages: Vec<&Package> = all.iter().filter(is_asked).collect();
        if packages.is_empty() {
            return faults;
        }
        for name in self.tests.iter().filter(|name| !packages.iter().any(|package| package.has_test(name))) {
            faults.push(format!("there is no test target {name}"));
        }
        for name in self.examples.iter().filter(|name| !packages.iter().any(|package| package.has_example(name))) {
            faults.push(format!("there is no example {name}"));
        }
        let paths: Vec<String> = packages.iter().flat_map(|package| package.paths(&self.tests, self.is_src)).collect();
        for filter in self.filters.iter().filter(|filter| !paths.iter().any(|path| path.contains(*filter))) {
            faults.push(format!("no test has {filter} in its path"));
        }
        faults
    }
}

/// Files below a folder with one of these extensions, without build output.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !["target", "node_modules"].contains(&&*name) {
                files(&path, extensions, found);
            }
        } else if path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension)) {
            found.push(path);
        }
    }
}

/// Each file that may hold commands, and how it is read.
fn sources(root: &Path) -> Vec<(PathBuf, Kind)> {
    let mut found: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "AGENTS.md"].map(|name| root.join(name)).into();
    found.retain(|path| path.exists());
    files(&root.join("docs"), &["md"], &mut found);
    files(&root.join("crates"), &["rs", "md", "sh"], &mut found);
    let scripts = fs::read_dir(root.join(".ci")).into_iter().flatten().map(|entry| entry.unwrap().path());
    found.extend(scripts.filter(|path| path.is_file()));
    let kind = |path: &Path| match path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => Kind::Markdown,
        Some("rs") => Kind::Rust,
        _ => Kind::Shell,
    };
    found.into_iter().map(|path| (path.clone(), kind(&path))).collect()
}

#[test]
fn every_test_command_finds_what_it_names() {
    let root = crates().join("..").canonicalize().unwrap();
    let packages = packages(&root.join("crates"));
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, kind) in sources(&root) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for Command { line, words } in commands(&text, kind) {
            count += 1;
            let place = path.strip_prefix(&root).unwrap().display();
            let faults = Asked::read(&words).faults(&packages);
            wrong.extend(faults.iter().map(|fault| format!("{place}:{line}: {fault}: {}", words.join(" "))));
        }
    }
    assert!(count > 30, "only {count} commands were found");
    assert!(wrong.is_empty(), "{} of {count} commands name what is not there:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_words_of_a_command_are_told_apart() {
    let words =
        "--locked -p one --test=two --features f --example three four -- five --test-threads 1 --skip six --nocapture";
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let of = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let expected = Asked {
        packages: of(&["one"]),
        tests: of(&["two"]),
        examples: of(&["three"]),
        filters: of(&["four", "five", "six"]),
        is_src: false,
    };
    assert_eq!(Asked::read(&words), expected);
}
