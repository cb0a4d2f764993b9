//! Load over HTTP on servers with exactly known behaviour: correct replies are counted, failures by their kind.

mod connections;
mod faults;
mod first_byte;
mod hosts;
mod pipelines;
mod replies;
mod requests;
mod script;
mod session;
mod tls;
