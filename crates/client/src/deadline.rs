//! Reading and writing until a point in time.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Time left, more than none.
pub fn left(until: Instant) -> io::Result<Duration> {
    until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or(io::ErrorKind::TimedOut.into())
}

/// Reads what there is, at least a byte; 0 at the end of the stream.
pub fn read(mut stream: &TcpStream, bytes: &mut [u8], until: Instant) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            read => return read,
        }
    }
}

pub fn write(mut stream: &TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            written => bytes = &bytes[written?..],
        }
    }
    Ok(())
}
