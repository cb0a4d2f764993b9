//! Implementations of other crates' traits. Each is a feature, off by default, that adds implementations only.
//!
//! - `hyper`: streams implement [hyper](https://docs.rs/hyper/1)'s `Read` and `Write`; `HyperExecutor` and `HyperTimer`
//!   provide tasks and timers. See `examples/hyper_server.rs`. `HyperStream` is for upgrades, see `examples/reverse_proxy.rs`.
//! - `hyper-util`: `HyperConnector` for its client and the pool of connections in it. See `examples/hyper_client.rs`.
//! - `futures-io`: streams and their halves implement `AsyncRead` and `AsyncWrite` of
//!   [futures-io](https://docs.rs/futures-io/0.3), used by futures-rustls and others. See `examples/tls_echo.rs`.
//!
//! Futures that drive such a library stay on their thread and need not be `Send`.

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "hyper")]
mod hyper_stream;
#[cfg(feature = "hyper-util")]
mod hyper_util;

#[cfg(feature = "hyper")]
pub use self::hyper::{HyperExecutor, HyperTimer};
#[cfg(feature = "hyper")]
pub use self::hyper_stream::HyperStream;
#[cfg(feature = "hyper-util")]
pub use self::hyper_util::HyperConnector;
