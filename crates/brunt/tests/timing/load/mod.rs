//! `brunt load`: what it measures.

mod calibration;
mod counts;
mod endings;
mod live;
mod memory;
mod replay;
mod results;
mod screen;
mod secrets;
mod stages;
mod stall;
mod verdicts;
