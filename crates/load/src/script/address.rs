//! Addresses in scripts: `wrk.lookup`, `wrk.connect` and `thread.addr`.

use brunt_luau::mlua::{Error, Lua, MetaMethod, Result, Table, UserData, UserDataMethods, Value};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
pub(super) struct Address(pub SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
    }
}

pub(super) fn of(value: &Value) -> Result<SocketAddr> {
    let address = value.as_userdata().and_then(|data| data.borrow::<Address>().ok());
    let error =
        || Error::runtime(format!("a {} is not an address: use one that wrk.lookup returned", value.type_name()));
    address.map(|address| address.0).ok_or_else(error)
}

pub(super) fn list(lua: &Lua, addresses: impl IntoIterator<Item = SocketAddr>) -> Result<Table> {
    lua.create_sequence_from(addresses.into_iter().map(Address))
}

/// `wrk.lookup(host, service)`; a service is a port, `http` or `https`.
pub(super) fn lookup(lua: &Lua, (host, service): (String, String)) -> Result<Table> {
    let port = match &*service {
        "http" => 80,
        "https" => 443,
        digits => digits.parse().map_err(|_| {
            Error::runtime(format!("wrk.lookup: `{service}` is not a known service: use a port, http or https"))
        })?,
    };
    let found = (&*host, port).to_socket_addrs();
    list(lua, found.map_err(|error| Error::runtime(format!("wrk.lookup: cannot resolve {host}: {error}")))?)
}

/// `wrk.connect(address)`: whether something listens there.
pub(super) fn connect(_: &Lua, address: Value) -> Result<bool> {
    Ok(TcpStream::connect_timeout(&of(&address)?, CONNECT_TIMEOUT).is_ok())
}
