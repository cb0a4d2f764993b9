//! The controller in given time: exact sequences of decisions and actions, and what holds of all of them.

mod bench;
mod decisions;
mod guarded;
mod properties;
mod timing;
