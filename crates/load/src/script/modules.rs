//! `require` and `dofile` of Lua files beside the script, found by `package.path`. There are no compiled modules.

use brunt_luau::mlua::{Error, Lua, Result, Table, Value};
use std::path::{Path, PathBuf};

/// Defines `require`, `dofile` and `package`. Names are relative to `directory`, then to the current directory.
pub(super) fn install(lua: &Lua, directory: &Path) -> Result<()> {
    let globals = lua.globals();
    let package = lua.create_table()?;
    package.set("path", "?.lua;?.luau;?/init.lua")?;
    package.set("loaded", lua.create_table()?)?;
    globals.set("package", package.clone())?;
    let beside = directory.to_path_buf();
    globals.set("require", lua.create_function(move |lua, name: String| require(lua, &package, &beside, &name))?)?;
    let beside = directory.to_path_buf();
    let dofile = lua.create_function(move |lua, name: String| {
        let path = find(&beside, &name).ok_or_else(|| Error::runtime(format!("dofile: there is no file {name}")))?;
        load(lua, &path)
    })?;
    globals.set("dofile", dofile)
}

fn require(lua: &Lua, package: &Table, directory: &Path, name: &str) -> Result<Value> {
    let loaded: Table = package.get("loaded")?;
    let known: Value = loaded.get(name)?;
    if !known.is_nil() {
        return Ok(known);
    }
    let templates: String = package.get("path")?;
    let file = name.replace('.', "/");
    let found = templates.split(';').find_map(|template| find(directory, &template.replace('?', &file)));
    let path = found.ok_or_else(|| {
        Error::runtime(format!(
            "require: no module {name} in {templates}: put a Lua file beside the script; compiled modules and ffi do not exist here"
        ))
    })?;
    let value = match load(lua, &path)? {
        Value::Nil => Value::Boolean(true),
        value => value,
    };
    loaded.set(name, &value)?;
    Ok(value)
}

fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    [directory.join(name), PathBuf::from(name)].into_iter().find(|path| path.is_file())
}

fn load(lua: &Lua, path: &Path) -> Result<Value> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::runtime(format!("cannot read {shown}: {error}")))?;
    lua.load(text).set_name(format!("={shown}")).set_mode(brunt_luau::mlua::chunk::ChunkMode::Text).call(())
}
