//! Tests that others may run beside.

mod jobs;
