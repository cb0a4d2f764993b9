//! Tests that others may run beside.

#![allow(clippy::disallowed_methods, reason = "processes take real time")]

mod jobs;
