//! The part of `io` that load scripts need: reading files and writing to `stdout` and `stderr`.

use brunt_luau::mlua::{
    Error, Function, IntoLuaMulti, Lua, LuaString, MultiValue, Result, Table, UserData, UserDataMethods, Value,
    Variadic,
};
use brunt_results::named::Named;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::{cell::RefCell, fs::File, rc::Rc};

pub(super) fn library(lua: &Lua, named: &Named) -> Result<Table> {
    let of_load = named.clone();
    let open = lua.create_function(move |lua, (path, mode): (String, Option<String>)| {
        let mode = mode.unwrap_or_else(|| "r".to_owned());
        if !matches!(&*mode, "r" | "rb") {
            let why = format!("{path}: scripts only read files (mode `{mode}`): use \"r\"");
            return (Value::Nil, why).into_lua_multi(lua);
        }
        match of_load.place(&path).and_then(File::open) {
            Ok(file) => Source::new(file).into_lua_multi(lua),
            Err(error) => (Value::Nil, format!("{path}: {error}"), error.raw_os_error()).into_lua_multi(lua),
        }
    })?;
    let of_load = named.clone();
    let lines = lua.create_function(move |lua, path: String| {
        let file = of_load.place(&path).and_then(File::open);
        let file = file.map_err(|error| Error::runtime(format!("{path}: {error}")))?;
        Source::new(file).lines(lua)
    })?;
    let write = lua.create_function(|_, values: Variadic<LuaString>| {
        print(&joined(&values));
        Ok(())
    })?;
    let library = lua.create_table_from([("open", open), ("lines", lines), ("write", write)])?;
    library.set("stdout", lua.create_userdata(Sink::Out)?)?;
    library.set("stderr", lua.create_userdata(Sink::Error)?)?;
    Ok(library)
}

fn joined(values: &[LuaString]) -> Vec<u8> {
    values.iter().flat_map(|value| value.as_bytes().to_vec()).collect()
}

#[derive(Debug, Clone, Copy)]
enum Sink {
    Out,
    Error,
}

impl UserData for Sink {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_function("write", |_, (sink, values): (brunt_luau::mlua::AnyUserData, Variadic<LuaString>)| {
            let text = joined(&values);
            match *sink.borrow::<Self>()? {
                Self::Out => print(&text),
                // As with stdout, a closed pipe is not an error of the script.
                Self::Error => drop(io::stderr().write_all(&text)),
            }
            Ok(sink)
        });
        for nothing in ["flush", "setvbuf", "close"] {
            methods.add_method(nothing, |_, _, _: MultiValue| Ok(true));
        }
    }
}

/// A file open for reading; `None` once it is closed.
#[derive(Debug, Clone)]
struct Source(Rc<RefCell<Option<BufReader<File>>>>);

impl Source {
    fn new(file: File) -> Self {
        Self(Rc::new(RefCell::new(Some(BufReader::new(file)))))
    }

    fn with<R>(&self, f: impl FnOnce(&mut BufReader<File>) -> io::Result<R>) -> Result<R> {
        let mut reader = self.0.borrow_mut();
        let reader = reader.as_mut().ok_or_else(|| Error::runtime("the file is closed"))?;
        f(reader).map_err(|error| Error::runtime(format!("cannot read the file: {error}")))
    }

    /// The next line, without its line break unless `whole`; nil at the end of the file.
    fn line(&self, lua: &Lua, whole: bool) -> Result<Value> {
        let mut line = Vec::new();
        self.with(|reader| reader.read_until(b'\n', &mut line))?;
        if line.is_empty() {
            return Ok(Value::Nil);
        }
        let end = if whole { line.len() } else { line.len() - usize::from(line.ends_with(b"\n")) };
        lua.create_string(&line[..end]).map(Value::String)
    }

    fn lines(self, lua: &Lua) -> Result<Function> {
        lua.create_function(move |lua, _: MultiValue| self.line(lua, false))
    }

    fn read(&self, lua: &Lua, format: &Value) -> Result<Value> {
        if let Some(count) = brunt_luau::number(format) {
            let mut bytes = Vec::new();
            // Memory is allocated as bytes are read, not as many as were asked for.
            self.with(|reader| reader.take(count as u64).read_to_end(&mut bytes))?;
            let ended = bytes.is_empty() && count > 0.0;
            return if ended { Ok(Value::Nil) } else { lua.create_string(bytes).map(Value::String) };
        }
        let name = format.as_string().map(|name| name.to_string_lossy()).unwrap_or_default();
        match name.trim_start_matches('*').chars().next() {
            Some('a') => {
                let mut bytes = Vec::new();
                self.with(|reader| reader.read_to_end(&mut bytes))?;
                lua.create_string(bytes).map(Value::String)
            }
            Some('l') => self.line(lua, false),
            Some('L') => self.line(lua, true),
            _ => Err(Error::runtime(format!("read: `{name}` is not a known format: use a, l, L or a number of bytes"))),
        }
    }
}

impl UserData for Source {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("lines", |lua, file, _: MultiValue| file.clone().lines(lua));
        methods.add_method("read", |lua, file, formats: Variadic<Value>| {
            if formats.is_empty() {
                return file.line(lua, false).map(|line| MultiValue::from_iter([line]));
            }
            formats.iter().map(|format| file.read(lua, format)).collect::<Result<MultiValue>>()
        });
        methods.add_method("close", |_, file, ()| {
            file.0.borrow_mut().take();
            Ok(true)
        });
    }
}

/// Prints to stdout and flushes. A closed pipe is not an error of the script.
pub(super) fn print(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
