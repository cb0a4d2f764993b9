//! Which files of a crate import from which, read from the text of its sources without tests.

use super::tokens::{is_name, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The files that each file imports from, without its ancestor modules.
pub type Imports = BTreeMap<String, BTreeSet<String>>;
/// The segments of a module path, from the root of the crate.
type Module = Vec<String>;

/// The sources of one crate, by module.
pub struct Crate {
    files: BTreeMap<Module, File>,
}

struct File {
    path: String,
    /// Paths that occur in the file, absolute.
    paths: Vec<Module>,
    /// Names that the file imports or re-exports, and the paths that they stand for.
    names: BTreeMap<Module, Module>,
    /// Modules declared for tests only.
    tests: Vec<Module>,
}

impl Crate {
    pub fn read(src: &Path) -> Self {
        let mut sources = Vec::new();
        let mut folders = vec![src.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(src).unwrap().to_str().unwrap().to_owned();
                    sources.push((name, fs::read_to_string(path).unwrap()));
                }
            }
        }
        Self::of(sources)
    }

    /// `sources` are paths relative to `src/` and their text.
    pub fn of(sources: Vec<(String, String)>) -> Self {
        let module = |path: &str| -> Module {
            let mut segments: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            let last = segments.last().map_or("", String::as_str);
            if last == "mod" || segments.len() == 1 && (last == "lib" || last == "main") {
                segments.pop();
            }
            segments
        };
        let modules: BTreeSet<Module> = sources.iter().map(|(path, _)| module(path)).collect();
        let file = |(path, text): &(String, String)| {
            let mut scan = Scan::new(module(path), &modules, tokens(text));
            scan.items();
            (module(path), File { path: path.clone(), paths: scan.paths, names: scan.names, tests: scan.tests })
        };
        let mut files: BTreeMap<Module, File> = sources.iter().map(file).collect();
        let tests: Vec<Module> = files.values().flat_map(|file| file.tests.clone()).collect();
        files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { files }
    }

    pub fn imports(&self) -> Imports {
        let of = |(module, file): (&Module, &File)| {
            let targets = file.paths.iter().filter_map(|path| self.resolve(path, 8));
            let others = targets.filter(|target| !module.starts_with(target));
            (file.path.clone(), others.map(|target| self.files[target].path.clone()).collect())
        };
        self.files.iter().map(of).collect()
    }

    /// The module whose file defines what `path` names; follows re-exports.
    fn resolve<'a>(&'a self, path: &[String], depth: u32) -> Option<&'a Module> {
        let (module, file) = (0..=path.len()).rev().find_map(|length| self.files.get_key_value(path.get(..length)?))?;
        let rest = &path[module.len()..];
        match rest.first().and_then(|_| file.names.get(&path[..=module.len()])) {
            Some(target) if depth > 0 => {
                self.resolve(&[target.as_slice(), &rest[1..]].concat(), depth - 1).or(Some(module))
            }
            _ => Some(module),
        }
    }
}

/// A path of imports from one file to another.
pub fn path(imports: &Imports, from: &str, to: &str) -> Option<Vec<String>> {
    let mut came_from = BTreeMap::from([(from.to_owned(), None)]);
    let mut queue = std::collections::VecDeque::from([from.to_owned()]);
    while let Some(file) = queue.pop_front() {
        if file == to {
            let back = std::iter::successors(Some(file), |file| came_from[file].clone());
            let mut path: Vec<String> = back.collect();
            path.reverse();
            return Some(path);
        }
        for next in imports
            .get(&file)
            .into_iter()
            .flatten()
            .filter(|next| !came_from.contains_key(*next))
            .cloned()
            .collect::<Vec<_>>()
        {
            came_from.insert(next.clone(), Some(file.clone()));
            queue.push_back(next);
        }
    }
    None
}

/// The shortest circle, with its first file repeated at the end.
pub fn circle(imports: &Imports) -> Option<Vec<String>> {
    let edges = imports.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let circles = edges.filter_map(|(from, to)| Some([vec![from.clone()], path(imports, to, from)?].concat()));
    circles.min_by_key(Vec::len)
}

/// Reads the tokens of one file.
struct Scan<'a> {
    modules: &'a BTreeSet<Module>,
    tokens: Vec<String>,
    next: usize,
    /// The innermost module, and at which depth of braces each inline one began.
    module: Module,
    inline: Vec<usize>,
    depth: usize,
    paths: Vec<Module>,
    names: BTreeMap<Module, Module>,
    tests: Vec<Module>,
}

impl<'a> Scan<'a> {
    fn new(module: Module, modules: &'a BTreeSet<Module>, tokens: Vec<String>) -> Self {
        let (paths, names, tests) = Default::default();
        Self { modules, tokens, next: 0, module, inline: Vec::new(), depth: 0, paths, names, tests }
    }

    fn at(&self, ahead: usize) -> &str {
        self.tokens.get(self.next + ahead).map_or("", String::as_str)
    }

    fn items(&mut self) {
        while self.next < self.tokens.len() {
            match self.at(0) {
                "#" if self.at(1) == "[" => self.attribute(),
                "mod" if self.at(2) == "{" => {
                    self.module.push(self.at(1).to_owned());
                    self.inline.push(self.depth);
                    self.depth += 1;
                    self.next += 3;
                }
                "use" => {
                    self.next += 1;
                    self.use_tree(&Vec::new(), true);
                }
                "{" => {
                    self.depth += 1;
                    self.next += 1;
                }
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.inline.last() == Some(&self.depth) {
                        self.inline.pop();
                        self.module.pop();
                    }
                    self.next += 1;
                }
                word if is_name(word) => self.path(),
                _ => self.next += 1,
            }
        }
    }

    /// An attribute; with a `cfg` that holds in tests only, also the item behind it.
    fn attribute(&mut self) {
        let start = self.next + 2;
        self.next = start;
        self.skip_to(&["]"]);
        let words = &self.tokens[start..self.next];
        if words[0] != "cfg" || !holds_in_tests_only(words, &mut 2) {
            return;
        }
        while self.at(0) == "#" {
            self.next += 2;
            self.skip_to(&["]"]);
        }
        if self.at(0) == "mod" && self.at(2) == ";" {
            self.tests.push([self.module.as_slice(), &[self.at(1).to_owned()]].concat());
        }
        let is_use = self.at(0) == "use" || self.at(0) == "pub" && self.at(1) == "use";
        self.skip_to(if is_use { &[";"] } else { &[";", "}", ","] });
    }

    /// Skips to behind the next of `ends` that is outside of brackets opened here, or that closes the last one.
    fn skip_to(&mut self, ends: &[&str]) {
        let mut depth = 0usize;
        while self.next < self.tokens.len() {
            let token = self.at(0).to_owned();
            self.next += 1;
            match token.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" if depth > 0 => {
                    depth -= 1;
                    if depth == 0 && ends.contains(&token.as_str()) {
                        return;
                    }
                }
                end if depth == 0 && ends.contains(&end) => return,
                _ => (),
            }
        }
    }

    /// A tree of a `use` below `prefix`, which is absolute unless this is the `first` level.
    fn use_tree(&mut self, prefix: &Module, first: bool) {
        let mut path = prefix.clone();
        let mut is_ours = !first;
        let mut segments = Vec::new();
        loop {
            match self.at(0) {
                "{" => {
                    let base = if first { self.absolute(&segments) } else { Some([path.clone(), segments].concat()) };
                    self.next += 1;
                    while !matches!(self.at(0), "}" | "") {
                        match &base {
                            Some(base) => self.use_tree(base, false),
                            None => self.skip_tree(),
                        }
                        self.next += usize::from(self.at(0) == ",");
                    }
                    self.next += 1;
                    return;
                }
                word if is_name(word) => {
                    segments.push(word.to_owned());
                    self.next += 1;
                }
                "::" => self.next += 1,
                _ => break,
            }
            if self.at(0) == "as" {
                break;
            }
        }
        if first {
            match self.absolute(&segments) {
                Some(absolute) => (path, is_ours) = (absolute, true),
                None => path = segments,
            }
        } else {
            path.extend(segments.into_iter().filter(|segment| segment != "self"));
        }
        let mut name = path.last().cloned();
        if self.at(0) == "as" {
            name = Some(self.at(1).to_owned());
            self.next += 2;
        }
        self.next += usize::from(self.at(0) == "*");
        if is_ours {
            if let Some(name) = name {
                let alias = [self.module.as_slice(), &[name]].concat();
                if alias != path {
                    self.names.insert(alias, path.clone());
                }
            }
            self.paths.push(path);
        }
    }

    /// A branch of a `use` of another crate.
    fn skip_tree(&mut self) {
        let mut depth = 0;
        while !(self.tokens.len() <= self.next || depth == 0 && matches!(self.at(0), "," | "}")) {
            match self.at(0) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => (),
            }
            self.next += 1;
        }
    }

    /// A path outside of a `use`.
    fn path(&mut self) {
        let mut segments = vec![self.at(0).to_owned()];
        self.next += 1;
        while self.at(0) == "::" && is_name(self.at(1)) {
            segments.push(self.at(1).to_owned());
            self.next += 2;
        }
        if segments.len() > 1
            && let Some(path) = self.absolute(&segments)
        {
            self.paths.push(path);
        }
    }

    /// The path from the root of the crate; `None` if it begins with something else than a module of the crate.
    fn absolute(&self, segments: &[String]) -> Option<Module> {
        let mut module = self.module.clone();
        let mut rest = segments;
        match segments.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    module.pop();
                    rest = &rest[1..];
                }
            }
            child if self.modules.contains(&[module.as_slice(), &[child.to_owned()]].concat()) => (),
            _ => return None,
        }
        module.extend(rest.iter().filter(|segment| *segment != "self").cloned());
        Some(module)
    }
}

/// Whether the predicate of a `cfg` that begins at `at` holds in tests only. Moves `at` behind it.
fn holds_in_tests_only(words: &[String], at: &mut usize) -> bool {
    let word = |at: usize| words.get(at).map_or(")", String::as_str);
    let (name, mut parts) = (word(*at), Vec::new());
    *at += 1;
    if word(*at) == "(" {
        *at += 1;
        while word(*at) != ")" {
            match word(*at) {
                "," | "=" => *at += 1,
                _ => parts.push(holds_in_tests_only(words, at)),
            }
        }
        *at += 1;
    }
    match name {
        "all" => parts.contains(&true),
        "any" => !parts.is_empty() && !parts.contains(&false),
        name => name == "test",
    }
}
