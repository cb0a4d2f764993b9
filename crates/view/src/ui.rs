//! Past results, running loads and comparisons in the browser, on this machine alone.
//!
//! ```text
//! brunt_serve --> site --> gate       token, Host, Origin
//!                      |-> results    what may be read
//!                      |-> pages      history, comparison, form
//!                      |-> watcher    server-sent events of a directory
//!                      `-> jobs       loads started here
//! ```

mod form;
mod gate;
mod jobs;
mod loopback;
mod pages;
mod reply;
mod results;
mod server;
mod site;
mod watcher;

pub use loopback::Loopback;
pub use server::Served;
pub use site::{Check, Site, Starting};
