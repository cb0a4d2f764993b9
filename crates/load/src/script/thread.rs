//! `thread`, as `setup` and `done` see it: what is set goes to a load thread before it begins, and what is asked for comes
//! from what it left behind.

use super::{
    address::{self, Address},
    plain::{Globals, Plain},
};
use brunt_luau::mlua::{AnyUserData, Error, Lua, MetaMethod, Result, UserData, UserDataMethods, Value};
use std::{cell::RefCell, net::SocketAddr, rc::Rc};

/// One load thread, as far as scripts know it.
#[derive(Debug)]
pub(super) struct Slot {
    address: SocketAddr,
    set: Vec<(String, Plain)>,
    /// The globals of its machine: before the run those of the script's first lines, later those at its end.
    globals: Globals,
}

impl Slot {
    /// A thread that connects to `address`.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, set: Vec::new(), globals: Globals::new() }
    }
}

/// All load threads.
#[derive(Debug, Clone)]
pub(super) struct Threads(Rc<RefCell<Vec<Slot>>>);

impl Threads {
    pub fn new(slots: Vec<Slot>) -> Self {
        Self(Rc::new(RefCell::new(slots)))
    }

    /// The object for one of them.
    pub fn handle(&self, lua: &Lua, number: usize) -> Result<AnyUserData> {
        lua.create_userdata(Thread { threads: self.clone(), number })
    }

    /// Every thread begins with these globals.
    pub fn remember(&self, globals: Globals) {
        self.0.borrow_mut().iter_mut().for_each(|slot| slot.globals.clone_from(&globals));
    }

    /// Thread `number` has ended with these globals.
    pub fn leave(&self, number: usize, globals: Globals) {
        if let Some(slot) = self.0.borrow_mut().get_mut(number) {
            slot.globals = globals;
        }
    }

    /// What has been set, for each.
    pub fn take_set(&self) -> Vec<Vec<(String, Plain)>> {
        self.0.borrow_mut().iter_mut().map(|slot| std::mem::take(&mut slot.set)).collect()
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.borrow().iter().map(|slot| slot.address).collect()
    }
}

/// `thread`.
struct Thread {
    threads: Threads,
    number: usize,
}

impl Thread {
    fn with<R>(&self, f: impl FnOnce(&mut Slot) -> R) -> R {
        f(&mut self.threads.0.borrow_mut()[self.number])
    }

    fn get(&self, lua: &Lua, name: &[u8]) -> Result<Value> {
        match self.with(|slot| slot.globals.get(name).cloned()) {
            Some(Ok(value)) => value.put(lua),
            Some(Err(text)) => Err(Error::runtime(text)),
            None => Ok(Value::Nil),
        }
    }
}

impl UserData for Thread {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: brunt_luau::mlua::LuaString| thread.get(lua, &name.as_bytes()));
        methods.add_method("set", |_, thread, (name, value): (String, Value)| {
            let value = Plain::of(&value)?;
            thread.with(|slot| {
                slot.globals.insert(name.clone().into_bytes(), Ok(value.clone()));
                slot.set.push((name, value));
            });
            Ok(())
        });
        // It does not run now: in wrk this has no effect either.
        methods.add_method("stop", |_, _, ()| Ok(()));
        methods.add_meta_method(MetaMethod::Index, |lua, thread, name: String| match &*name {
            "addr" => lua.create_userdata(Address(thread.with(|slot| slot.address))).map(Value::UserData),
            _ => Ok(Value::Nil),
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, thread, (name, value): (String, Value)| match &*name {
            "addr" => {
                let address = address::of(&value)?;
                thread.with(|slot| slot.address = address);
                Ok(())
            }
            _ => Err(Error::runtime(format!("cannot set '{name}' on thread: it has addr, and set(name, value)"))),
        });
    }
}
