//! `brunt serve echo` and `discard`.

mod echo;
mod endings;
mod exhaustion;
mod gone;
mod memory;
mod models;
mod pieces;
mod prefork;
mod refusals;
mod standing;
mod unix;
mod work;
