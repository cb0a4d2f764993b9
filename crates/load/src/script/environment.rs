//! A machine as wrk's scripts expect it: `prelude.luau` on top of what Rust has to give. It can read files and print; it can
//! write no file and start nothing.

use super::{Common, address, files, modules, plain};
use brunt_luau::{
    Kind, ScriptError, Vm,
    mlua::{self, Error, Function, Lua, LuaString, Result, Table, Value, Variadic},
};
use std::collections::HashSet;

const PRELUDE: &str = include_str!("prelude.luau");

/// A machine for a script, and the names of the globals that are not the script's own.
pub(super) fn machine(common: &Common) -> std::result::Result<(Vm, HashSet<Vec<u8>>), ScriptError> {
    let vm = Vm::new(&common.name, common.limits, &["wrk", "package"])?;
    environment(&vm, common).map_err(|error| ScriptError::new(Kind::Script, &common.name, error))?;
    let names = plain::names(&vm.lua().globals());
    Ok((vm, names))
}

fn environment(vm: &Vm, common: &Common) -> Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    let tostring: Function = globals.get("tostring")?;
    globals.set(
        "print",
        lua.create_function(move |_, values: Variadic<Value>| {
            let mut line = Vec::new();
            for value in values.iter() {
                if !line.is_empty() {
                    line.push(b'\t');
                }
                line.extend_from_slice(&tostring.call::<LuaString>(value)?.as_bytes());
            }
            line.push(b'\n');
            files::print(&line);
            Ok(())
        })?,
    )?;
    globals.set("io", files::library(lua)?)?;
    modules::install(lua, &common.directory)?;
    system(lua, &globals.get("os")?)?;
    let addresses = address::list(lua, common.facts.addresses.iter().copied())?;
    let (lookup, connect) = (lua.create_function(address::lookup)?, lua.create_function(address::connect)?);
    lua.load(PRELUDE).set_name("=wrk").call((facts(lua, common)?, lookup, connect, addresses))
}

/// What `os` lacks. Dates and clocks it has.
fn system(lua: &Lua, os: &Table) -> Result<()> {
    os.set(
        "getenv",
        lua.create_function(|lua, name: String| {
            // The standard library asks for a name that can be one.
            let askable = !name.is_empty() && !name.contains(['=', '\0']);
            let value = askable.then(|| std::env::var_os(&name)).flatten();
            value.map(|value| lua.create_string(value.as_encoded_bytes())).transpose()
        })?,
    )?;
    os.set(
        "exit",
        lua.create_function(|_, code: Option<Value>| -> Result<()> {
            let code = code.as_ref().and_then(brunt_luau::number).unwrap_or_default();
            Err(Error::runtime(format!("the script ended the run (os.exit({code}))")))
        })?,
    )
}

fn facts(lua: &Lua, common: &Common) -> Result<Table> {
    let facts = lua.create_table()?;
    facts.set("scheme", &*common.facts.scheme)?;
    facts.set("host", &*common.facts.host)?;
    // As wrk has it: a text.
    facts.set("port", common.facts.port.map(|port| port.to_string()))?;
    facts.set("path", &*common.facts.path)?;
    facts.set("method", common.facts.method.as_deref())?;
    facts.set("body", common.facts.body.as_ref().map(|body| lua.create_string(body)).transpose()?)?;
    let headers = lua.create_table()?;
    for (name, value) in &common.facts.headers {
        headers.push([&**name, &**value])?;
    }
    facts.set("headers", headers)?;
    Ok(facts)
}

/// The arguments of `init`: the URL is number 0, as in wrk.
pub(super) fn arguments(lua: &Lua, common: &Common) -> Result<Table> {
    let table = lua.create_table()?;
    let all = std::iter::once(&common.facts.url).chain(&common.facts.arguments);
    for (number, argument) in all.enumerate() {
        table.raw_set(number, &**argument)?;
    }
    Ok(table)
}

/// Has the machine run the script's own lines, with what `setup` has set for its thread, and its `init`.
pub(super) fn start(
    vm: &Vm,
    common: &Common,
    set: &[(String, plain::Plain)],
    thread: mlua::AnyUserData,
) -> std::result::Result<(), ScriptError> {
    let fault = |error: Error| ScriptError::new(Kind::Script, &common.name, error);
    vm.run(&common.text)?;
    let lua = vm.lua();
    let prepared = (|| {
        for (name, value) in set {
            lua.globals().set(&**name, value.put(lua)?)?;
        }
        let wrk: Table = lua.globals().get("wrk")?;
        wrk.set("thread", thread)?;
        Ok((wrk.get::<Function>("init")?, arguments(lua, common)?))
    })();
    let (init, arguments) = prepared.map_err(fault)?;
    vm.call_within(common.limits.start, &init, arguments)
}
