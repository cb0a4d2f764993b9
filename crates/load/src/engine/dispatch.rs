//! Timing of the open loop: sleeps until shortly before the next intended time, then spins.
//!
//! A sleeping thread wakes up some ten microseconds late, on a virtual machine a hundred, and a request sent late is measured
//! too slow. So the end of each wait is spent spinning, which polls the network. [`Margin`] adapts its length to how late
//! recent sleeps ended; the time spent is reported.

use super::{scheduler::Due, worker::Worker};
use brunt_runtime::{time, yield_now};
use std::{cell::Cell, future::poll_fn, rc::Rc, task::Poll};

/// Runs until the window is over. `margin` may have been learnt in an earlier load.
pub async fn run<P>(worker: Rc<Worker<P>>, margin: Rc<Cell<Margin>>) {
    loop {
        let now = worker.clock.now();
        let due = worker.core.borrow_mut().scheduler.dispatch(now);
        match due {
            Due::Over => return,
            Due::NoCapacity => parked(&worker).await,
            Due::At(due) => wait(&worker, &margin, now, due).await,
        }
    }
}

/// Waits until a connection is idle and nothing is due for it.
async fn parked<P>(worker: &Worker<P>) {
    let mut parked = false;
    poll_fn(|cx| {
        let scheduler = &mut worker.core.borrow_mut().scheduler;
        if parked && scheduler.dispatcher.is_none() {
            return Poll::Ready(());
        }
        parked = true;
        scheduler.dispatcher = Some(cx.waker().clone());
        Poll::Pending
    })
    .await
}

async fn wait<P>(worker: &Worker<P>, margin: &Cell<Margin>, mut now: u64, due: u64) {
    if let Some(wake) = margin.get().wake_for(now, due) {
        time::sleep_until(worker.clock.instant(wake)).await;
        now = worker.clock.now();
        margin.set(margin.get().after(now.saturating_sub(wake)));
    }
    while now < due {
        let activity = worker.core.borrow().activity;
        yield_now().await;
        let end = worker.clock.now();
        if worker.core.borrow().activity == activity {
            worker.spin_ns.set(worker.spin_ns.get() + (end - now));
        }
        now = end;
    }
}

/// How long before an intended time to stop sleeping: the 98th percentile of how late recent sleeps ended.
#[derive(Debug, Clone, Copy)]
pub struct Margin {
    ns: f64,
}

impl Margin {
    const MOST: f64 = 100_000.0;
    const LEAST: f64 = 2_000.0;
    /// A shorter sleep is not worth its two system calls.
    const MIN_SLEEP: u64 = 5_000;
    const QUANTILE: f64 = 0.98;
    /// How far one observation moves the estimate, as a share of it.
    const STEP: f64 = 0.1;

    /// When to wake up for `due`; `None` if there is no time to sleep.
    fn wake_for(&self, now: u64, due: u64) -> Option<u64> {
        let wake = due.saturating_sub(self.ns as u64);
        (wake > now + Self::MIN_SLEEP).then_some(wake)
    }

    /// A sleep ended `late_ns` after it should have. Robbins-Monro: up on 2 % of sleeps balances down on 98 %.
    fn after(self, late_ns: u64) -> Self {
        let step = self.ns * Self::STEP;
        let change = match late_ns as f64 > self.ns {
            true => step * Self::QUANTILE,
            false => -step * (1.0 - Self::QUANTILE),
        };
        Self { ns: (self.ns + change).clamp(Self::LEAST, Self::MOST) }
    }
}

impl Default for Margin {
    fn default() -> Self {
        Self { ns: 50_000.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn the_margin_follows_the_98th_percentile() {
        let mut random = SplitMix64::seed_from_u64(1);
        let mut margin = Margin::default();
        for (most, expected) in [(20_000, 19_600.0), (80_000, 78_400.0), (10_000, 9_800.0)] {
            for _ in 0..5_000 {
                margin = margin.after(random.next_u64() % most);
            }
            let error = margin.ns / expected - 1.0;
            assert!(error.abs() < 0.2, "{} for {expected}", margin.ns);
        }
    }

    #[test]
    fn the_margin_is_bounded() {
        let mut margin = Margin::default();
        (0..1000).for_each(|_| margin = margin.after(u64::MAX));
        assert_eq!(margin.ns, Margin::MOST);
        (0..10_000).for_each(|_| margin = margin.after(0));
        assert_eq!(margin.ns, Margin::LEAST);
        assert_eq!(margin.wake_for(1_000_000, 1_006_000), None);
        assert_eq!(margin.wake_for(1_000_000, 1_100_000), Some(1_098_000));
        assert_eq!(margin.wake_for(5, 7), None);
    }
}
