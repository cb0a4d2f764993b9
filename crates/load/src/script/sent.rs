//! A script whose load threads are those of other machines.
//!
//! - `setup` and `done` run where the load was started, once for all threads; agents get what `setup` has set, and send what their
//!   threads leave for `done`.
//! - Load threads have no other files than those that were read before the first request where the load was started, no variables of
//!   their machine, and no connections beside those of the load.

use super::plain::Plain;
use super::{Facts, LIMITS, Program, Transfer, Wrk, runner, source};
use brunt_luau::ScriptError;
use brunt_results::named::Named;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Text of one global above which it is not sent.
const MOST_BYTES: usize = 1 << 20;

/// What load threads begin with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The globals that `setup` has set for each thread.
    set: Vec<Vec<(String, Plain)>>,
    /// The globals of each thread are wanted at its end.
    has_done: bool,
}

type Left = Vec<(Plain, Result<Plain, String>)>;

impl Wrk {
    /// As [`Self::open`], for a load whose threads are those of agents: prepares each thread as agents will, so that the files it reads are
    /// those of the load.
    ///
    /// # Errors
    /// As of [`Self::open`], and what agents cannot do.
    pub fn open_shared(path: &Path, facts: Facts, threads: usize) -> Result<Self, ScriptError> {
        let wrk = Self::new(Program { is_shared: true, ..Program::read(path, facts)? }, threads)?;
        for thread in 0..threads {
            runner::prepare(&wrk.transfer, thread)?;
        }
        Ok(wrk)
    }

    /// What agents get of it, beside its files.
    pub fn setup(&self) -> Setup {
        Setup { set: self.transfer.set.clone(), has_done: self.has_done() }
    }
}

impl Setup {
    /// The script at `path` on an agent.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn script(self, path: &Path, facts: Facts) -> Result<source::Script, ScriptError> {
        let program = Program { is_shared: true, ..Program::read(path, facts)? };
        let count = self.set.len();
        let transfer = Transfer {
            addresses: vec![program.facts.addresses[0]; count],
            set: self.set,
            left: self.has_done.then(|| (0..count).map(|_| Mutex::new(None)).collect()),
            program,
        };
        Ok(super::script_of(&Arc::new(transfer)))
    }
}

impl Program {
    pub(super) fn read(path: &Path, facts: Facts) -> Result<Self, ScriptError> {
        let named = Named::of_thread();
        let text = named.place(path).and_then(std::fs::read_to_string);
        let text = text.map_err(|error| ScriptError::unreadable(path, error))?;
        let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let name = path.to_string_lossy().into_owned();
        Ok(Self { name, directory, text, facts, limits: LIMITS, named, is_shared: false })
    }
}

impl Transfer {
    /// Drops what threads have left.
    pub(super) fn forget(&self) {
        for slot in self.left.iter().flatten() {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl source::Left for Transfer {
    fn take(&self, thread: usize) -> Option<String> {
        let slot = self.left.as_ref()?.get(thread)?;
        let globals = slot.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let sent = |(name, value): (Vec<u8>, Result<Plain, String>)| {
            let bytes = serde_json::to_string(&value).map_or(0, |text| text.len());
            let shown = String::from_utf8_lossy(&name).into_owned();
            let value = match bytes > MOST_BYTES {
                true => {
                    Err(format!("the global {shown} has {bytes} bytes, and an agent sends at most {MOST_BYTES} of it"))
                }
                false => value,
            };
            (Plain::Text(name), value)
        };
        let left: Left = globals.into_iter().map(sent).collect();
        serde_json::to_string(&left).ok()
    }

    fn put(&self, thread: usize, text: &str) -> Result<(), String> {
        let left: Left = serde_json::from_str(text).map_err(|error| format!("what a script has left: {error}"))?;
        let named = left.into_iter().filter_map(|(name, value)| match name {
            Plain::Text(name) => Some((name, value)),
            _ => None,
        });
        if let Some(slot) = self.left.as_ref().and_then(|left| left.get(thread)) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(named.collect());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::facts;
    use super::*;

    const SCRIPT: &str = r#"
        local next = 0
        function setup(thread) next += 1; thread:set("number", next); thread:set("odd", 0/0) end
        function init() local file = io.open("rows.txt"); rows = file and file:read("a"); sum = 0 end
        function request() sum += number; bytes = "\0\255"; return wrk.format("GET", "/" .. number .. rows) end
        function done() end
    "#;

    #[test]
    fn threads_of_an_agent_are_those_of_one_process_and_what_they_leave_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let [path, rows] = ["script.lua", "rows.txt"].map(|name| folder.path().join(name));
        std::fs::write(&path, SCRIPT.replace("rows.txt", &rows.to_string_lossy())).unwrap();
        std::fs::write(&rows, "-row").unwrap();
        let (wrk, names) = brunt_results::named::noted(|| Wrk::open_shared(&path, facts(&[]), 3).unwrap());
        assert!(names.iter().eq([&rows, &path]), "{names:?}");
        let text = serde_json::to_string(&wrk.setup()).unwrap();
        let setup: Setup = serde_json::from_str(&text).unwrap();
        let copies =
            names.iter().map(|name| (name.clone(), folder.path().join("copy").join(name.file_name().unwrap())));
        let copies: std::collections::BTreeMap<_, _> = copies.collect();
        std::fs::create_dir(folder.path().join("copy")).unwrap();
        copies.iter().for_each(|(name, copy)| std::fs::rename(name, copy).unwrap());
        let script = brunt_results::named::copied(copies, || setup.script(&path, facts(&[])).unwrap());
        let mut source = script.source(2).unwrap();
        let mut request = Vec::new();
        source.next(&mut request).unwrap();
        assert!(request.starts_with(b"GET /3-row "), "{}", String::from_utf8_lossy(&request));
        drop(source);
        let left = script.left(2).unwrap();
        assert_eq!(script.left(1), None);
        wrk.script().put_left(2, &left).unwrap();
        let globals = wrk.transfer.left.as_ref().unwrap()[2].lock().unwrap().take().unwrap();
        assert_eq!(globals[&b"sum"[..]], Ok(Plain::Number(3.0)));
        assert_eq!(globals[&b"bytes"[..]], Ok(Plain::Text(vec![0, 255])));
        assert!(matches!(globals[&b"odd"[..]], Ok(Plain::Number(odd)) if odd.is_nan()));
        assert!(wrk.script().put_left(2, "{").is_err());
    }

    #[test]
    fn what_agents_have_not_is_refused_before_the_load_or_at_its_first_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.lua");
        for (text, needle) in [
            ("os.getenv('HOME')", "os.getenv(\"HOME\") and --on"),
            ("function init() wrk.connect(wrk.addrs[1]) end", "wrk.connect on a load thread and --on"),
            ("function init() wrk.thread:stop() end", "thread:stop() and --on"),
            ("function init() io.lines('/no/such/file') end", "/no/such/file"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = Wrk::open_shared(&path, facts(&[]), 1).unwrap_err().to_string();
            assert!(why.contains(needle) && why.contains("script.lua") && !why.contains('\n'), "{text}: {why}");
        }
    }
}
