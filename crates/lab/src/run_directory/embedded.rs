//! Results within an HTML page, so that a page can be compared and printed again without the directory it was made of.
//!
//! The page has one `script` element of JSON: the files of the directory that comparisons and reports read. A page is opened
//! as a temporary directory with these files. A page is not trusted: its size, the names of its files, their contents, and the
//! characters and numbers in them are checked before anything is written.

use super::{Colocated, Experiment, Failure, RunDirectory, TrialRecord};
use brunt_results::{Error, RunResult, directory::Directory, env::Env};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

pub const OPENING: &str = "<script type=\"application/json\" id=\"results\">";
const SCHEMA: &str = "brunt.page/1";

/// Bytes of JSON beyond which a page has no results.
const MOST_WRITTEN: usize = 300_000;
/// Bytes of a page that is read.
const MOST_READ: u64 = 32 << 20;
/// Greatest number in a page, but for seeds: sums of them do not overflow.
const GREATEST: f64 = 1e15;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Page {
    schema: String,
    /// Contents by path, relative to the directory.
    files: BTreeMap<String, Value>,
}

/// The results of a run or a load as JSON; `None` if they are too large for a page.
pub fn embedded(store: &RunDirectory, experiment: &Experiment) -> Option<String> {
    let mut page = Page { schema: SCHEMA.to_owned(), ..Page::default() };
    let mut length = 0;
    let mut add = |path: String, value: Result<Value, io::Error>| {
        let Ok(mut value) = value else { return };
        lean(&mut value);
        length += value.to_string().len() + path.len();
        page.files.insert(path, value);
    };
    if !store.is_load {
        add("experiment.json".to_owned(), Directory::open(store.path()).read_json("experiment.json"));
    }
    let (mut targets, mut is_first) = (BTreeSet::new(), true);
    for (cell, trials) in store.recorded_trials(experiment) {
        for (repeat, _) in trials {
            let place = store.trial(cell.id(), repeat);
            let directory = Directory::open(&place);
            let inside = place.strip_prefix(store.path()).ok()?.to_str()?.to_owned();
            let path = |file: &str| if inside.is_empty() { file.to_owned() } else { format!("{inside}/{file}") };
            for file in ["result.json", "failed.json", Colocated::FILE] {
                add(path(file), directory.read_json(file));
            }
            if targets.insert(&cell.target) {
                add(path("trial.json"), directory.read_json("trial.json"));
            }
            let env = directory.read_json("env.json").map(|mut env: Value| {
                // Equal in all trials.
                if let Some(env) = env.as_object_mut().filter(|_| !is_first) {
                    env.remove("source_hashes");
                    env.insert("command".to_owned(), Value::Array(Vec::new()));
                }
                env
            });
            add(path("env.json"), env);
            is_first = false;
        }
    }
    (length < MOST_WRITTEN).then(|| serde_json::to_string(&page).ok())?
}

/// Removes absent members; control characters, as those of a target's log, become spaces.
fn lean(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(lean);
        }
        Value::Array(values) => values.iter_mut().for_each(lean),
        Value::String(text) if text.contains(is_unsafe) => *text = text.replace(is_unsafe, " "),
        _ => {}
    }
}

/// Whether a terminal may take the character for a command.
fn is_unsafe(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// A directory of results: one that exists, or a temporary one with those of a page, which is removed on drop.
#[derive(Debug)]
pub struct Opened {
    path: PathBuf,
    temporary: Option<PathBuf>,
}

impl Opened {
    /// Opens a directory, or the file of a page.
    ///
    /// # Errors
    /// The file is no page with results, or its results are damaged; or they cannot be written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if !path.is_file() {
            return Ok(Self { path: path.to_owned(), temporary: None });
        }
        let wrong = |why: String| Error::Usage(format!("{}: {why}", path.display()));
        let page = read(path).map_err(wrong)?;
        let temporary = temporary()?;
        let mut opened = Self { path: temporary.clone(), temporary: Some(temporary) };
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("page");
        opened.path.push(name);
        for (file, value) in &page.files {
            let place = opened.path.join(file);
            let written = fs::create_dir_all(place.parent().unwrap_or(&opened.path))
                .and_then(|()| fs::write(&place, value.to_string()));
            written.map_err(|error| Error::Failed(format!("{} of {}: {error}", place.display(), path.display())))?;
        }
        Ok(opened)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_page(&self) -> bool {
        self.temporary.is_some()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.temporary.as_ref().map(fs::remove_dir_all);
    }
}

/// A directory of this user alone.
fn temporary() -> Result<PathBuf, Error> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("brunt-page-{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {}
            Err(error) => return Err(Error::Failed(format!("cannot write to {}: {error}", path.display()))),
        }
    }
}

fn read(path: &Path) -> Result<Page, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > MOST_READ {
        return Err(format!("a page of {} MiB; pages of brunt have {} at most", length >> 20, MOST_READ >> 20));
    }
    let text = fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(text).map_err(|_| no_results())?;
    let (_, rest) = text.split_once(OPENING).ok_or_else(no_results)?;
    let json = rest.split("</script>").next().unwrap_or_default();
    let wrong = |why: String| format!("the results in this page cannot be read ({why}): make it again with --html");
    let page: Page = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    if page.schema != SCHEMA {
        return Err(wrong(format!("their format is '{}', not '{SCHEMA}'", page.schema.escape_debug())));
    }
    for (file, value) in &page.files {
        check(file, value).map_err(|why| wrong(format!("{}: {why}", file.escape_debug())))?;
    }
    let has_results = page.files.contains_key("experiment.json") || page.files.contains_key("result.json");
    if has_results { Ok(page) } else { Err(no_results()) }
}

fn no_results() -> String {
    "no directory, nor a page with results: name a directory that brunt run or brunt load --out has made, or a page of one \
     (brunt report DIR --html FILE); pages of comparisons, of searches, of several runs and of very many trials have none"
        .to_owned()
}

fn check(file: &str, value: &Value) -> Result<(), String> {
    // All parts are names: nothing outside the directory is written.
    let parts: Vec<&str> = file.split('/').collect();
    if !is_inside(file) || file.len() > 1000 || file.contains('\\') {
        return Err("not the path of a file of results".to_owned());
    }
    is_harmless(value, "")?;
    let is_trial =
        matches!(parts.as_slice(), ["trials", .., repeat, _] if parts.len() > 3 && repeat.parse::<u32>().is_ok());
    match (parts.len(), parts[parts.len() - 1]) {
        (1, "experiment.json") => {
            let experiment: Experiment = as_type(value)?;
            let paths = experiment.cells.run.iter().flat_map(|cell| [cell.id(), cell.combination()]);
            match paths.filter(|path| !path.is_empty()).find(|path| !is_inside(path)) {
                Some(path) => Err(format!("'{}' is not the name of a cell", path.escape_debug())),
                None => Ok(()),
            }
        }
        (1, "result.json") => as_type::<RunResult>(value).map(drop),
        (1, "env.json") => as_type::<Env>(value).map(drop),
        (_, "result.json") if is_trial => as_type::<RunResult>(value).map(drop),
        (_, "env.json") if is_trial => as_type::<Env>(value).map(drop),
        (_, "failed.json") if is_trial => as_type::<Failure>(value).map(drop),
        (_, "trial.json") if is_trial => as_type::<TrialRecord>(value).map(drop),
        (_, Colocated::FILE) if is_trial || parts.len() == 1 => as_type::<Colocated>(value).map(drop),
        _ => Err("not the path of a file of results".to_owned()),
    }
}

fn is_inside(path: &str) -> bool {
    // "a//b" and "a/./b" are other spellings, which brunt does not write.
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
        && path.split('/').all(|part| !part.is_empty() && part != "." && part.len() < 256)
}

fn as_type<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// Checks characters and numbers of a value, the member `key` of an object.
fn is_harmless(value: &Value, key: &str) -> Result<(), String> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            is_harmless(&Value::String(key.clone()), "")?;
            is_harmless(value, key)
        }),
        Value::Array(values) => values.iter().try_for_each(|value| is_harmless(value, key)),
        Value::String(text) if text.contains(is_unsafe) => Err(format!("{key} has control characters")),
        Value::Number(number) if key != "seed" && number.as_f64().is_none_or(|value| value.abs() > GREATEST) => {
            Err(format!("{key} is {number}, more than {GREATEST:e}"))
        }
        _ => Ok(()),
    }
}
