//! `brunt serve http` end to end: the real binary and clients, on every model.

mod deadlines;
mod endings;
mod faults;
mod httpbin;
mod limits;
mod messages;
mod refusals;
mod reload;
mod reports;
mod routes;
mod script;
mod tls;

/// Makes a test per model from functions that take its name.
macro_rules! on_every_model {
    ($($name:ident)*) => {
        mod uring { $(#[test] fn $name() { super::$name("uring") })* }
        mod epoll { $(#[test] fn $name() { super::$name("epoll") })* }
        mod tokio { $(#[test] fn $name() { super::$name("tokio") })* }
    };
}
use on_every_model;
