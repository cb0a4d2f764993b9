//! A script on one worker: its machine, and a call for each request.

use super::{
    Kind, Script, ScriptError,
    error_log::{ErrorLog, LogSink},
    json,
    request::{Headers, Held, View},
    returned::{Texts, failed, into_response},
};
use crate::http::{
    handler::Handler,
    handler::{Request, Response},
};
use brunt_luau::{
    Vm,
    mlua::{self, AnyUserData, Function, Value, Variadic},
};
use std::{
    cell::RefCell,
    fmt,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

/// A script that runs on one worker. It answers every request, if only with 500.
pub struct Instance {
    vm: Vm,
    script: Script,
    on_request: Function,
    /// Whether `on_request` takes its request at all.
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
        let fault = |error: mlua::Error| ScriptError::new(Kind::Script, &source.name, error);
        let vm = Vm::new(&source.name, source.limits, &["state"])?;
        furnish(&vm, mix(seed), &sink).map_err(fault)?;
        vm.run(&source.text)?;
        let on_request = vm.function("on_request")?.ok_or_else(|| {
            ScriptError::new(
                Kind::Script,
                &source.name,
                "there is no on_request: define function on_request(req) ... end",
            )
        })?;
        let info = on_request.info();
        let held = Rc::new(RefCell::new(Held::new()));
        let headers = vm.lua().create_userdata(Headers(Rc::clone(&held))).map_err(fault)?;
        let view = vm.lua().create_userdata(View { held: Rc::clone(&held), headers }).map_err(fault)?;
        Ok(Self {
            vm,
            script: script.clone(),
            on_request,
            reads: info.num_params > 0 || info.is_vararg,
            held,
            view,
            texts: Texts::default(),
            error_log: ErrorLog::new(),
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
        self.call(request).unwrap_or_else(|fault| {
            self.script.0.errors.fetch_add(1, Relaxed);
            self.error_log.hear(&fault, Instant::now(), &self.sink);
            failed()
        })
    }

    fn wants_body(&self) -> bool {
        self.reads
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("name", &self.script.name()).finish_non_exhaustive()
    }
}

/// Gives a machine what scripts find in it, and closes it.
fn furnish(vm: &Vm, seed: u64, sink: &LogSink) -> mlua::Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    globals.set("json", json::library(lua)?)?;
    // What it compiles is compiled outside all limits.
    globals.set("loadstring", mlua::Nil)?;
    let (said, tostring) = (Arc::clone(sink), globals.get::<Function>("tostring")?);
    // The one of Luau writes to stdout, which is for results.
    let print = lua.create_function(move |_, values: Variadic<Value>| {
        let mut line = String::new();
        for value in values.iter() {
            if !line.is_empty() {
                line.push('\t');
            }
            line.push_str(&tostring.call::<mlua::LuaString>(value)?.to_string_lossy());
        }
        said(&line);
        Ok(())
    })?;
    globals.set("print", print)?;
    let math: mlua::Table = globals.get("math")?;
    math.get::<Function>("randomseed")?.call::<()>(seed as i32)?;
    // All that is global so far can be read from now on and not changed; what the script defines is its own.
    lua.sandbox(true)?;
    lua.globals().set("state", lua.create_table()?)
}

/// A number in which each bit depends on all of `seed` (splitmix64, Steele et al. 2014): the machine takes only half of them.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
