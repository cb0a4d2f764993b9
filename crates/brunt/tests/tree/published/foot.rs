//! The lines at the foot of a published page that name program, sources and command.

use std::collections::BTreeMap;

/// Hashes of sources by crate.
pub type Hashes = BTreeMap<String, String>;

/// What a page names: a list of hashes for each program that measured, in most pages one.
#[derive(Debug, PartialEq)]
pub struct Foot(Vec<Hashes>);

impl Foot {
    /// `exists` tells whether the workspace has a crate of that name.
    pub fn read(text: &str, exists: impl Fn(&str) -> bool) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        if !lines.iter().any(|line| line.contains("; brunt ")) {
            return Err("no line names machine, kernel and brunt".to_owned());
        }
        if !lines.iter().any(|line| line.starts_with("Started ") && line.contains(" as `")) {
            return Err("no line names start and command".to_owned());
        }
        let named = lines.iter().filter_map(|line| line.strip_prefix("Source hashes: "));
        let programs: Result<Vec<Hashes>, String> = named.map(hashes).collect();
        let foot = Self(programs?);
        match foot.0.iter().flat_map(|hashes| hashes.keys()).find(|name| !exists(name)) {
            Some(name) => Err(format!("names crate '{name}', which does not exist")),
            None => Ok(foot),
        }
    }

    /// The crates whose sources have other hashes now, as a cell of the index.
    pub fn changed(&self, now: &Hashes) -> String {
        if self.0.is_empty() {
            return "published before hashes were kept".to_owned();
        }
        let differs = |(name, hash): &(&String, &String)| now.get(*name) != Some(hash);
        let mut names: Vec<&str> = self.0.iter().flatten().filter(differs).map(|(name, _)| name.as_str()).collect();
        names.sort();
        names.dedup();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// `CRATE HASH, CRATE HASH`.
fn hashes(list: &str) -> Result<Hashes, String> {
    let is_hash = |hash: &str| hash.len() == 8 && hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let pair = |words: &str| match words.split_once(' ').filter(|(_, hash)| is_hash(hash)) {
        Some((name, hash)) => Ok((name.to_owned(), hash.to_owned())),
        None => Err(format!("'{words}' is not a crate and a hash of eight digits")),
    };
    list.split(", ").map(pair).collect()
}

#[test]
fn a_foot_says_what_has_changed() {
    let head = "# page\n\n- A CPU; Linux; brunt 0.1.0 (00c0ffee)\n";
    let tail = "- Started 2026-11-24 00:29 UTC as `brunt run quick`, seed 1, plan 0\n";
    let read = |lines: &str| Foot::read(&format!("{head}{lines}{tail}"), |name| ["load", "serve"].contains(&name));
    let now = hashes("load 00000001, serve 00000002, wire 00000003").unwrap();
    let changed = |lines: &str| read(lines).map(|foot| foot.changed(&now));
    for (lines, expected) in [
        ("", "published before hashes were kept"),
        ("- Source hashes: load 00000001, serve 00000002\n", "none"),
        ("- Source hashes: load 00000001, serve 0000000a\n", "serve"),
        (
            "- Source hashes: load 0000000a, serve 00000002\n- Source hashes: load 00000001, serve 0000000a\n",
            "load, serve",
        ),
    ] {
        assert_eq!(changed(lines).as_deref(), Ok(expected), "{lines}");
    }
    for (lines, expected) in [
        ("- Source hashes: lode 00000001\n", "names crate 'lode', which does not exist"),
        ("- Source hashes: load 0001\n", "'load 0001' is not a crate and a hash of eight digits"),
        ("- Source hashes: load\n", "'load' is not a crate and a hash of eight digits"),
        ("- Source hashes: \n", "'' is not a crate and a hash of eight digits"),
    ] {
        assert_eq!(changed(lines).unwrap_err(), expected, "{lines}");
    }
    let failure = |text: &str| Foot::read(text, |_| true).unwrap_err();
    assert_eq!(failure(head), "no line names start and command");
    assert_eq!(failure(tail), "no line names machine, kernel and brunt");
}
