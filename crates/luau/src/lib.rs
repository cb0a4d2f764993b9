//! Luau scripts with limits on memory and on the time of each call.
//!
//! A [`Vm`] runs one script on one thread; each error is a [`ScriptError`] of one line. The crates that embed it define the
//! globals of their scripts.
//!
//! Invariants: no call exceeds its limits, and no script gets access to files, processes or sockets (the standard libraries
//! of Luau have none, and none is added here).
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod budget;
mod error;
mod vm;

pub use error::{Kind, ScriptError};
pub use mlua;
pub use vm::{Limits, Vm};

/// The value as a number: mlua has two variants for the single number type of scripts.
pub fn number(value: &mlua::Value) -> Option<f64> {
    match value {
        mlua::Value::Integer(number) => Some(*number as f64),
        mlua::Value::Number(number) => Some(*number),
        _ => None,
    }
}
