//! The object `thread` in `setup` and `done` ([`ThreadHandle`]), and in the VM of the thread itself ([`CurrentThread`]).

use super::plain::{Globals, Plain};
use brunt_luau::mlua::{Error, LuaString, MetaMethod, Result, UserData, UserDataMethods, Value};
use std::cell::{Cell, RefCell, RefMut};
use std::{net::SocketAddr, rc::Rc};

/// One load thread, as the VM of `setup` and `done` sees it.
#[derive(Debug)]
pub(super) struct State {
    pub address: SocketAddr,
    /// Globals to be set before the script runs.
    pub set: Vec<(String, Plain)>,
    /// Globals of its VM: in `setup` those that all threads begin with, in `done` those at its end.
    pub globals: Globals,
}

#[derive(Debug, Clone)]
pub(super) struct ThreadHandle(Rc<RefCell<State>>);

impl ThreadHandle {
    pub fn new(address: SocketAddr, globals: Globals) -> Self {
        Self(Rc::new(RefCell::new(State { address, set: Vec::new(), globals })))
    }

    pub fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }
}

impl UserData for ThreadHandle {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: LuaString| match thread.state().globals.get(&*name.as_bytes()) {
            Some(Ok(value)) => value.put(lua),
            Some(Err(error)) => Err(Error::runtime(error)),
            None => Ok(Value::Nil),
        });
        methods.add_method("set", |_, thread, (name, value): (String, Value)| {
            let value = Plain::of(&value)?;
            let mut state = thread.state();
            state.globals.insert(name.clone().into_bytes(), Ok(value.clone()));
            state.set.push((name, value));
            Ok(())
        });
        // The thread does not run; wrk does nothing either.
        methods.add_method("stop", |_, _, ()| Ok(()));
        methods.add_meta_method(MetaMethod::Index, |_, thread, name: String| {
            Ok((name == "addr").then(|| Address(thread.state().address)))
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, thread, (name, value): (String, Value)| {
            thread.state().address = new_address(&name, &value)?;
            Ok(())
        });
    }
}

/// `wrk.thread`. Its address has no effect any more.
pub(super) struct CurrentThread {
    pub stopped: Rc<Cell<bool>>,
    pub address: Cell<SocketAddr>,
    pub is_shared: bool,
}

impl UserData for CurrentThread {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, _, name: LuaString| lua.globals().get::<Value>(name));
        methods.add_method("set", |lua, _, (name, value): (LuaString, Value)| {
            // Rejects the values that cannot be passed between threads.
            lua.globals().set(name, Plain::of(&value)?.put(lua)?)
        });
        methods.add_method("stop", |_, thread, ()| {
            if thread.is_shared {
                return Err(Error::runtime(
                    "thread:stop() and --on: it ends the threads of one machine alone; end the load with -n or -d",
                ));
            }
            thread.stopped.set(true);
            Ok(())
        });
        methods.add_meta_method(MetaMethod::Index, |_, thread, name: String| {
            Ok((name == "addr").then(|| Address(thread.address.get())))
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, thread, (name, value): (String, Value)| {
            thread.address.set(new_address(&name, &value)?);
            Ok(())
        });
    }
}

/// The value assigned to a field of `thread`, which must be `addr`.
fn new_address(name: &str, value: &Value) -> Result<SocketAddr> {
    match name {
        "addr" => address_of(value),
        _ => Err(Error::runtime(format!("cannot set '{name}' on thread: it has addr, and set(name, value)"))),
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Address(pub SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
    }
}

/// The address that a script passes.
pub(super) fn address_of(value: &Value) -> Result<SocketAddr> {
    let address = value.as_userdata().and_then(|data| data.borrow::<Address>().ok());
    let error =
        || Error::runtime(format!("a {} is not an address: use one that wrk.lookup returned", value.type_name()));
    address.map(|address| address.0).ok_or_else(error)
}
