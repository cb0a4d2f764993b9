//! How fast this machine is at the moment: a fixed piece of work, timed on the cores that matter.
//!
//! A virtual machine shares cores with strangers: for seconds or minutes everything takes half as long again, without any
//! stolen time to show for it. What took how long before and after a measurement says whether it ran at the machine's
//! usual pace. The work is what servers do: short messages through the kernel's TCP over loopback.

use crate::per_core;
use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

/// Batches on each core, of which the fastest counts: an interruption spoils one, a slow machine all of them.
const BATCHES: usize = 8;
/// Messages of a batch.
const ROUNDS: u32 = 50;
/// Bytes of a message.
const SIZE: usize = 100;

/// Times a message sent and received by the same thread, on each of these cores at once: the mean of the fastest batch of
/// the slowest core, in microseconds. Takes some three milliseconds.
pub fn measure(cores: &[usize]) -> io::Result<f64> {
    let fastest = per_core::on_each(cores, pair, fastest_batch)?;
    let slowest = fastest.into_iter().max().unwrap_or_default();
    Ok(slowest.as_secs_f64() * 1e6 / f64::from(ROUNDS))
}

fn fastest_batch((mut here, mut there): (TcpStream, TcpStream)) -> io::Result<Duration> {
    let mut message = [0x5a; SIZE];
    let mut fastest = Duration::MAX;
    for _ in 0..BATCHES {
        let since = Instant::now();
        for _ in 0..ROUNDS {
            here.write_all(&message)?;
            there.read_exact(&mut message)?;
        }
        fastest = fastest.min(since.elapsed());
    }
    Ok(fastest)
}

fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    here.set_nodelay(true)?;
    Ok((here, listener.accept()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_takes_about_the_same_time_and_a_core_that_is_not_there_is_an_error() {
        let core = rustix::thread::sched_getcpu();
        let times: Vec<f64> = (0..5).map(|_| measure(&[core]).unwrap()).collect();
        let (fastest, slowest) = times.iter().fold((f64::MAX, 0f64), |(a, b), t| (a.min(*t), b.max(*t)));
        // Loose, for tests run beside others; a pace of zero or of a second would not pass.
        assert!(fastest > 0.5 && slowest < 1000.0, "{times:?}");
        assert!(measure(&[core, 1000]).is_err());
    }
}
