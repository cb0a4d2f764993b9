//! `brunt load`: what it measures.

mod counts;
mod endings;
mod live;
mod replay;
mod results;
mod stages;
mod stall;
mod verdicts;
