//! An HTTP/1 server. [`Server`] is the entry point.
//!
//! ```text
//! Plan (data) -> Router (per worker) -> static bytes | Handler -> Response -> bytes
//!                  ^ rebuilt when the plan is replaced
//! native | tokio -> worker_loop -> [tls ->] connection -> conversation
//! ```

mod access_log;
mod action;
mod config;
mod connection;
mod conversation;
mod deadlines;
pub mod handler;
mod handlers;
mod metrics;
mod native;
mod response_writer;
mod router;
pub mod script;
mod server;
mod shared;
mod tls;
mod tokio;
mod worker;
mod worker_loop;

pub use config::{CertCache, Plan, Service, Settings, read_routes};
pub use handlers::query::pairs as query_pairs;
pub use server::{Reloader, Server};
pub use shared::Options;
