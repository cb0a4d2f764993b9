//! Tests that measure the machine, one at a time.

mod signals;
