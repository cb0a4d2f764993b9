//! What is read between two slices of load on servers that stay up: CPU time of a server, interrupt time of its cores, and
//! time that the machine took away.
//!
//! A slice is a fraction of a second, so a read must be cheap (below 0.1 ms for a server of a few threads) and exact: the
//! kernel's account of a running thread is up to a scheduler tick old, which is 4 % of a slice of 100 ms at 250 Hz. All values
//! are cumulative; the caller subtracts.

mod gaps;
mod irq_time;
mod lost_time;
mod running;
mod server_cpu;

pub use gaps::Gaps;
pub use irq_time::{IrqTime, irq_time_accounting};
pub use lost_time::{Lost, LostTime};
pub use server_cpu::{CpuSource, ServerCpu};
