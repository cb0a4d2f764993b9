//! Time in which a core stood still, seen by a thread that sleeps for a moment again and again and notes how much too late
//! it becomes runnable: a paused machine, a lent core, a frozen group. Time that it waits for a core in the run queue does not count.
//!
//! Invariant: a lower bound. A pause is seen from the moment at which the sleep should have ended.

use crate::schedstat::scheduled;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shortest lateness that counts: a core of a virtual machine takes up to 0.2 ms to wake.
const MIN_GAP: Duration = Duration::from_micros(500);

#[derive(Debug)]
pub struct Gaps {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    nanos: AtomicU64,
    stop: AtomicBool,
}

impl Gaps {
    /// On the cores that the thread `beside` may use, so that it sees what that one suffers. A wake-up costs 5 to 25 us.
    pub fn watch(beside: Option<u32>, sleep: Duration) -> Self {
        let shared = Arc::new(Shared::default());
        let watch = {
            let shared = shared.clone();
            move || {
                let beside = beside.and_then(|tid| rustix::thread::Pid::from_raw(tid as i32));
                if let Some(cores) = beside.and_then(|tid| rustix::thread::sched_getaffinity(Some(tid)).ok()) {
                    let _ = rustix::thread::sched_setaffinity(None, &cores);
                }
                shared.watch(sleep);
            }
        };
        let thread = thread::Builder::new().name("brunt-gaps".to_owned()).spawn(watch).ok();
        Self { shared, thread }
    }

    /// Whether gaps are seen: not on a kernel that does not tell how long a thread waited for a core.
    pub fn is_watching(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Since the watch began.
    pub fn read(&self) -> Duration {
        Duration::from_nanos(self.shared.nanos.load(Ordering::Relaxed))
    }
}

impl Shared {
    fn watch(&self, sleep: Duration) {
        // Without it, waiting for a core could not be told from a gap.
        let Ok(schedstat) = File::open("/proc/thread-self/schedstat") else { return };
        let Some(mut waited) = scheduled(&schedstat).map(|times| times.wait) else { return };
        while !self.stop.load(Ordering::Relaxed) {
            let begin = Instant::now();
            thread::sleep(sleep);
            let late = begin.elapsed().saturating_sub(sleep);
            let Some(now) = scheduled(&schedstat).map(|times| times.wait) else { return };
            let gap = late.saturating_sub(now.saturating_sub(waited));
            waited = now;
            if gap >= MIN_GAP {
                self.nanos.fetch_add(gap.as_nanos() as u64, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Gaps {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
