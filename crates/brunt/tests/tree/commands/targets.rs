//! The packages of the workspace, their test targets, and the paths of their tests, from the text of the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The name that stands for tests below `src`.
const SRC: &str = "";

pub struct Package {
    pub name: String,
    folder: PathBuf,
    /// Paths of tests, and of modules that have some, by test target.
    paths: BTreeMap<String, Vec<String>>,
}

impl Package {
    pub fn has_test(&self, name: &str) -> bool {
        self.paths.contains_key(name)
    }

    pub fn has_example(&self, name: &str) -> bool {
        let examples = self.folder.join("examples");
        examples.join(format!("{name}.rs")).exists() || examples.join(name).join("main.rs").exists()
    }

    /// Paths of the tests of these targets, and of those below `src`; of all if none is named.
    pub fn paths(&self, tests: &[String], is_src: bool) -> Vec<String> {
        let is_all = tests.is_empty() && !is_src;
        let is_asked =
            |target: &str| is_all || if target == SRC { is_src } else { tests.iter().any(|test| test == target) };
        self.paths.iter().filter(|(target, _)| is_asked(target)).flat_map(|(_, paths)| paths.clone()).collect()
    }
}

/// Those of a folder of crates.
pub fn packages(crates: &Path) -> Vec<Package> {
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|folder| folder.join("Cargo.toml").exists()).map(|folder| package(&folder)).collect()
}

fn package(folder: &Path) -> Package {
    let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let name = manifest["package"]["name"].as_str().unwrap().to_owned();
    let mut paths = BTreeMap::from([(SRC.to_owned(), below(&folder.join("src"), ""))]);
    let tests = folder.join("tests");
    // Modules that several targets have.
    let shared = below(&tests.join("shared"), "shared");
    for entry in fs::read_dir(&tests).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let own = if entry.join("main.rs").exists() {
            below(&entry, "")
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            tests_of(&fs::read_to_string(&entry).unwrap(), "")
        } else {
            continue;
        };
        let target = entry.file_stem().unwrap().to_string_lossy().into_owned();
        paths.insert(target, [own, shared.clone()].concat());
    }
    Package { name, folder: folder.to_owned(), paths }
}

/// Paths of the tests in the files of a folder, whose module is `module`.
fn below(folder: &Path, module: &str) -> Vec<String> {
    let mut all = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let inner = if module.is_empty() { stem.to_string() } else { format!("{module}::{stem}") };
        if path.is_dir() {
            all.extend(below(&path, &inner));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = stem == "mod" || module.is_empty() && ["main", "lib"].contains(&&*stem);
            all.extend(tests_of(&fs::read_to_string(&path).unwrap(), if is_root { module } else { &inner }));
        }
    }
    all
}

/// Paths of the tests of one file. Modules within the file, and those that its macros make, stand before the names of tests in
/// every combination: a scan of the text does not tell which function is in which.
fn tests_of(text: &str, module: &str) -> Vec<String> {
    let (mut names, mut modules, mut is_test, mut is_macro) = (Vec::new(), vec![String::new()], false, false);
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let words = words(code);
        is_test |= code.contains("#[test]") || code.contains("::test]");
        if is_test && let Some(at) = words.iter().position(|word| *word == "fn") {
            names.extend(words.get(at + 1).map(|name| name.to_string()));
            is_test = false;
        }
        if code.contains('{')
            && let Some(at) = words.iter().position(|word| *word == "mod")
        {
            modules.extend(words.get(at + 1).map(|name| format!("{name}::")));
        }
        if is_macro {
            names.extend(entries(code).into_iter().map(str::to_owned));
        }
        is_macro = if line.starts_with('}') { false } else { is_macro || is_opening(code) };
    }
    let prefix = if module.is_empty() { String::new() } else { format!("{module}::") };
    let of_module = |inner: &String| names.iter().map(|name| format!("{prefix}{inner}{name}")).collect::<Vec<_>>();
    let mut all: Vec<String> = modules.iter().flat_map(of_module).collect();
    // What a macro of this file makes elsewhere.
    all.extend(modules.iter().skip(1).map(|inner| format!("{prefix}{inner}")));
    all
}

fn words(code: &str) -> Vec<&str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// Whether a line opens the body of a macro that is called outside of functions: `name! {`.
fn is_opening(code: &str) -> bool {
    let name = code.trim_end().strip_suffix("! {").unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == ':')
}

/// The names with which a line of such a body begins: those of tests, where the macro makes them.
fn entries(code: &str) -> Vec<&str> {
    let Some(entry) = code.strip_prefix("    ").filter(|entry| entry.starts_with(|c: char| c.is_ascii_lowercase()))
    else {
        return Vec::new();
    };
    let head = entry.split(['{', '(', '"', '=', '<']).next().unwrap_or_default();
    let is_item = ["fn", "async", "pub", "let", "static", "const", "if", "for"].contains(&words(head)[0]);
    if is_item { Vec::new() } else { words(head) }
}

#[test]
fn tests_are_found_in_the_text_of_a_file() {
    let text = "fn helper() {}\n#[test]\n#[ignore = \"long\"]\nfn first() {\n}\nmod tests {\n    #[test]\n    fn second() {}\n}\n\
        on_each! {\n    third\n    fourth\n}\nfn third(word: &str) {}\n";
    let all = tests_of(text, "a::b");
    for path in ["a::b::first", "a::b::tests::second", "a::b::third", "a::b::fourth"] {
        assert!(all.iter().any(|own| own == path), "{path}: {all:?}");
    }
    assert!(!all.iter().any(|path| path.contains("helper")), "{all:?}");
}
