//! HTTP.

pub mod answer;
pub mod handler;
pub mod script;
