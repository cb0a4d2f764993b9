//! `req.args`: the query as a table.

use crate::http::handlers::query::decode;
use brunt_luau::mlua::{Lua, Result, Table};

/// The first value of each name; names without `=` have the empty text.
pub(super) fn table(lua: &Lua, query: &[u8]) -> Result<Table> {
    let table = lua.create_table()?;
    for pair in query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=');
        let (name, value) = at.map_or((pair, &[][..]), |at| (&pair[..at], &pair[at + 1..]));
        let name = lua.create_string(decode(name))?;
        if !table.contains_key(&name)? {
            table.raw_set(name, lua.create_string(decode(value))?)?;
        }
    }
    Ok(table)
}
