//! A script on one worker: its virtual machine, and a call per request.

use super::error_log::{ErrorLog, LogSink};
use super::request::{Headers, Held, View};
use super::returned::{TEXT, Texts, into_response};
use super::{Kind, Script, ScriptError, json};
use crate::http::handler::{Handler, Request, Response};
use brunt_luau::Vm;
use brunt_luau::mlua::{self, AnyUserData, Function, Value, Variadic};
use brunt_runtime::time;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::{cell::RefCell, rc::Rc, sync::Arc, sync::atomic::Ordering::Relaxed};

/// A script running on one worker. An error is answered with 500.
pub struct Instance {
    vm: Vm,
    script: Script,
    on_request: Function,
    /// Whether `on_request` has a parameter for the request.
    reads: bool,
    held: Rc<RefCell<Held>>,
    view: AnyUserData,
    texts: Texts,
    error_log: ErrorLog,
    sink: LogSink,
}

impl Instance {
    pub(super) fn new(script: &Script, seed: u64, sink: LogSink) -> Result<Self, ScriptError> {
        let source = &*script.0;
        let invalid = |error: mlua::Error| ScriptError::new(Kind::Script, &source.name, error);
        let vm = Vm::new(&source.name, source.limits, &["state"])?;
        set_globals(&vm, seed, &sink).map_err(invalid)?;
        vm.run(&source.text)?;
        let on_request = vm.function("on_request")?.ok_or_else(|| {
            let remedy = "there is no on_request: define function on_request(req) ... end";
            ScriptError::new(Kind::Script, &source.name, remedy)
        })?;
        let info = on_request.info();
        let held = Rc::new(RefCell::new(Held::default()));
        let headers = vm.lua().create_userdata(Headers(Rc::clone(&held))).map_err(invalid)?;
        let view = vm.lua().create_userdata(View { held: Rc::clone(&held), headers }).map_err(invalid)?;
        Ok(Self {
            vm,
            script: script.clone(),
            on_request,
            reads: info.num_params > 0 || info.is_vararg,
            held,
            view,
            texts: Texts::default(),
            error_log: ErrorLog::default(),
            sink,
        })
    }

    #[inline]
    fn call(&mut self, request: &Request<'_>) -> Result<Response, ScriptError> {
        let returned: (Value, Value, Value) = if self.reads {
            self.held.borrow_mut().take(request);
            let returned = self.vm.call(&self.on_request, &self.view);
            self.held.borrow_mut().trim();
            returned?
        } else {
            self.vm.call(&self.on_request, ())?
        };
        into_response(returned, &mut self.texts).map_err(|text| ScriptError::new(Kind::Error, self.script.name(), text))
    }
}

impl Handler for Instance {
    #[inline]
    fn respond(&mut self, request: &Request<'_>) -> Response {
        self.call(request).unwrap_or_else(|error| {
            self.script.0.errors.fetch_add(1, Relaxed);
            self.error_log.add(&error, time::now(), &self.sink);
            // The reason is logged and not sent.
            Response::typed(500, TEXT, b"the script failed\n")
        })
    }

    fn wants_body(&self) -> bool {
        self.reads
    }
}

/// Sets the globals of scripts, then makes them read-only.
fn set_globals(vm: &Vm, seed: u64, sink: &LogSink) -> mlua::Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    globals.set("json", json::library(lua)?)?;
    // It would compile code outside the limits of time and memory.
    globals.set("loadstring", mlua::Nil)?;
    let (out, tostring) = (Arc::clone(sink), globals.get::<Function>("tostring")?);
    // Luau's own print writes to stdout, which is for results.
    let print = lua.create_function(move |_, values: Variadic<Value>| {
        let mut line = String::new();
        for value in values.iter() {
            if !line.is_empty() {
                line.push('\t');
            }
            line.push_str(&tostring.call::<mlua::LuaString>(value)?.to_string_lossy());
        }
        out(&line);
        Ok(())
    })?;
    globals.set("print", print)?;
    let math: mlua::Table = globals.get("math")?;
    // Mixed, so that each bit depends on all bits of `seed`, of which randomseed takes half.
    let mixed = SplitMix64::seed_from_u64(seed).next_u64();
    math.get::<Function>("randomseed")?.call::<()>(mixed as i32)?;
    // Makes the globals defined so far read-only. Globals that the script defines are its own.
    lua.sandbox(true)?;
    lua.globals().set("state", lua.create_table()?)
}
