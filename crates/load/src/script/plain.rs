//! Values that pass from one machine to another: what wrk passes, which is nil, booleans, numbers, texts and tables of these.

use brunt_luau::mlua::{Error, Lua, Result, Table, Value};
use std::collections::{HashMap, HashSet};

/// How deep tables may nest; one that contains itself is deeper.
const DEPTH: usize = 100;

/// A value that belongs to no machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plain {
    /// Nothing.
    Nil,
    /// A truth.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Vec<u8>),
    /// Keys and values.
    Table(Vec<(Plain, Plain)>),
}

/// The globals of a machine, or why one of them cannot leave it.
pub(super) type Globals = HashMap<Vec<u8>, std::result::Result<Plain, String>>;

impl Plain {
    /// The value, taken out of its machine.
    pub fn of(value: &Value) -> Result<Self> {
        Self::within(value, 0)
    }

    fn within(value: &Value, depth: usize) -> Result<Self> {
        if depth > DEPTH {
            return Err(Error::runtime(format!(
                "cannot transfer a table more than {DEPTH} deep, or in itself, to thread"
            )));
        }
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(truth) => Self::Boolean(*truth),
            Value::Integer(number) => Self::Number(*number as f64),
            Value::Number(number) => Self::Number(*number),
            Value::String(text) => Self::Text(text.as_bytes().to_vec()),
            Value::Table(table) => {
                let mut pairs = Vec::new();
                table.for_each(|key: Value, value: Value| {
                    pairs.push((Self::within(&key, depth + 1)?, Self::within(&value, depth + 1)?));
                    Ok(())
                })?;
                Self::Table(pairs)
            }
            other => return Err(Error::runtime(format!("cannot transfer '{}' to thread", other.type_name()))),
        })
    }

    /// The value, put into a machine.
    pub fn put(&self, lua: &Lua) -> Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Boolean(truth) => Value::Boolean(*truth),
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::String(lua.create_string(text)?),
            Self::Table(pairs) => {
                let table = lua.create_table()?;
                for (key, value) in pairs {
                    table.raw_set(key.put(lua)?, value.put(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }
}

/// All globals of a machine but those of these names.
pub(super) fn globals(lua: &Lua, known: &HashSet<Vec<u8>>) -> Globals {
    let mut found = Globals::new();
    // The walk cannot fail: nothing in it does.
    let _ = lua.globals().for_each(|key: Value, value: Value| {
        if let Value::String(name) = &key
            && !known.contains(&*name.as_bytes())
        {
            found.insert(name.as_bytes().to_vec(), Plain::of(&value).map_err(|error| error.to_string()));
        }
        Ok(())
    });
    found
}

/// The names of the globals there are.
pub(super) fn names(globals: &Table) -> HashSet<Vec<u8>> {
    let mut names = HashSet::new();
    let _ = globals.for_each(|key: Value, _: Value| {
        if let Value::String(name) = &key {
            names.insert(name.as_bytes().to_vec());
        }
        Ok(())
    });
    names
}
