//! The parameter `req` of a script: one object for all calls of an instance, which stands for the current request. Texts are
//! created when they are read.

use super::values;
use crate::http::{handler::Request, handlers::query::pairs};
use brunt_luau::mlua::{
    AnyUserData, Error, IntoLua, Lua, LuaString, MetaMethod, Result, Table, UserData, UserDataMethods, Value, Variadic,
};
use brunt_wire::http1::Fields;
use std::{cell::RefCell, net::SocketAddr, ops::Range, rc::Rc};

/// Largest buffer kept between calls.
const KEPT: usize = 64 << 10;

/// The keys of `req`.
const NAMES: &[&str] = &["method", "path", "query", "args", "headers", "body", "peer", "ip", "local", "version"];

/// A copy of the current request.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Method, path, query, fields and body.
    bytes: Vec<u8>,
    /// Where the parts before the body end.
    ends: [usize; 4],
    minor_version: u8,
    /// Of the client and of the server.
    addresses: Option<(SocketAddr, SocketAddr)>,
    /// Created when first read.
    args: Option<Table>,
}

impl Held {
    /// Copies the request of the next call.
    pub fn take(&mut self, request: &Request<'_>) {
        let bytes = &mut self.bytes;
        bytes.clear();
        let [method, path, query] = [request.method, request.path, request.query].map(str::as_bytes);
        self.ends = [method, path, query, request.fields.as_bytes()].map(|part| {
            bytes.extend_from_slice(part);
            bytes.len()
        });
        bytes.extend_from_slice(request.body);
        self.minor_version = request.minor_version;
        self.addresses = Some((request.peer, request.local));
        self.args = None;
    }

    /// Frees a large buffer.
    pub fn trim(&mut self) {
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }

    fn fields(&self) -> Fields<'_> {
        Fields::from_bytes(&self.bytes[self.ends[2]..self.ends[3]])
    }

    /// The values of all fields of this name, joined by commas (RFC 9110, 5.3).
    fn joined(&self, lua: &Lua, name: &str) -> Result<Value> {
        let fields = self.fields();
        let mut all = fields.all(name);
        let Some(first) = all.next() else { return Ok(Value::Nil) };
        let Some(second) = all.next() else { return lua.create_string(first).map(Value::String) };
        let joined =
            std::iter::once(second).chain(all).fold(first.to_vec(), |joined, value| [&joined, value].join(&b", "[..]));
        lua.create_string(joined).map(Value::String)
    }

    /// Lower-case names and joined values, in order of first occurrence.
    pub fn pairs(&self, lua: &Lua) -> Result<Vec<(LuaString, Value)>> {
        let mut pairs = Vec::new();
        for (at, field) in self.fields().iter().enumerate() {
            let mut before = self.fields().iter().take(at);
            if !before.any(|before| before.name.eq_ignore_ascii_case(field.name)) {
                pairs.push((lua.create_string(field.name.to_ascii_lowercase())?, self.joined(lua, field.name)?));
            }
        }
        Ok(pairs)
    }
}

/// `req`.
pub(super) struct View {
    pub held: Rc<RefCell<Held>>,
    /// `req.headers`.
    pub headers: AnyUserData,
}

impl View {
    fn get(&self, lua: &Lua, key: &Value) -> Result<Value> {
        let Value::String(key) = key else { return Err(unknown(key)) };
        let mut held = self.held.borrow_mut();
        let text = |range: Range<usize>| lua.create_string(&held.bytes[range]).map(Value::String);
        let ([method, path, query, fields], Some((peer, local))) = (held.ends, held.addresses) else {
            return Ok(Value::Nil);
        };
        match &*key.as_bytes() {
            b"method" => text(0..method),
            b"path" => text(method..path),
            b"query" => text(path..query),
            b"body" => text(fields..held.bytes.len()),
            b"headers" => Ok(Value::UserData(self.headers.clone())),
            b"args" => {
                if let Some(args) = &held.args {
                    return Ok(Value::Table(args.clone()));
                }
                let args = arguments(lua, &held.bytes[path..query])?;
                held.args = Some(args.clone());
                Ok(Value::Table(args))
            }
            b"peer" => peer.to_string().into_lua(lua),
            b"ip" => peer.ip().to_string().into_lua(lua),
            b"local" => local.to_string().into_lua(lua),
            b"version" => format!("1.{}", held.minor_version).into_lua(lua),
            _ => Err(unknown(&Value::String(key.clone()))),
        }
    }
}

/// `req.args`: the first value of each name.
fn arguments(lua: &Lua, query: &[u8]) -> Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in pairs(query) {
        let name = lua.create_string(name)?;
        if !table.contains_key(&name)? {
            table.raw_set(name, lua.create_string(value)?)?;
        }
    }
    Ok(table)
}

fn unknown(key: &Value) -> Error {
    let key = values::shown(key);
    Error::runtime(format!("req has no {key}: it has {}", NAMES.join(", ")))
}

impl UserData for View {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, view, key: Value| view.get(lua, &key));
    }
}

/// `req.headers`: read by case-insensitive name, or iterated with `for name, value in req.headers do`.
pub(super) struct Headers(pub Rc<RefCell<Held>>);

impl UserData for Headers {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, headers, name: LuaString| {
            headers.0.borrow().joined(lua, &name.to_string_lossy())
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, headers, ()| {
            let mut pairs = headers.0.borrow().pairs(lua)?.into_iter();
            // Called until it returns nil.
            lua.create_function_mut(move |_, _: Variadic<Value>| {
                Ok(pairs.next().map_or((Value::Nil, Value::Nil), |(name, value)| (Value::String(name), value)))
            })
        });
    }
}
