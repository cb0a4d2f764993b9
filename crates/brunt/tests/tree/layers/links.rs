//! Relative links in Markdown files, and the paths of this repository that they name, exist.

use super::crates;
use std::{fs, path::Path};

/// Markdown files below a folder. Build output and goldens, whose charts are not stored, are left out.
fn markdown(dir: &Path, files: &mut Vec<std::path::PathBuf>) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !["target", "golden", "node_modules"].contains(&&*name) {
            markdown(&path, files);
        } else if name.ends_with(".md") {
            files.push(path);
        }
    }
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_in_markdown_lead_somewhere() {
    let root = crates().join("..").canonicalize().unwrap();
    let (mut files, mut dead) = (Vec::new(), Vec::new());
    ["docs", "crates", "peers", "experiments"].iter().for_each(|folder| markdown(&root.join(folder), &mut files));
    files.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next());
        // `crate::` leads to an item in a page that rustdoc includes, and which it checks.
        for link in links.filter(|link| !link.contains("://") && !link.starts_with("crate::")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            let has = |text: String| text.lines().any(|line| line.starts_with('#') && anchor(line) == fragment);
            if !target.exists() || !fragment.is_empty() && !fs::read_to_string(&target).is_ok_and(has) {
                dead.push(format!("{}: {link}", file.display()));
            }
        }
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c)) {
            let word = word.trim_end_matches(['.', '/']);
            let is_path = word.starts_with("docs/") || word.starts_with("crates/") || word.starts_with("experiments/");
            if is_path && !root.join(word).exists() {
                dead.push(format!("{}: {word}", file.display()));
            }
        }
    }
    assert!(files.len() > 25 && dead.is_empty(), "{} files; not found:\n{}", files.len(), dead.join("\n"));
}
