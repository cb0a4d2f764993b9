//! wrk's scripts, run as they are: `setup`, `init`, `request`, `response`, `delay` and `done` in Luau, which reads the Lua
//! they are written in (`docs/guide/scripts.md` lists what it does not read).
//!
//! As in wrk, each load thread has a machine of its own, and one more runs `setup` and `done`. They share nothing; what
//! `thread:set` and `thread:get` pass between them is copied. Nothing here opens a connection of the load
//! or knows when a request is due.

mod address;
mod batch;
mod environment;
mod files;
mod modules;
mod plain;
mod runner;
mod statistics;
#[cfg(test)]
mod tests;
mod thread;

pub use brunt_luau::{Limits, ScriptError};
pub use statistics::{Errors, Numbers, Summary};

use crate::http::source::Script;
use brunt_luau::{Kind, Vm, mlua};
use plain::{Globals, Plain};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};
use thread::{Slot, Threads};

/// What a script may use: 1 GiB for each thread, a second for each request or response, and a minute for everything else.
pub const LIMITS: Limits = Limits { memory: 1 << 30, start: Duration::from_secs(60), call: Duration::from_secs(1) };

/// What the command line says, as scripts see it in `wrk` and in the arguments of `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The URL as typed: argument 0.
    pub url: String,
    /// `http`.
    pub scheme: String,
    /// Without brackets.
    pub host: String,
    /// If one was typed.
    pub port: Option<u16>,
    /// With the query.
    pub path: String,
    /// If one was typed.
    pub method: Option<String>,
    /// Name and value of `-H`.
    pub headers: Vec<(String, String)>,
    /// If one was typed.
    pub body: Option<Vec<u8>>,
    /// What the host stands for, at least one.
    pub addresses: Vec<SocketAddr>,
    /// What followed `--`.
    pub arguments: Vec<String>,
}

/// What all machines of a run are made of.
#[derive(Debug)]
struct Common {
    name: String,
    directory: PathBuf,
    text: String,
    facts: Facts,
    limits: Limits,
}

/// What goes to the load threads and what comes back from them.
#[derive(Debug)]
struct Exchange {
    common: Common,
    /// Where each thread connects.
    addresses: Vec<SocketAddr>,
    /// What `setup` has set, for each thread.
    set: Vec<Vec<(String, Plain)>>,
    /// What each thread leaves behind, if there is a `done` to ask for it.
    left: Option<Vec<Mutex<Option<Globals>>>>,
}

/// A wrk script and the machine that runs its `setup` and `done`.
#[derive(Debug)]
pub struct Wrk {
    vm: Vm,
    exchange: Arc<Exchange>,
    threads: Threads,
    done: Option<mlua::Function>,
}

impl Wrk {
    /// Reads the script at `path` for a run on `threads` load threads, and calls its `setup` for each.
    ///
    /// # Errors
    /// If it cannot be read or compiled, or fails.
    pub fn open(path: &Path, facts: Facts, threads: usize) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|error| ScriptError::unreadable(path, error))?;
        let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::new(Common { name: path.to_string_lossy().into_owned(), directory, text, facts, limits: LIMITS }, threads)
    }

    fn new(common: Common, count: usize) -> Result<Self, ScriptError> {
        let (vm, known) = environment::machine(&common)?;
        let fault = |error: mlua::Error| ScriptError::new(Kind::Script, &common.name, error);
        vm.run(&common.text)?;
        let (setup, done) = (vm.function("setup")?, vm.function("done")?);
        let first = common.facts.addresses[0];
        let threads = Threads::new((0..count).map(|_| Slot::new(first)).collect());
        if let Some(setup) = setup {
            threads.remember(plain::globals(vm.lua(), &known));
            for number in 0..count {
                let thread = threads.handle(vm.lua(), number).map_err(fault)?;
                vm.call_within::<()>(common.limits.start, &setup, thread)?;
            }
        }
        let left = done.is_some().then(|| (0..count).map(|_| Mutex::new(None)).collect());
        let exchange = Arc::new(Exchange { addresses: threads.addresses(), set: threads.take_set(), left, common });
        Ok(Self { vm, exchange, threads, done })
    }

    /// What the engine makes the source of each load thread with.
    pub fn script(&self) -> Script {
        let exchange = Arc::clone(&self.exchange);
        Script::new(move |thread| runner::source(&exchange, thread))
    }

    /// The address that each load thread is to connect to: that of the target, unless `setup` said otherwise.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.exchange.addresses
    }

    /// Whether there is a `done` that wants to hear what became of the run.
    pub fn has_done(&self) -> bool {
        self.done.is_some()
    }

    /// Calls `done`, if there is one. Comes after the run: what the threads left behind can be asked for only then.
    ///
    /// # Errors
    /// If the script fails.
    pub fn done(&self, summary: &Summary, latency: &Numbers, requests: &Numbers) -> Result<(), ScriptError> {
        let Some(done) = &self.done else { return Ok(()) };
        for (number, left) in self.exchange.left.iter().flatten().enumerate() {
            let globals = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            self.threads.leave(number, globals.unwrap_or_default());
        }
        let lua = self.vm.lua();
        let arguments = (|| Ok((summary.table(lua)?, latency.object(lua)?, requests.object(lua)?)))();
        let arguments: (mlua::Table, mlua::AnyUserData, mlua::AnyUserData) =
            arguments.map_err(|error: mlua::Error| ScriptError::new(Kind::Error, &self.exchange.common.name, error))?;
        self.vm.call_within(self.exchange.common.limits.start, done, arguments)
    }
}
