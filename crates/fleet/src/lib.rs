//! Pure cores of one load that several machines make: messages, clocks, leases, and agent and coordinator as state machines.
//!
//! The *coordinator* is the program that the user started; an *agent* makes the load of one machine, a contiguous range of the
//! load threads of the run. Neither core has a clock, a socket, a file or a thread: each takes a message, a local happening or
//! the time, and returns what is to be sent and done. `docs/internals/fleet.md` has states, messages and invariants.
//!
//! Units and clocks:
//! - All times are `i64` nanoseconds of CLOCK_MONOTONIC of one machine. Names and comments state which; times in messages are
//!   those of the coordinator's clock, which is the clock of the run, unless they are named as the agent's.
//! - Latencies never depend on two clocks: a request is timed by one machine. Offsets between clocks decide when a load starts
//!   and ends, and which second of the run a request belongs to.
#![forbid(unsafe_code)]

pub mod agent;
pub mod coordinator;
pub mod lease;
pub mod nats;
pub mod sessions;
pub mod sync;
pub mod words;

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub const MILLISECOND_NS: i64 = 1_000_000;
