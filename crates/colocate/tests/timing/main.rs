//! Tests that measure the machine, one at a time.

#![allow(clippy::disallowed_methods, reason = "processes take real time")]

mod signals;
