//! What shows a load or a run while it goes on and afterwards.
//!
//! ```text
//! directory of a load --> live ------> a screen in the terminal
//!                            `-------> ui: pages in the browser
//! seconds of a load ----> progress --> lines on stderr
//!                    |--> course ----> the page so far, doubts
//!                    `--> metrics ---> Prometheus, OpenTelemetry
//! result ---------------> summary, short, percentiles
//! directory of results -> page
//! schedule of a run ----> preview, trials
//! ```
//!
//! It measures nothing. What it shows, and where, are values, not the arguments of a command.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod cores;
pub mod course;
mod doubts;
pub mod format;
pub mod live;
pub mod metrics;
pub mod page;
pub mod percentiles;
pub mod preview;
pub mod progress;
pub mod short;
pub mod status_line;
pub mod summary;
mod told;
pub mod trials;
pub mod ui;
mod web;
