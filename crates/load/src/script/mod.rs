//! wrk scripts in Luau: `setup`, `init`, `request`, `response`, `delay` and `done`. `docs/guide/scripts.md` lists what Luau
//! does not read of their Lua.
//!
//! As in wrk, each load thread has a virtual machine (VM) of its own, and another one runs `setup` and `done`. They share
//! nothing; values passed by `thread:set` and `thread:get` are copied. Scripts have no access to connections or schedules.

mod environment;
mod files;
mod names;
mod plain;
mod runner;
mod sent;
mod statistics;
#[cfg(test)]
mod tests;
mod thread;

pub use brunt_luau::{Limits, ScriptError};
pub use sent::Setup;
pub use statistics::Numbers;

use crate::http::source;
use brunt_luau::{Kind, Vm, mlua};
use brunt_results::{RunResult, named::Named};
use plain::{Globals, Plain};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{net::SocketAddr, time::Duration};
use thread::ThreadHandle;

/// Limits of scripts: 1 GiB for each thread, a second for each request or response, a minute for everything else.
pub const LIMITS: Limits = Limits { memory: 1 << 30, start: Duration::from_secs(60), call: Duration::from_secs(1) };

/// The command line, as scripts see it in `wrk` and in the arguments of `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The URL as typed: argument 0.
    pub url: String,
    pub scheme: String,
    pub host: String,
    pub port: Option<u16>,
    /// With the query.
    pub path: String,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Addresses of the host, at least one.
    pub addresses: Vec<SocketAddr>,
    /// The arguments after `--`.
    pub arguments: Vec<String>,
}

/// Contents of all VMs of a run.
#[derive(Debug)]
struct Program {
    name: String,
    directory: PathBuf,
    text: String,
    facts: Facts,
    limits: Limits,
    /// Its files.
    named: Named,
    /// Its load threads are those of other machines.
    is_shared: bool,
}

impl Program {
    fn script_error(&self, text: impl std::fmt::Display) -> ScriptError {
        ScriptError::new(Kind::Script, &self.name, text)
    }
}

/// Data passed to the load threads and back.
#[derive(Debug)]
struct Transfer {
    program: Program,
    /// The target address of each thread.
    addresses: Vec<SocketAddr>,
    /// The globals that `setup` has set for each thread.
    set: Vec<Vec<(String, Plain)>>,
    /// The globals of each thread at its end, for `done`; `None` without `done`.
    left: Option<Vec<Mutex<Option<Globals>>>>,
}

/// A wrk script and the VM that runs its `setup` and `done`.
#[derive(Debug)]
pub struct Wrk {
    vm: Vm,
    transfer: Arc<Transfer>,
    threads: Vec<ThreadHandle>,
    done: Option<mlua::Function>,
}

impl Wrk {
    /// Reads the script at `path` for a run on `threads` load threads and calls its `setup` for each.
    ///
    /// # Errors
    /// The script cannot be read or compiled, or fails.
    pub fn open(path: &Path, facts: Facts, threads: usize) -> Result<Self, ScriptError> {
        Self::new(Program::read(path, facts)?, threads)
    }

    fn new(program: Program, count: usize) -> Result<Self, ScriptError> {
        let (vm, predefined) = environment::vm(&program)?;
        vm.run(&program.text)?;
        let (setup, done) = (vm.function("setup")?, vm.function("done")?);
        let globals = if setup.is_some() { plain::globals(vm.lua(), &predefined) } else { Globals::new() };
        let thread = || ThreadHandle::new(program.facts.addresses[0], globals.clone());
        let threads: Vec<ThreadHandle> = std::iter::repeat_with(thread).take(count).collect();
        for (setup, thread) in setup.iter().flat_map(|setup| threads.iter().map(move |thread| (setup, thread))) {
            let thread = vm.lua().create_userdata(thread.clone()).map_err(|error| program.script_error(error))?;
            vm.call_within::<()>(program.limits.start, setup, thread)?;
        }
        let transfer = Transfer {
            addresses: threads.iter().map(|thread| thread.state().address).collect(),
            set: threads.iter().map(|thread| std::mem::take(&mut thread.state().set)).collect(),
            left: done.is_some().then(|| (0..count).map(|_| Mutex::new(None)).collect()),
            program,
        };
        Ok(Self { vm, transfer: Arc::new(transfer), threads, done })
    }

    /// Makes the source of each load thread.
    pub fn script(&self) -> source::Script {
        script_of(&self.transfer)
    }

    /// The target address of each load thread: the first one of the host, unless `setup` has changed it.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.transfer.addresses
    }

    pub fn has_done(&self) -> bool {
        self.done.is_some()
    }

    /// Calls `done`, if there is one. Must be called after the run, when the threads have left their globals.
    ///
    /// # Errors
    /// The script fails.
    pub fn done(&self, result: &RunResult, latency: &Numbers, requests: &Numbers) -> Result<(), ScriptError> {
        let Some(done) = &self.done else { return Ok(()) };
        for (thread, left) in self.threads.iter().zip(self.transfer.left.iter().flatten()) {
            thread.state().globals = left.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        }
        let (lua, program) = (self.vm.lua(), &self.transfer.program);
        let script_error = |error| program.script_error(error);
        let summary = statistics::summary(lua, result).map_err(script_error)?;
        let [latency, requests] = [latency, requests].map(|numbers| lua.create_userdata(numbers.clone()));
        let arguments = (summary, latency.map_err(script_error)?, requests.map_err(script_error)?);
        self.vm.call_within(program.limits.start, done, arguments)
    }
}

fn script_of(transfer: &Arc<Transfer>) -> source::Script {
    let names = source::Names::default();
    let (of_thread, naming) = (Arc::clone(transfer), names.clone());
    source::Script::naming(names, move |thread| runner::source(&of_thread, thread, &naming))
        .leaving(Arc::<Transfer>::clone(transfer))
}
