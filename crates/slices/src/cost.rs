//! CPU time of servers over their rate, from slices of one length that take turns over targets and rates.
//!
//! ```text
//! slices -> rounds -> points (cost, latency; what is left out) -> line (standing + marginal x rate, misfit, bend)
//!                  \-> ties between targets                    \-> frontier of cost against p99
//! ```
//!
//! A *point* is a target at a rate. Its CPU time a second is nearly a line over the rate: the *standing cost*, which the server
//! uses without any request, and the *marginal cost* of one request more. `docs/reference/statistics.md` has every formula.

mod analysis;
mod estimate;
mod frontier;
pub mod length;
mod line;
mod points;
mod record;
mod rounds;
mod target;
mod ties;

pub use analysis::{CostAnalysis, LEAST_ROUNDS, Precision, Settings, analyse};
pub use estimate::Estimate;
pub use line::{Bend, CostLine, Misfit, Terms, line_over_starts};
pub use points::Point;
pub use record::{CostSlice, read};
pub use target::{PartCost, TargetCost};
