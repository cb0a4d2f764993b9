//! CPU time that a server uses whether it has requests or not, as runtimes with timers and garbage collectors do: a standing cost that
//! is known.
//!
//! A thread of the server, on its cores, wakes up so often and computes until its CPU time since its start is what is due by then.
//! Its own wake-ups are part of that time, and a tick that came late is made up for, so that the sum is exact.

use crate::tcp::shared::threads::set_affinity;
use crate::work::{cpu_time_of_thread, spin_until};
use brunt_results::Span;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, io, str::FromStr};

/// So much CPU time, so often: `200us@1kHz`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    each: Duration,
    /// Times a second.
    per_second: f64,
}

/// The thread that uses it. Dropped, it ends.
#[derive(Debug)]
pub struct StandingThread {
    ended: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

/// Largest share of a core: a server without one could not serve.
const MOST: f64 = 0.9;
const FREQUENCIES: std::ops::RangeInclusive<f64> = 0.1..=100e3;
/// The end is seen within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

impl Standing {
    /// Share of a core.
    pub fn share(self) -> f64 {
        self.each.as_secs_f64() * self.per_second
    }

    /// Starts the thread, on the cores of the workers.
    ///
    /// # Errors
    /// A core cannot be used, or no thread can be started.
    pub fn start(self, workers: &[Option<usize>]) -> io::Result<StandingThread> {
        let ended = Arc::new(AtomicBool::new(false));
        let (flag, workers) = (ended.clone(), workers.to_vec());
        let run = move || {
            // The workers have reported a core that cannot be used.
            let _ = set_affinity(&workers);
            self.run(&flag);
        };
        let handle = thread::Builder::new().name("standing".to_owned()).spawn(run)?;
        Ok(StandingThread { ended, handle: Some(handle) })
    }

    fn run(self, ended: &AtomicBool) {
        let (begun, used) = (Instant::now(), cpu_time_of_thread());
        let mut ticks: u64 = 0;
        while !ended.load(Ordering::Relaxed) {
            let time = begun.elapsed();
            let due = self.ticks_by(time);
            if due > ticks {
                ticks = due;
                spin_until(used + self.due_after(ticks));
                continue;
            }
            let next = Duration::from_secs_f64((ticks + 1) as f64 / self.per_second);
            thread::sleep(next.saturating_sub(time).min(LONGEST_SLEEP));
        }
    }

    /// Ticks until this time.
    fn ticks_by(self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.per_second) as u64
    }

    /// CPU time that so many ticks have used.
    fn due_after(self, ticks: u64) -> Duration {
        self.each.mul_f64(ticks as f64)
    }
}

impl Drop for StandingThread {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // A panic was printed when it happened.
        self.handle.take().into_iter().for_each(|handle| drop(handle.join()));
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = Span(self.each);
        match self.per_second {
            hertz if hertz >= 1e3 => write!(f, "{each}@{}kHz", hertz / 1e3),
            hertz => write!(f, "{each}@{hertz}Hz"),
        }
    }
}

impl FromStr for Standing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}' is no standing cost; write a CPU time and a frequency, such as 200us@1kHz");
        let (each, frequency) = text.split_once('@').ok_or_else(expected)?;
        let Span(each) =
            each.parse().map_err(|error: brunt_results::UnitError| format!("{error}, as in 200us@1kHz"))?;
        let frequency = frequency.trim();
        let (number, unit) = match (frequency.strip_suffix("kHz"), frequency.strip_suffix("Hz")) {
            (Some(number), _) => (number, 1e3),
            (None, Some(number)) => (number, 1.0),
            (None, None) => return Err(expected()),
        };
        let per_second = number.trim().parse::<f64>().map_err(|_| expected())? * unit;
        let standing = Self { each, per_second };
        match () {
            () if each.is_zero() => Err(format!("'{text}' is no CPU time; leave --standing out for none")),
            () if !FREQUENCIES.contains(&per_second) => Err(format!("'{text}': a frequency is from 0.1Hz to 100kHz")),
            () if standing.share() > MOST => Err(format!(
                "'{text}' is {:.0} % of a core; at most {:.0} % leave the server some",
                standing.share() * 100.0,
                MOST * 100.0
            )),
            () => Ok(standing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_standing_cost_is_a_time_and_a_frequency() {
        let of = |text: &str| text.parse::<Standing>();
        let each = Duration::from_micros(200);
        assert_eq!(of("200us@1kHz"), Ok(Standing { each, per_second: 1e3 }));
        assert_eq!(of("200us@1000Hz"), of("200us@1kHz"));
        assert_eq!(of("1ms@2.5Hz"), Ok(Standing { each: Duration::from_millis(1), per_second: 2.5 }));
        assert!((of("200us@1kHz").unwrap().share() - 0.2).abs() < 1e-12);
        for (text, says) in [
            ("", "such as 200us@1kHz"),
            ("200us", "such as 200us@1kHz"),
            ("200us@1k", "such as 200us@1kHz"),
            ("200us@xHz", "such as 200us@1kHz"),
            ("200@1kHz", "'200' is not a time"),
            ("200us@-1Hz", "from 0.1Hz to 100kHz"),
            ("200us@NaNHz", "from 0.1Hz to 100kHz"),
            ("1us@200kHz", "from 0.1Hz to 100kHz"),
            ("0us@1kHz", "leave --standing out"),
            ("1ms@1kHz", "is 100 % of a core; at most 90 %"),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(says) && said.lines().count() == 1, "{text}: {said}");
        }
    }

    #[test]
    fn what_is_due_does_not_depend_on_when_it_is_looked_at() {
        let standing: Standing = "200us@1kHz".parse().unwrap();
        let by = |ms: u64| standing.ticks_by(Duration::from_micros(ms * 1000 + 1));
        assert_eq!((by(0), by(1), by(10), by(1000)), (0, 1, 10, 1000));
        assert_eq!(standing.due_after(1000), Duration::from_millis(200));
    }

    proptest! {
        #[test]
        fn printed_ones_parse(micros in 1u64..900, hertz in 1u32..1000) {
            let standing = Standing { each: Duration::from_micros(micros), per_second: f64::from(hertz) };
            prop_assert_eq!(standing.to_string().parse::<Standing>(), Ok(standing));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,8}@?\\PC{0,6}(Hz|kHz)?") {
            let _ = text.parse::<Standing>();
        }
    }
}
