//! A script on one load thread: where its requests come from and its responses go.

use super::{
    Exchange,
    address::{self, Address},
    batch, environment,
    plain::{self, Plain},
};
use crate::http::source::{Batch, Flow, Source};
use brunt_luau::{
    Kind, ScriptError, Vm,
    mlua::{self, AnyUserData, Error, Function, IntoLuaMulti, LuaString, MetaMethod, UserData, UserDataMethods, Value},
};
use std::{
    cell::Cell,
    collections::HashSet,
    net::SocketAddr,
    rc::Rc,
    sync::{Arc, PoisonError},
    time::Duration,
};

/// The longest pause that `delay` may ask for, in milliseconds: a day.
const LONGEST: f64 = 86_400_000.0;

/// The source of load thread `thread`.
pub(super) fn source(exchange: &Arc<Exchange>, thread: usize) -> Result<Box<dyn Source>, String> {
    if thread >= exchange.addresses.len() {
        return Err(fault(exchange, format!("load thread {thread} was not set up")));
    }
    Runner::new(exchange, thread).map(|runner| Box::new(runner) as Box<dyn Source>).map_err(|fault| fault.to_string())
}

struct Runner {
    vm: Vm,
    requests: Requests,
    response: Option<Function>,
    delay: Option<Function>,
    /// Whether the script has stopped its thread.
    stopped: Rc<Cell<bool>>,
    /// An error that could not be told where it came up.
    failed: Option<String>,
    exchange: Arc<Exchange>,
    thread: usize,
    /// The globals that are not the script's own.
    known: HashSet<Vec<u8>>,
}

/// What is sent.
enum Requests {
    /// The same always: the script has no `request`.
    Fixed(Vec<u8>, Batch),
    /// What `request` says; and what it said last, since many say the same again.
    Asked(Function, Option<(LuaString, Batch)>),
}

impl Runner {
    fn new(exchange: &Arc<Exchange>, thread: usize) -> Result<Self, ScriptError> {
        let common = &exchange.common;
        let fault = |text: &dyn std::fmt::Display| ScriptError::new(Kind::Script, &common.name, text);
        let (vm, known) = environment::machine(common)?;
        let stopped = Rc::new(Cell::new(false));
        let own = Own { stopped: Rc::clone(&stopped), address: Cell::new(exchange.addresses[thread]) };
        let own = vm.lua().create_userdata(own).map_err(|error| fault(&error))?;
        environment::start(&vm, common, &exchange.set[thread], own)?;
        let requests = match vm.function("request")? {
            Some(request) => Requests::Asked(request, None),
            None => {
                let made: mlua::Result<LuaString> = vm.lua().load("return wrk.request()").set_name("=wrk").call(());
                let text = made.map_err(|error| fault(&error))?.as_bytes().to_vec();
                let batch = batch::of(&text).map_err(|error| fault(&error))?;
                Requests::Fixed(text, batch)
            }
        };
        let (response, delay) = (vm.function("response")?, vm.function("delay")?);
        let exchange = Arc::clone(exchange);
        Ok(Self { vm, requests, response, delay, stopped, failed: None, exchange, thread, known })
    }

    /// Calls a function that returns nothing of use, and keeps its error for the next request.
    fn tell(&mut self, function: &Function, arguments: mlua::Result<impl IntoLuaMulti>) {
        let called = match arguments {
            Ok(arguments) => self.vm.call::<()>(function, arguments).map_err(|fault| fault.to_string()),
            Err(error) => Err(fault(&self.exchange, error)),
        };
        if let Err(text) = called {
            self.failed.get_or_insert(text);
        }
    }
}

impl Source for Runner {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let (request, last) = match &mut self.requests {
            Requests::Fixed(text, batch) => {
                out.extend_from_slice(text);
                return Ok(*batch);
            }
            Requests::Asked(request, last) => (&*request, last),
        };
        let returned = self.vm.call(request, ()).map_err(|fault| fault.to_string())?;
        let Value::String(text) = returned else {
            let kind = returned.type_name();
            let text = format!("request() returned a {kind}: return a text, as wrk.format() makes");
            return Err(fault(&self.exchange, text));
        };
        out.extend_from_slice(&text.as_bytes());
        let batch = match last {
            // It is alive, so no other can have its address.
            Some((known, batch)) if known.to_pointer() == text.to_pointer() => *batch,
            _ => {
                let batch = batch::of(&text.as_bytes());
                let batch = batch.map_err(|error| fault(&self.exchange, format!("request(): {error}")))?;
                *last = Some((text, batch));
                batch
            }
        };
        if self.stopped.get() && self.response.is_none() {
            let text = "thread:stop() is heard with a response: define response(), if an empty one";
            return Err(fault(&self.exchange, text));
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
            self.tell(&response, arguments);
        }
        if self.stopped.get() { Flow::Stop } else { Flow::Go }
    }

    fn delay(&mut self) -> Option<Duration> {
        let returned = self.vm.call(self.delay.as_ref()?, ());
        let millis = match returned {
            // As in wrk, nothing is no pause.
            Ok(Value::Nil) => Ok(0.0),
            Ok(value) => {
                brunt_luau::number(&value).filter(|millis| (0.0..=LONGEST).contains(millis)).ok_or_else(|| {
                    let kind = value.type_name();
                    fault(&self.exchange, format!("delay() returned a {kind}: return milliseconds from 0 to {LONGEST}"))
                })
            }
            Err(fault) => Err(fault.to_string()),
        };
        match millis {
            Ok(millis) => (millis > 0.0).then(|| Duration::from_secs_f64(millis / 1e3)),
            Err(text) => {
                self.failed.get_or_insert(text);
                None
            }
        }
    }
}

impl Drop for Runner {
    /// Leaves the script's globals for `done`.
    fn drop(&mut self) {
        if let Some(left) = &self.exchange.left {
            let globals = plain::globals(self.vm.lua(), &self.known);
            *left[self.thread].lock().unwrap_or_else(PoisonError::into_inner) = Some(globals);
        }
    }
}

fn fault(exchange: &Exchange, text: impl std::fmt::Display) -> String {
    ScriptError::new(Kind::Error, &exchange.common.name, text).to_string()
}

/// `wrk.thread`, on the thread itself.
struct Own {
    stopped: Rc<Cell<bool>>,
    address: Cell<SocketAddr>,
}

impl UserData for Own {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, _, name: LuaString| lua.globals().get::<Value>(name));
        methods.add_method("set", |lua, _, (name, value): (LuaString, Value)| {
            // What cannot pass between threads is refused here as well.
            lua.globals().set(name, Plain::of(&value)?.put(lua)?)
        });
        methods.add_method("stop", |_, own, ()| {
            own.stopped.set(true);
            Ok(())
        });
        methods.add_meta_method(MetaMethod::Index, |lua, own, name: String| -> mlua::Result<Option<AnyUserData>> {
            (name == "addr").then(|| lua.create_userdata(Address(own.address.get()))).transpose()
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, own, (name, value): (String, Value)| {
            if name != "addr" {
                return Err(Error::runtime(format!(
                    "cannot set '{name}' on thread: it has addr, and set(name, value)"
                )));
            }
            own.address.set(address::of(&value)?);
            Ok(())
        });
    }
}
