//! The clock of this crate: no other file of it reads the time or sleeps (`clippy.toml`), so that a test can give the time to
//! all that runs on its thread.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = given::now() {
        return now;
    }
    Instant::now()
}

/// Time since a moment; zero before it.
pub fn since(at: Instant) -> Duration {
    now().saturating_duration_since(at)
}

#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub fn sleep(time: Duration) {
    #[cfg(test)]
    if given::sleep(time) {
        return;
    }
    std::thread::sleep(time);
}

pub(crate) fn sleep_until(at: Instant) {
    sleep(at.saturating_duration_since(now()));
}

/// The same moment on this clock and in seconds of CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> (Instant, f64) {
    #[cfg(test)]
    if let Some(moment) = given::monotonic() {
        return moment;
    }
    let seconds = clock_gettime(ClockId::Monotonic);
    (now(), seconds.tv_sec as f64 + seconds.tv_nsec as f64 / 1e9)
}

/// Time that a test gives.
#[cfg(test)]
pub(crate) mod given {
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    thread_local! {
        /// When it began, and what has passed since.
        static GIVEN: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
    }

    /// While it lives, the time of this thread stands still, but for [`Given::set`] and what the thread sleeps.
    #[derive(Debug)]
    pub(crate) struct Given(());

    impl Given {
        pub(crate) fn begin() -> Self {
            let begin = super::now();
            assert!(GIVEN.replace(Some((begin, Duration::ZERO))).is_none(), "this thread has a given time already");
            Self(())
        }

        /// Time since the begin.
        pub(crate) fn time(&self) -> Duration {
            time()
        }

        /// The moment so long after the begin.
        pub(crate) fn at(&self, time: Duration) -> Instant {
            GIVEN.get().map(|(begin, _)| begin + time).unwrap()
        }

        /// Moves the time on; it never goes back.
        pub(crate) fn set(&self, time: Duration) {
            assert!(time >= self.time(), "{time:?} is before {:?}", self.time());
            GIVEN.set(GIVEN.get().map(|(begin, _)| (begin, time)));
        }
    }

    impl Drop for Given {
        fn drop(&mut self) {
            GIVEN.set(None);
        }
    }

    fn time() -> Duration {
        GIVEN.get().map(|(_, time)| time).unwrap()
    }

    pub(super) fn now() -> Option<Instant> {
        GIVEN.get().map(|(begin, time)| begin + time)
    }

    pub(super) fn monotonic() -> Option<(Instant, f64)> {
        GIVEN.get().map(|(begin, time)| (begin + time, time.as_secs_f64()))
    }

    /// False without a given time.
    pub(super) fn sleep(slept: Duration) -> bool {
        let given = GIVEN.get();
        GIVEN.set(given.map(|(begin, time)| (begin, time + slept)));
        given.is_some()
    }
}
