//! Current speed of the machine: a fixed piece of work, timed on given cores.
//!
//! A virtual machine may slow down by half for seconds or minutes because of other guests, without any steal time. Timing the
//! same work before and after a trial shows whether the machine ran at its usual speed. The work resembles that of servers:
//! short messages over loopback TCP.

use crate::per_core;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Batches per core, of which the fastest counts: an interruption affects one, a slow machine all of them.
const BATCHES: usize = 8;
const ROUNDS: u32 = 50;
const SIZE: usize = 100;

/// Time for a thread to send and receive a message, in microseconds: the mean of the fastest batch on the slowest of these
/// cores, all measured at once. Takes about 3 ms.
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
    fn speed_is_plausible_and_a_missing_core_is_an_error() {
        let core = rustix::thread::sched_getcpu();
        let times: Vec<f64> = (0..5).map(|_| measure(&[core]).unwrap()).collect();
        let (fastest, slowest) = times.iter().fold((f64::MAX, 0f64), |(a, b), t| (a.min(*t), b.max(*t)));
        // Only excludes nonsense such as 0 or 1 s: the machine may be busy.
        assert!(fastest > 0.5 && slowest < 1000.0, "{times:?}");
        assert!(measure(&[core, 1000]).is_err());
    }
}
