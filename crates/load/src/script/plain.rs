//! Values that are copied between VMs: as in wrk, nil, booleans, numbers, strings and tables of these.

use brunt_luau::mlua::{Error, Lua, Result, Table, Value};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Limit of the nesting of tables, which a table that contains itself exceeds.
const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Plain {
    Nil,
    Boolean(bool),
    #[serde(with = "bits")]
    Number(f64),
    #[serde(with = "bytes")]
    Text(Vec<u8>),
    Table(Vec<(Plain, Plain)>),
}

/// JSON has neither infinite numbers nor those that are none.
mod bits {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        number.to_bits().serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// Texts of scripts are bytes: each is the character of its number.
mod bytes {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        bytes.iter().copied().map(char::from).collect::<String>().serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        text.chars().map(|c| u8::try_from(u32::from(c)).map_err(D::Error::custom)).collect()
    }
}

/// Globals of a VM by name; an error in place of those that cannot be copied.
pub(super) type Globals = HashMap<Vec<u8>, std::result::Result<Plain, String>>;

impl Plain {
    pub fn of(value: &Value) -> Result<Self> {
        Self::at_depth(value, 0)
    }

    fn at_depth(value: &Value, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(Error::runtime(format!(
                "cannot transfer a table more than {MAX_DEPTH} deep, or in itself, to thread"
            )));
        }
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(boolean) => Self::Boolean(*boolean),
            Value::Integer(number) => Self::Number(*number as f64),
            Value::Number(number) => Self::Number(*number),
            Value::String(text) => Self::Text(text.as_bytes().to_vec()),
            Value::Table(table) => {
                let mut pairs = Vec::new();
                table.for_each(|key: Value, value: Value| {
                    pairs.push((Self::at_depth(&key, depth + 1)?, Self::at_depth(&value, depth + 1)?));
                    Ok(())
                })?;
                Self::Table(pairs)
            }
            other => return Err(Error::runtime(format!("cannot transfer '{}' to thread", other.type_name()))),
        })
    }

    pub fn put(&self, lua: &Lua) -> Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Boolean(boolean) => Value::Boolean(*boolean),
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

/// The globals of a VM without `predefined` ones.
pub(super) fn globals(lua: &Lua, predefined: &HashSet<Vec<u8>>) -> Globals {
    let globals = lua.globals();
    let own = named(&globals).filter(|(name, _)| !predefined.contains(name));
    own.map(|(name, value)| (name, Plain::of(&value).map_err(|error| error.to_string()))).collect()
}

pub(super) fn names(globals: &Table) -> HashSet<Vec<u8>> {
    named(globals).map(|(name, _)| name).collect()
}

fn named(globals: &Table) -> impl Iterator<Item = (Vec<u8>, Value)> {
    // Conversion to `Value` does not fail.
    let pairs = globals.pairs::<Value, Value>().flatten();
    pairs.filter_map(|(key, value)| Some((key.as_string()?.as_bytes().to_vec(), value)))
}
