//! System calls that the kernel interrupts.

use std::io::{ErrorKind, Result};

/// Makes a call again that was interrupted, as reads with a timeout are when the process is stopped and continued, without any
/// signal handler.
pub fn uninterrupted<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            result => return result,
        }
    }
}
