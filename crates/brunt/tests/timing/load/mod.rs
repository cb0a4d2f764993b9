//! `brunt load`: what it measures of processes and of the scheduler.

mod results;
mod verdicts;
