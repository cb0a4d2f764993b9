//! Multi-process servers and loads. The tests set a low limit of open files so that a few hundred connections need
//! several processes.

mod endings;
mod plan;
mod refusals;
mod sharing;
mod together;
