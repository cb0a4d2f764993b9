//! The traits of other crates, so that what is written for them runs here unmodified. Each is a feature of this crate, off
//! by default, and adds implementations only: nothing behaves differently with it.
//!
//! - `hyper`: streams are [hyper](https://docs.rs/hyper/1)'s `Read` and `Write`; [`HyperExecutor`] and [`HyperTimer`] are
//!   the rest that it asks of a runtime. See `examples/hyper_server.rs`.
//! - `futures-io`: streams and their halves are `AsyncRead` and `AsyncWrite` of
//!   [futures-io](https://docs.rs/futures-io/0.3), on which rustls (by futures-rustls) and others stand. See
//!   `examples/tls_echo.rs`.
//!
//! A future that drives such a library stays on its thread, as everything of this runtime: it need not be `Send`.

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
mod hyper;

#[cfg(feature = "hyper")]
pub use self::hyper::{HyperExecutor, HyperTimer};
