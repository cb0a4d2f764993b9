//! The load over HTTP against servers that do one thing exactly: what is right is counted, what is wrong is told apart.

#[path = "../common/mod.rs"]
mod common;

mod connections;
mod faults;
mod hosts;
mod pipelines;
mod replies;
mod requests;
mod script;
mod time;
mod tls;
mod web;
