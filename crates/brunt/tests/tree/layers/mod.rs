//! Checks the layering that CONTRIBUTING.md describes (crates by their manifests, files by their imports) and the links of
//! all Markdown files.

mod imports;
mod links;
mod tokens;

use imports::Crate;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The crate that tests share: every crate may use it, for its tests alone.
const TESTKIT: &str = "testkit";

/// The crates with `unsafe` code. [`TESTKIT`] has one block: what a test program does between fork and exec.
const UNSAFE: [&str; 3] = ["runtime", "meter", TESTKIT];

/// Each crate and the crates of the workspace that it may use, from bottom to top.
const LAYERS: [(&str, &[&str]); 22] = [
    (TESTKIT, &[]),
    ("runtime", &[]),
    ("wire", &[]),
    ("results", &[]),
    ("tls", &[]),
    ("luau", &[]),
    ("multiprocess", &[]),
    ("fleet", &[]),
    ("diagnostic", &[]),
    ("spec", &["results"]),
    ("meter", &["results"]),
    ("stress", &["results"]),
    ("serve", &["runtime", "wire", "results", "tls", "luau", "multiprocess", "diagnostic"]),
    ("load", &["runtime", "wire", "results", "spec", "tls", "luau", "multiprocess"]),
    ("inputs", &["results", "runtime"]),
    ("client", &["tls", "wire"]),
    ("statistics", &["results"]),
    ("slices", &["results", "statistics"]),
    ("lab", &["meter", "results", "slices", "spec", "statistics", "tls", "diagnostic"]),
    ("colocate", &["meter", "inputs", "client", "wire", "results"]),
    ("view", &["lab", "serve", "meter", "inputs", "client", "spec", "statistics", "runtime", "wire", "results"]),
    (
        "brunt",
        &[
            "view",
            "lab",
            "colocate",
            "serve",
            "load",
            "meter",
            "inputs",
            "runtime",
            "results",
            "slices",
            "spec",
            "tls",
            "multiprocess",
            "diagnostic",
            "stress",
            "fleet",
        ],
    ),
];

/// Imports that close a circle and are still allowed: crate, importing file, imported file.
const ALLOWED_CIRCLES: [(&str, &str, &str); 0] = [];

pub fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(path: &Path) -> toml::Table {
    fs::read_to_string(path).unwrap().parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every table of dependencies of a manifest: normal, build, dev, workspace and by target. Each dependency has the name of its
/// table.
fn dependencies(manifest: &toml::Table) -> Vec<(String, String, toml::Value)> {
    let mut found = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        match key.ends_with("dependencies") {
            true => found.extend(table.iter().map(|(name, value)| (key.clone(), name.clone(), value.clone()))),
            false => found.extend(dependencies(table)),
        }
    }
    found
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(crates()).unwrap().flatten().filter(|entry| entry.path().join("Cargo.toml").exists()) {
        let name = entry.file_name().into_string().unwrap();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            panic!("crates/{name} has no layer: add it here and to CONTRIBUTING.md");
        };
        for (table, dependency, _) in dependencies(&manifest(&entry.path().join("Cargo.toml"))) {
            let Some(dependency) = dependency.strip_prefix("brunt-").filter(|dependency| *dependency != name) else {
                continue;
            };
            if dependency == TESTKIT {
                assert!(
                    table == "dev-dependencies",
                    "crates/{name}: {TESTKIT} belongs to dev-dependencies, not {table}"
                );
                continue;
            }
            assert!(allowed.contains(&dependency), "crates/{name} must not depend on crates/{dependency}");
        }
        found.insert(name);
    }
    assert_eq!(found.len(), LAYERS.len(), "a crate in LAYERS does not exist");
}

/// The feature of the simulated world is for tests: no release build has it.
#[test]
fn only_tests_ask_for_the_simulated_world() {
    let is_sim = |feature: &str| feature == "sim" || feature.ends_with("/sim");
    let strings = |value: &toml::Value| {
        value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let members = fs::read_dir(crates()).unwrap().flatten().map(|entry| entry.path().join("Cargo.toml"));
    let mut asking = 0;
    for path in members.chain([crates().join("../Cargo.toml")]).filter(|path| path.exists()) {
        let (manifest, place) = (manifest(&path), path.display());
        for (table, name, value) in dependencies(&manifest) {
            if value.get("features").is_some_and(|features| strings(features).iter().any(|name| is_sim(name))) {
                assert!(table == "dev-dependencies", "{place}: {name} has the feature sim in {table}");
                asking += 1;
            }
        }
        for (feature, implied) in manifest.get("features").and_then(toml::Value::as_table).into_iter().flatten() {
            let implies = strings(implied).iter().any(|name| is_sim(name));
            assert!(!implies || feature == "sim", "{place}: the feature {feature} implies sim");
        }
    }
    assert!(asking > 0, "no test is simulated");
}

/// Pages name the sources that decide their figures: all of the workspace but the command line and users' files, plans, reports
/// and views, what reads these, what no command uses yet, and what tests share.
#[test]
fn the_sources_of_the_other_crates_are_hashed() {
    let names = env!("BRUNT_SOURCE_HASHES").split(' ').map(|word| word.split_once('=').unwrap().0);
    let expected = LAYERS.map(|(name, _)| name).into_iter().filter(|name| {
        !["brunt", "client", "diagnostic", "fleet", "inputs", "lab", "slices", "spec", "statistics", "view", TESTKIT]
            .contains(name)
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), expected.collect());
}

#[test]
fn no_dependency_has_an_alias() {
    let manifests = fs::read_dir(crates()).unwrap().flatten().map(|entry| entry.path().join("Cargo.toml"));
    for path in manifests.chain([crates().join("../Cargo.toml")]).filter(|path| path.exists()) {
        for (_, name, value) in dependencies(&manifest(&path)) {
            assert!(value.get("package").is_none(), "{}: {name} is an alias", path.display());
        }
    }
}

/// The compiler checks it in the crates without: those with `forbid(unsafe_code)`.
#[test]
fn unsafe_code_is_in_few_crates() {
    for (name, _) in LAYERS {
        let roots = ["lib.rs", "main.rs"].map(|root| crates().join(name).join("src").join(root));
        let roots: Vec<&PathBuf> = roots.iter().filter(|root| root.exists()).collect();
        assert!(!roots.is_empty(), "crates/{name} has no root");
        for root in roots {
            let text = fs::read_to_string(root).unwrap();
            let forbids = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
            let place = root.display();
            assert!(forbids || UNSAFE.contains(&name), "{place}: add #![forbid(unsafe_code)]");
            assert!(!forbids || !UNSAFE.contains(&name), "{place} forbids unsafe code: take crates/{name} from UNSAFE");
        }
    }
    let sources = fs::read_dir(crates().join(TESTKIT).join("src")).unwrap().map(|entry| entry.unwrap().path());
    let blocks: usize = sources.map(|path| fs::read_to_string(path).unwrap().matches("unsafe {").count()).sum();
    assert_eq!(blocks, 1, "unsafe blocks in crates/{TESTKIT}");
}

/// A child may import from its ancestors, whose re-exports are followed to the file that defines the name; any other import
/// that leads back to its file is a circle.
#[test]
fn files_import_each_other_without_circles() {
    let mut unused: BTreeSet<_> = ALLOWED_CIRCLES.into_iter().collect();
    let mut failures = Vec::new();
    for (name, _) in LAYERS {
        let mut imports = Crate::read(&crates().join(name).join("src")).imports();
        for (_, from, to) in ALLOWED_CIRCLES.iter().filter(|(krate, ..)| *krate == name) {
            if imports.contains_key(*from) && imports::path(&imports, to, from).is_some() {
                imports.get_mut(*from).unwrap().remove(*to);
                unused.remove(&(name, *from, *to));
            }
        }
        while let Some(circle) = imports::circle(&imports) {
            failures.push(format!("(\"{name}\", \"{}\", \"{}\"), // {}", circle[0], circle[1], circle.join(" -> ")));
            imports.get_mut(&circle[0]).unwrap().remove(&circle[1]);
        }
    }
    assert!(failures.is_empty(), "{} circles:\n{}", failures.len(), failures.join("\n"));
    assert!(unused.is_empty(), "no longer circles, remove them from the list: {unused:?}");
}

#[test]
fn imports_are_found_in_any_form() {
    let sources = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::Name;\n#[cfg(test)] mod tests { use crate::c::X; }"),
        ("a.rs", "use crate::{Name as N, c::{self, d::D}};"),
        ("b.rs", "// use crate::a::A;\nfn f() { \"crate::a\"; 'x'; r#\"crate::a\"#; super::c::d::g::<'static>() }"),
        (
            "c/mod.rs",
            "pub mod d;\nmod inner { use super::d; fn f() { super::super::a::f() } }\n#[cfg(test)] mod tests;",
        ),
        ("c/d.rs", "use super::super::a; use super::*;"),
        ("c/tests.rs", "use crate::b;"),
        (
            "e.rs",
            "#[cfg(any(test, feature = \"sim\"))] use crate::b;\n#[cfg(not(test))] use crate::c;\n\
             #[cfg(all(test, not(loom)))] use crate::a;\n#[cfg(any(test, all(test, unix)))] use crate::a;",
        ),
    ];
    let imports = Crate::of(sources.map(|(path, text)| (path.to_owned(), text.to_owned())).into()).imports();
    let of = |file: &str| imports[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("lib.rs"), ["b.rs"]);
    assert_eq!(of("a.rs"), ["b.rs", "c/d.rs", "c/mod.rs"]);
    assert_eq!(of("b.rs"), ["c/d.rs"]);
    assert_eq!(of("c/mod.rs"), ["a.rs", "c/d.rs"]);
    assert_eq!(of("c/d.rs"), ["a.rs"]);
    assert_eq!(of("e.rs"), ["b.rs", "c/mod.rs"]);
    assert!(!imports.contains_key("c/tests.rs"));
    assert_eq!(imports::circle(&imports).unwrap().len(), 3);
}
