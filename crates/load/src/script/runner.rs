//! A script on one load thread, as the source of its requests.

use super::names::StepNames;
use super::thread::CurrentThread;
use super::{Transfer, environment, plain};
use crate::http::batch;
use crate::http::source::{Batch, Flow, Names, Source};
use brunt_luau::mlua::{self, Function, IntoLuaMulti, LuaString, Value};
use brunt_luau::{ScriptError, Vm};
use std::sync::{Arc, PoisonError};
use std::{cell::Cell, collections::HashSet, rc::Rc, time::Duration};

/// Longest result of `delay` in milliseconds: a day.
const MAX_DELAY_MS: f64 = 86_400_000.0;

pub(super) fn source(transfer: &Arc<Transfer>, thread: usize, names: &Names) -> Result<Box<dyn Source>, String> {
    if thread >= transfer.addresses.len() {
        return Err(transfer.program.script_error(format!("load thread {thread} was not set up")).to_string());
    }
    match Runner::new(transfer, thread, names) {
        Ok(runner) => Ok(Box::new(runner)),
        Err(error) => Err(error.to_string()),
    }
}

/// Prepares a thread as [`source`] does, and leaves nothing.
pub(super) fn prepare(transfer: &Arc<Transfer>, thread: usize) -> Result<(), ScriptError> {
    let runner = Runner::new(transfer, thread, &Names::default())?;
    drop(runner);
    transfer.forget();
    Ok(())
}

struct Runner {
    vm: Vm,
    requests: Requests,
    names: StepNames,
    response: Option<Function>,
    delay: Option<Function>,
    /// The script has called `thread:stop()`.
    stopped: Rc<Cell<bool>>,
    /// An error of `response` or `delay`, which the next request reports.
    error: Option<String>,
    transfer: Arc<Transfer>,
    thread: usize,
    /// Names of the globals that are not the script's.
    predefined: HashSet<Vec<u8>>,
}

enum Requests {
    /// Always the same: the script has no `request`.
    Fixed(Vec<u8>, Batch),
    /// The function `request`, and its last result: many return the same text again.
    Called(Function, Option<(LuaString, Batch)>),
}

impl Runner {
    fn new(transfer: &Arc<Transfer>, thread: usize, names: &Names) -> Result<Self, ScriptError> {
        let program = &transfer.program;
        let (vm, predefined) = environment::vm(program)?;
        let stopped = Rc::new(Cell::new(false));
        let current = CurrentThread {
            stopped: Rc::clone(&stopped),
            address: Cell::new(transfer.addresses[thread]),
            is_shared: program.is_shared,
        };
        environment::start(&vm, program, &transfer.set[thread], current)?;
        let requests = match vm.function("request")? {
            Some(request) => Requests::Called(request, None),
            None => {
                let text: mlua::Result<LuaString> = vm.lua().load("return wrk.request()").set_name("=wrk").call(());
                let text = text.map_err(|error| program.script_error(error))?.as_bytes().to_vec();
                let batch = batch::of(&text).map_err(|error| program.script_error(error))?;
                Requests::Fixed(text, batch)
            }
        };
        let (response, delay) = (vm.function("response")?, vm.function("delay")?);
        let transfer = Arc::clone(transfer);
        let names = StepNames::new(names);
        Ok(Self { vm, requests, names, response, delay, stopped, error: None, transfer, thread, predefined })
    }

    fn script_error(&self, text: impl std::fmt::Display) -> String {
        self.transfer.program.script_error(text).to_string()
    }

    /// Calls a function without a result, and keeps its error for the next request.
    fn notify(&mut self, function: &Function, arguments: mlua::Result<impl IntoLuaMulti>) {
        let result = match arguments {
            Ok(arguments) => self.vm.call::<()>(function, arguments).map_err(|error| error.to_string()),
            Err(error) => Err(self.script_error(error)),
        };
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl Source for Runner {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let (request, last) = match &mut self.requests {
            Requests::Fixed(text, batch) => {
                out.extend_from_slice(text);
                return Ok(*batch);
            }
            Requests::Called(request, last) => (&*request, last),
        };
        let script_error = |text: String| self.transfer.program.script_error(text).to_string();
        let returned: (Value, Value) = self.vm.call(request, ()).map_err(|error| error.to_string())?;
        let (returned, name) = returned;
        let Value::String(text) = returned else {
            let kind = returned.type_name();
            return Err(script_error(format!("request() returned a {kind}: return a text, as wrk.format() makes")));
        };
        out.extend_from_slice(&text.as_bytes());
        let batch = match last {
            // The last text is alive, so no other one can have its address.
            Some((last, batch)) if last.to_pointer() == text.to_pointer() => *batch,
            _ => {
                let batch = batch::of(&text.as_bytes()).map_err(|error| script_error(format!("request(): {error}")))?;
                *last = Some((text, batch));
                batch
            }
        };
        let batch = match name {
            Value::String(name) => {
                let number = self.names.number(name);
                batch.named(number.map_err(|error| script_error(format!("request(): {error}")))?)
            }
            // Such as the count of string.gsub.
            _ => batch,
        };
        if self.stopped.get() && self.response.is_none() {
            return Err(
                self.script_error("thread:stop() takes effect with a response: define response(), if an empty one")
            );
        }
        Ok(batch)
    }

    fn wants_responses(&self) -> bool {
        self.response.is_some()
    }

    fn response(&mut self, status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Flow {
        if let Some(response) = self.response.clone() {
            let lua = self.vm.lua();
            let arguments = || {
                let headers = lua.create_table_with_capacity(0, fields.len())?;
                for (name, value) in fields {
                    headers.raw_set(*name, lua.create_string(value)?)?;
                }
                Ok((status, headers, lua.create_string(body)?))
            };
            let arguments = arguments();
            self.notify(&response, arguments);
        }
        if self.stopped.get() { Flow::Stop } else { Flow::Continue }
    }

    fn delay(&mut self) -> Option<Duration> {
        let error = match self.vm.call(self.delay.as_ref()?, ()) {
            // As in wrk.
            Ok(Value::Nil) => return None,
            Ok(value) => match brunt_luau::number(&value) {
                Some(ms) if (0.0..=MAX_DELAY_MS).contains(&ms) => {
                    return (ms > 0.0).then(|| Duration::from_secs_f64(ms / 1e3));
                }
                _ => {
                    let kind = value.type_name();
                    self.script_error(format!(
                        "delay() returned a {kind}: return milliseconds from 0 to {MAX_DELAY_MS}"
                    ))
                }
            },
            Err(error) => error.to_string(),
        };
        self.error.get_or_insert(error);
        None
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(left) = &self.transfer.left {
            let globals = plain::globals(self.vm.lua(), &self.predefined);
            *left[self.thread].lock().unwrap_or_else(PoisonError::into_inner) = Some(globals);
        }
    }
}
