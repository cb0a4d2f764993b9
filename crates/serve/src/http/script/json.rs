//! `json.encode` and `json.decode`. A value without a JSON form (a function, NaN, a table that contains itself) is an error.

use super::{request::Headers, values::shown};
use brunt_luau::mlua::{Error, Lua, LuaString, Result, Table, Value};
use brunt_luau::number;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Deepest nesting, as in the parser.
const DEPTH: usize = 100;

/// Longest encoded text. Without a limit, references to one long text would exceed the memory limit.
const LONGEST: usize = 16 << 20;

/// The table `json`: `encode`, `decode`, `null`, and `array`, which marks a table as a list even if it is empty.
pub(super) fn library(lua: &Lua) -> Result<Table> {
    let list = lua.create_table()?;
    list.raw_set("__metatable", "json list")?;
    let library = lua.create_table()?;
    library.raw_set("null", Value::NULL)?;
    let (encoded, decoded, marked) = (list.clone(), list.clone(), list);
    library.raw_set(
        "encode",
        lua.create_function(move |lua, value: Value| {
            let mut writer = Writer { lua, list: &encoded, out: Vec::new() };
            writer.value(&value, 0)?;
            lua.create_string(writer.out)
        })?,
    )?;
    library.raw_set(
        "decode",
        lua.create_function(move |lua, text: LuaString| {
            let bytes = text.as_bytes();
            let mut parser = serde_json::Deserializer::from_slice(&bytes);
            let value = Seed { lua, list: &decoded }.deserialize(&mut parser);
            value
                .and_then(|value| parser.end().map(|()| value))
                .map_err(|error| Error::runtime(format!("json: {error}")))
        })?,
    )?;
    library.raw_set(
        "array",
        lua.create_function(move |lua, table: Option<Table>| {
            let table = table.map_or_else(|| lua.create_table(), Ok)?;
            table.set_metatable(Some(marked.clone()))?;
            Ok(table)
        })?,
    )?;
    Ok(library)
}

struct Writer<'l> {
    lua: &'l Lua,
    /// The metatable of marked lists.
    list: &'l Table,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<()> {
        if depth > DEPTH {
            let message = format!("json: more than {DEPTH} tables deep, or a table that contains itself");
            return Err(Error::runtime(message));
        }
        if self.out.len() > LONGEST {
            return Err(Error::runtime(format!("json: the text is longer than {} MiB", LONGEST >> 20)));
        }
        match value {
            value if value.is_null() || value.is_nil() => self.out.extend_from_slice(b"null"),
            Value::Boolean(truth) => self.out.extend_from_slice(if *truth { b"true" } else { b"false" }),
            Value::String(text) => self.text(text)?,
            Value::Table(table) => self.table(table, depth)?,
            Value::UserData(data) => match data.borrow::<Headers>() {
                Ok(headers) => {
                    let pairs = headers.0.borrow().pairs(self.lua)?;
                    self.object(pairs.into_iter().map(|(name, value)| Ok((Value::String(name), value))), depth)?;
                }
                Err(_) => return Err(refused(value)),
            },
            value => match number(value).filter(|number| number.is_finite()) {
                // `1`, not `1.0`.
                Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                    self.out.extend_from_slice((number as i64).to_string().as_bytes());
                }
                Some(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
                None => return Err(refused(value)),
            },
        }
        Ok(())
    }

    fn text(&mut self, text: &LuaString) -> Result<()> {
        // Invalid UTF-8 has no JSON form; it is replaced.
        let text = text.to_string_lossy();
        serde_json::to_writer(&mut self.out, &text).map_err(Error::runtime)
    }

    /// A list if it is marked as one or has an element 1, otherwise an object.
    fn table(&mut self, table: &Table, depth: usize) -> Result<()> {
        let length = table.raw_len();
        let marked = table.metatable().is_some_and(|meta| meta == *self.list);
        if length == 0 && !marked {
            return self.object(table.pairs::<Value, Value>(), depth);
        }
        self.out.push(b'[');
        for at in 1..=length {
            if at > 1 {
                self.out.push(b',');
            }
            self.value(&table.raw_get(at)?, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, pairs: impl Iterator<Item = Result<(Value, Value)>>, depth: usize) -> Result<()> {
        self.out.push(b'{');
        let start = self.out.len();
        for pair in pairs {
            let (key, value) = pair?;
            if self.out.len() > start {
                self.out.push(b',');
            }
            match &key {
                Value::String(name) => self.text(name)?,
                key => match number(key) {
                    Some(number) => self.out.extend_from_slice(format!("\"{number}\"").as_bytes()),
                    None => return Err(Error::runtime(format!("json: {} cannot be a name", shown(key)))),
                },
            }
            self.out.push(b':');
            self.value(&value, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }
}

fn refused(value: &Value) -> Error {
    Error::runtime(format!("json: {} cannot be written", shown(value)))
}

/// Deserializes one value into the virtual machine.
#[derive(Clone, Copy)]
struct Seed<'l> {
    lua: &'l Lua,
    list: &'l Table,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::NULL)
    }

    fn visit_bool<E>(self, truth: bool) -> std::result::Result<Value, E> {
        Ok(Value::Boolean(truth))
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Value, E> {
        self.lua.create_string(text).map(Value::String).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<Value, A::Error> {
        let table = self.lua.create_table().map_err(A::Error::custom)?;
        let mut at = 0;
        while let Some(value) = elements.next_element_seed(self)? {
            at += 1;
            table.raw_set(at, value).map_err(A::Error::custom)?;
        }
        // Without the mark an empty list would be encoded as an object.
        table.set_metatable(Some(self.list.clone())).map_err(A::Error::custom)?;
        Ok(Value::Table(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let table = self.lua.create_table().map_err(A::Error::custom)?;
        while let Some(name) = entries.next_key_seed(self)? {
            let value = entries.next_value_seed(self)?;
            table.raw_set(name, value).map_err(A::Error::custom)?;
        }
        Ok(Value::Table(table))
    }
}
