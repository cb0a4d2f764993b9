//! Command line shared by the examples: `[ADDRESS] [uring|epoll]`.

mod backend;

use brunt_runtime::{Builder, Runtime};
use std::{env, net::SocketAddr};

/// The address to listen on (default 127.0.0.1:7000) and a builder with the backend, by default the best one.
pub fn parse() -> Result<(SocketAddr, Builder), String> {
    let mut args = env::args().skip(1);
    let text = args.next().unwrap_or_else(|| "127.0.0.1:7000".to_owned());
    let address = text.parse().map_err(|_| format!("'{text}' is not an address; write one like 127.0.0.1:7000"))?;
    let backend = backend::backend(args.next().as_deref())?;
    Ok((address, Runtime::builder().backend(backend)))
}
