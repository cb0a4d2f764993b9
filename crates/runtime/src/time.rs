//! `now`, `system_now`, `sleep`, `timeout`, `interval`. Deadlines are exact to the kernel's wake-up, not rounded to a tick.

use crate::{executor, slab::Key};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io};

/// The current time of this thread's runtime: `Instant::now()`, unless that runtime has a
/// [virtual clock](crate::Builder::virtual_clock). Also works outside `block_on`.
#[inline]
pub fn now() -> Instant {
    executor::now()
}

/// Advances a virtual clock, as if this thread had been busy: timers due meanwhile fire late, in the order of their
/// deadlines, and their tasks have run when this returns. To fire each on time, `sleep` instead. Must be called inside
/// `block_on`.
///
/// # Panics
/// If the runtime was not built with a [virtual clock](crate::Builder::virtual_clock).
pub async fn advance(duration: Duration) {
    let to = from_now(duration);
    executor::current(|worker| worker.clock.set(to));
    // One turn fires the timers; the next comes after the woken tasks have run.
    crate::yield_now().await;
    crate::yield_now().await;
}

/// Waits for `duration`.
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(from_now(duration))
}

/// Waits until `deadline`.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, timer: None }
}

/// The time of day of the machine. In a simulated world (feature `sim`) it was 1970 when the world began.
pub fn system_now() -> SystemTime {
    #[cfg(any(test, feature = "sim"))]
    if let Some(elapsed) = crate::sim_kernel::elapsed() {
        return SystemTime::UNIX_EPOCH + elapsed;
    }
    SystemTime::now()
}

pub(crate) fn from_now(duration: Duration) -> Instant {
    saturating_add(now(), duration)
}

/// Saturates at a century.
fn saturating_add(to: Instant, duration: Duration) -> Instant {
    let century = Duration::from_secs(100 * 365 * 24 * 3600);
    to.checked_add(duration).unwrap_or(to + century)
}

/// The future of [`sleep`]. Dropping it removes the timer.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    timer: Option<(u16, Key)>,
}

impl Sleep {
    /// The time at which it completes.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Sets another time. It holds from the next poll on.
    pub fn reset(&mut self, deadline: Instant) {
        self.disarm();
        self.deadline = deadline;
    }

    fn disarm(&mut self) {
        if let Some((id, key)) = self.timer.take() {
            executor::with(id, |worker| worker.timers().remove(key, &mut worker.io().wakers));
        }
    }
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        executor::current(|worker| {
            let key = match self.timer {
                Some((id, key)) if id == worker.id() => key,
                // The first poll on this runtime.
                _ => {
                    self.disarm();
                    let key = worker.timers().insert(self.deadline);
                    self.timer = Some((worker.id(), key));
                    key
                }
            };
            if worker.timers().poll(key, &mut worker.io().wakers, cx) { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// The error of [`timeout`] and [`timeout_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}

/// Awaits `future` for at most `duration`, then drops it.
///
/// # Errors
/// [`Elapsed`] if the time ran out first.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    within(pin!(future), pin!(sleep(duration))).await
}

/// Awaits `future` until `deadline`, then drops it.
///
/// # Errors
/// [`Elapsed`] if the time ran out first.
pub async fn timeout_at<F: Future>(deadline: Instant, future: F) -> Result<F::Output, Elapsed> {
    within(pin!(future), pin!(sleep_until(deadline))).await
}

/// By reference: a future that is moved into another one is stored twice.
fn within<F: Future>(
    mut future: Pin<&mut F>,
    mut sleep: Pin<&mut Sleep>,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    poll_fn(move |cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| Err(Elapsed)),
    })
}

/// Ticks every `period`, the first time `period` from now.
///
/// # Panics
/// If `period` is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(from_now(period), period)
}

/// Ticks at `first`, and every `period` after it.
///
/// # Panics
/// If `period` is zero.
#[track_caller]
pub fn interval_at(first: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "an interval needs a period above zero");
    Interval { next: first, period }
}

/// The ticks of [`interval`] and [`interval_at`].
#[derive(Debug)]
pub struct Interval {
    next: Instant,
    period: Duration,
}

impl Interval {
    /// Waits for the next tick and returns the time it was due. Missed ticks are merged into one; the phase never shifts.
    pub async fn tick(&mut self) -> Instant {
        let due = self.next;
        sleep_until(due).await;
        let missed = now().saturating_duration_since(due).as_nanos() / self.period.as_nanos();
        let missed = u32::try_from(missed).unwrap_or(u32::MAX - 1);
        self.next = saturating_add(due, self.period.saturating_mul(missed + 1));
        due
    }
}
