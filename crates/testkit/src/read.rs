//! Reading from a blocking socket.

use std::io::{ErrorKind, Read, Result};

/// Reads once. A read with a timeout is interrupted when the process is stopped and continued, without any signal handler.
pub fn read(mut from: impl Read, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            result => return result,
        }
    }
}
