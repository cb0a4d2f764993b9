//! A virtual machine: one script, its globals and limits. Bound to the thread that created it.

use crate::{Kind, ScriptError, budget::Budget};
use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Error, FromLuaMulti, Function, IntoLuaMulti, Lua, VmState};
use std::{rc::Rc, time::Duration};

/// The limits of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all its values, in bytes.
    pub memory: usize,
    /// Time of the first run, which defines its functions.
    pub start: Duration,
    /// Time of each call.
    pub call: Duration,
}

#[derive(Debug)]
pub struct Vm {
    lua: Lua,
    budget: Rc<Budget>,
    limits: Limits,
    /// The script's name in errors.
    name: String,
}

impl Vm {
    /// Creates a machine with the standard libraries for the script `name`; runs nothing yet. `changing` lists the global
    /// tables whose fields change while it runs: fields of others are looked up once.
    pub fn new(name: &str, limits: Limits, changing: &[&str]) -> Result<Self, ScriptError> {
        let lua = Lua::new();
        let compiler = Compiler::new().set_optimization_level(2).set_debug_level(1);
        lua.set_compiler(compiler.set_mutable_globals(changing.to_vec()));
        let budget = Rc::new(Budget::default());
        let interrupt = Rc::clone(&budget);
        lua.set_interrupt(move |lua| match interrupt.check() {
            true => Ok(VmState::Continue),
            // With the traceback, for the line number.
            false => Err(Error::runtime(lua.traceback(Some("out of time"), 0)?.to_string_lossy())),
        });
        let vm = Self { lua, budget, limits, name: name.to_owned() };
        vm.prepare().map_err(|error| vm.error(&error))?;
        Ok(vm)
    }

    fn prepare(&self) -> mlua::Result<()> {
        self.lua.set_memory_limit(self.limits.memory)?;
        self.budget.arm(self.limits.start);
        let globals = self.lua.globals();
        // `require` reads files.
        globals.set("require", mlua::Nil)?;
        // One call moves up to 2^31 elements and cannot be interrupted.
        self.lua.load(MOVE).set_name("=table.move").call::<()>(globals.get::<mlua::Table>("table")?)
    }

    /// The underlying machine, for defining globals. Call functions with [`Self::call`], which enforces the limits.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    pub fn run(&self, source: &str) -> Result<(), ScriptError> {
        self.budget.arm(self.limits.start);
        let chunk = self.lua.load(source).set_name(format!("={}", self.name)).set_mode(ChunkMode::Text);
        let function = chunk.into_function().map_err(|error| self.error(&error))?;
        self.finish(function.call(()))
    }

    /// The global function `name`, if defined.
    pub fn function(&self, name: &str) -> Result<Option<Function>, ScriptError> {
        match self.lua.globals().get(name).map_err(|error| self.error(&error))? {
            mlua::Value::Nil => Ok(None),
            mlua::Value::Function(function) => Ok(Some(function)),
            other => {
                let text = format!("{name} is a {}: make it a function", other.type_name());
                Err(ScriptError::new(Kind::Script, &self.name, text))
            }
        }
    }

    /// Calls a function within [`Limits::call`]. After an error the machine can be used again.
    #[inline]
    pub fn call<R: FromLuaMulti>(&self, function: &Function, arguments: impl IntoLuaMulti) -> Result<R, ScriptError> {
        self.call_within(self.limits.call, function, arguments)
    }

    /// Calls a function within `limit`.
    #[inline]
    pub fn call_within<R: FromLuaMulti>(
        &self,
        limit: Duration,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        self.budget.arm(limit);
        self.finish(function.call(arguments))
    }

    #[inline]
    fn finish<R>(&self, returned: mlua::Result<R>) -> Result<R, ScriptError> {
        match returned {
            Ok(returned) if !self.budget.exceeded.get() => Ok(returned),
            other => Err(self.failed(other.err().as_ref())),
        }
    }

    #[inline(never)]
    fn failed(&self, error: Option<&Error>) -> ScriptError {
        let error = match error {
            Some(error) if !self.budget.exceeded.get() => self.error(error),
            timeout => ScriptError::timeout(timeout, &self.name, self.budget.limit.get()),
        };
        if error.kind == Kind::Memory {
            // Garbage of the failed call would count against the next.
            let _ = self.lua.gc_collect();
        }
        error
    }

    fn error(&self, error: &Error) -> ScriptError {
        ScriptError::of(error, &self.name, self.limits.memory)
    }
}

/// Limits `table.move` to a million elements.
const MOVE: &str = r#"
local lib = ...
local move = lib.move
lib.move = function(from, first, last, to, into)
    if type(first) == "number" and type(last) == "number" and last - first >= 1e6 then
        error("table.move: more than a million elements", 2)
    end
    return move(from, first, last, to, into)
end
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { memory: 4 << 20, start: Duration::from_millis(50), call: Duration::from_millis(5) };

    fn machine(text: &str) -> Vm {
        let vm = Vm::new("a.luau", LIMITS, &[]).unwrap();
        vm.run(text).unwrap();
        vm
    }

    fn call(vm: &Vm, name: &str) -> Result<i32, ScriptError> {
        vm.call(&vm.function(name).unwrap().unwrap(), 20)
    }

    #[test]
    fn a_machine_is_usable_after_every_error() {
        let vm = machine(
            "function double(n) return 2 * n end
            function hang() while true do end end
            function hog() local s = 'x' while true do s = s .. s end end
            function fail(n) error('no ' .. n) end
            function wrong() return {} end
            none = 7",
        );
        for (name, kind, words) in [
            ("hang", Kind::Time, "a.luau:2: ran longer than the 5ms a call may take"),
            ("hog", Kind::Memory, "more than its 4 MiB of memory"),
            ("fail", Kind::Error, "a.luau:4: no 20"),
            ("wrong", Kind::Error, "a.luau: "),
        ] {
            let error = call(&vm, name).unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(call(&vm, "double"), Ok(40), "after {name}");
        }
        assert!(vm.function("other").unwrap().is_none());
        assert!(vm.function("none").unwrap_err().to_string().contains("make it a function"));
    }

    #[test]
    fn invalid_scripts_are_rejected() {
        let vm = Vm::new("a.luau", LIMITS, &[]).unwrap();
        for (text, kind) in [
            ("x =", Kind::Script),
            ("\u{1b}Lua", Kind::Script),
            ("error('x')", Kind::Error),
            ("while true do end", Kind::Time),
        ] {
            assert_eq!(vm.run(text).unwrap_err().kind, kind, "{text}");
        }
        let small = Vm::new("a.luau", Limits { memory: 1, ..LIMITS }, &[]).unwrap_err();
        assert_eq!(small.kind, Kind::Memory, "{small}");
    }

    #[test]
    fn table_move_is_limited_to_a_million_elements() {
        let vm = machine(
            "function small() local t = table.move({1, 2, 3}, 1, 3, 2) return t[4] * 10 + t[1] end
            function large() return #table.move({}, 1, 2^31 - 1, 1, {}) end",
        );
        assert_eq!(call(&vm, "small"), Ok(31));
        assert!(call(&vm, "large").unwrap_err().to_string().starts_with("a.luau:2: table.move: more than a million"));
    }
}
