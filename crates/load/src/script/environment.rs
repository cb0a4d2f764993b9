//! VMs with the environment of wrk scripts: `prelude.luau` and the functions below. Scripts can read files and print; they
//! cannot write files or start programs.

use super::thread::{Address, CurrentThread, address_of};
use super::{Program, files, plain};
use brunt_luau::mlua::{Error, Function, Lua, LuaString, Result, Table, Value, Variadic, chunk};
use brunt_luau::{ScriptError, Vm};
use brunt_results::named::Named;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::{collections::HashSet, time::Duration};

const PRELUDE: &str = include_str!("prelude.luau");
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A VM for a script, and the names of the globals that are not the script's.
pub(super) fn vm(program: &Program) -> std::result::Result<(Vm, HashSet<Vec<u8>>), ScriptError> {
    let vm = Vm::new(&program.name, program.limits, &["wrk", "package"])?;
    install(vm.lua(), program).map_err(|error| program.script_error(error))?;
    let predefined = plain::names(&vm.lua().globals());
    Ok((vm, predefined))
}

fn install(lua: &Lua, program: &Program) -> Result<()> {
    let globals = lua.globals();
    let tostring: Function = globals.get("tostring")?;
    let print = lua.create_function(move |_, values: Variadic<Value>| {
        let mut line = Vec::new();
        for (number, value) in values.iter().enumerate() {
            line.extend_from_slice(if number > 0 { b"\t" } else { b"" });
            line.extend_from_slice(&tostring.call::<LuaString>(value)?.as_bytes());
        }
        line.push(b'\n');
        files::print(&line);
        Ok(())
    })?;
    globals.set("print", print)?;
    globals.set("io", files::library(lua, &program.named)?)?;
    install_modules(lua, program)?;
    extend_os(lua, &globals.get("os")?, program.is_shared)?;
    let addresses = address_list(lua, program.facts.addresses.iter().copied())?;
    let (lookup, connect) = (lua.create_function(lookup)?, lua.create_function(connect)?);
    lua.load(PRELUDE).set_name("=wrk").call((facts(lua, program)?, lookup, connect, addresses))
}

/// Adds the functions that Luau's `os` lacks.
fn extend_os(lua: &Lua, os: &Table, is_shared: bool) -> Result<()> {
    let getenv = lua.create_function(move |lua, name: String| {
        if is_shared {
            return Err(Error::runtime(format!(
                "os.getenv(\"{}\") and --on: variables are not sent to agents; pass the value behind --",
                name.escape_debug()
            )));
        }
        // `var_os` may panic on other names.
        let is_valid = !name.is_empty() && !name.contains(['=', '\0']);
        let value = is_valid.then(|| std::env::var_os(&name)).flatten();
        value.map(|value| lua.create_string(value.as_encoded_bytes())).transpose()
    })?;
    os.set("getenv", getenv)?;
    let exit = lua.create_function(|_, code: Option<Value>| -> Result<()> {
        let code = code.as_ref().and_then(brunt_luau::number).unwrap_or_default();
        Err(Error::runtime(format!("the script ended the run (os.exit({code}))")))
    })?;
    os.set("exit", exit)
}

fn address_list(lua: &Lua, addresses: impl IntoIterator<Item = SocketAddr>) -> Result<Table> {
    lua.create_sequence_from(addresses.into_iter().map(Address))
}

/// `wrk.lookup(host, service)`; a service is a port, `http` or `https`.
fn lookup(lua: &Lua, (host, service): (String, String)) -> Result<Table> {
    let port = match &*service {
        "http" => 80,
        "https" => 443,
        digits => digits.parse().map_err(|_| {
            Error::runtime(format!("wrk.lookup: `{service}` is not a known service: use a port, http or https"))
        })?,
    };
    let found = (&*host, port).to_socket_addrs();
    address_list(lua, found.map_err(|error| Error::runtime(format!("wrk.lookup: cannot resolve {host}: {error}")))?)
}

/// `wrk.connect(address)`: whether something listens there.
fn connect(_: &Lua, address: Value) -> Result<bool> {
    Ok(TcpStream::connect_timeout(&address_of(&address)?, CONNECT_TIMEOUT).is_ok())
}

/// Load threads of agents connect to the target alone.
fn refuse_connect(lua: &Lua) -> Result<()> {
    let refuse = |_: &Lua, _: Value| -> Result<bool> {
        Err(Error::runtime(
            "wrk.connect on a load thread and --on: agents connect to the target alone; use it in setup()",
        ))
    };
    lua.globals().get::<Table>("wrk")?.set("connect", lua.create_function(refuse)?)
}

fn facts(lua: &Lua, program: &Program) -> Result<Table> {
    let from = &program.facts;
    let facts = lua.create_table()?;
    facts.set("scheme", &*from.scheme)?;
    facts.set("host", &*from.host)?;
    // A text, as in wrk.
    facts.set("port", from.port.map(|port| port.to_string()))?;
    facts.set("path", &*from.path)?;
    facts.set("method", from.method.as_deref())?;
    facts.set("body", from.body.as_ref().map(|body| lua.create_string(body)).transpose()?)?;
    let headers = from.headers.iter().map(|(name, value)| [&**name, &**value]);
    facts.set("headers", lua.create_sequence_from(headers)?)?;
    Ok(facts)
}

/// Runs the script in the VM of a load thread, with the globals `set` by `setup`, and its `init`.
pub(super) fn start(
    vm: &Vm,
    program: &Program,
    set: &[(String, plain::Plain)],
    thread: CurrentThread,
) -> std::result::Result<(), ScriptError> {
    let lua = vm.lua();
    if program.is_shared {
        refuse_connect(lua).map_err(|error| program.script_error(error))?;
    }
    vm.run(&program.text)?;
    let prepare = || -> Result<(Function, Table)> {
        for (name, value) in set {
            lua.globals().set(&**name, value.put(lua)?)?;
        }
        let wrk: Table = lua.globals().get("wrk")?;
        wrk.set("thread", lua.create_userdata(thread)?)?;
        // As in wrk, the URL is argument 0.
        let arguments = lua.create_table()?;
        for (number, argument) in std::iter::once(&program.facts.url).chain(&program.facts.arguments).enumerate() {
            arguments.raw_set(number, &**argument)?;
        }
        Ok((wrk.get("init")?, arguments))
    };
    let (init, arguments) = prepare().map_err(|error| program.script_error(error))?;
    vm.call_within(program.limits.start, &init, arguments)
}

/// Defines `require` and `dofile` of Lua files beside the script, and `package`, whose `path` finds them; there are no compiled
/// modules. Names are relative to `directory`, then to the current directory.
fn install_modules(lua: &Lua, program: &Program) -> Result<()> {
    let globals = lua.globals();
    let package = lua.create_table()?;
    package.set("path", "?.lua;?.luau;?/init.lua")?;
    package.set("loaded", lua.create_table()?)?;
    globals.set("package", package.clone())?;
    let (beside, named) = (program.directory.clone(), program.named.clone());
    let require =
        lua.create_function(move |lua, name: String| require(lua, &package, &Beside(&beside, &named), &name))?;
    globals.set("require", require)?;
    let (beside, named) = (program.directory.clone(), program.named.clone());
    let dofile = lua.create_function(move |lua, name: String| {
        let beside = Beside(&beside, &named);
        let path = beside.find(&name).ok_or_else(|| Error::runtime(format!("dofile: there is no file {name}")))?;
        beside.load(lua, &path)
    })?;
    globals.set("dofile", dofile)
}

/// The directory of the script, and the files of the load.
struct Beside<'p>(&'p Path, &'p Named);

fn require(lua: &Lua, package: &Table, beside: &Beside<'_>, name: &str) -> Result<Value> {
    let loaded: Table = package.get("loaded")?;
    let known: Value = loaded.get(name)?;
    if !known.is_nil() {
        return Ok(known);
    }
    let templates: String = package.get("path")?;
    let file = name.replace('.', "/");
    let found = templates.split(';').find_map(|template| beside.find(&template.replace('?', &file)));
    let path = found.ok_or_else(|| {
        Error::runtime(format!(
            "require: no module {name} in {templates}: put a Lua file beside the script; compiled modules and ffi do not exist here"
        ))
    })?;
    let value = match beside.load(lua, &path)? {
        Value::Nil => Value::Boolean(true),
        value => value,
    };
    loaded.set(name, &value)?;
    Ok(value)
}

impl Beside<'_> {
    fn find(&self, name: &str) -> Option<PathBuf> {
        [self.0.join(name), PathBuf::from(name)].into_iter().find(|path| self.1.is_file(path))
    }

    fn load(&self, lua: &Lua, path: &Path) -> Result<Value> {
        let shown = path.display();
        let text = self.1.place(path).and_then(std::fs::read_to_string);
        let text = text.map_err(|error| Error::runtime(format!("cannot read {shown}: {error}")))?;
        lua.load(text).set_name(format!("={shown}")).set_mode(chunk::ChunkMode::Text).call(())
    }
}
