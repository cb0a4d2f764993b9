//! One thread's worker: its tasks, timers and I/O, and the loop that runs them.
//!
//! ```text
//! block_on: main future -> ready tasks -> turn -> ...
//! turn:     spin or announce sleep -> io.turn (one system call) -> timers -> wake-ups of other threads -> foreign wakers
//! ```
//! Invariant: user code (futures, wakers, destructors) runs only while nothing of the worker is borrowed.

#[cfg(any(test, feature = "sim"))]
mod step;

use super::spin::{Spin, Spinning};
use crate::driver::BackendKind;
use crate::driver::uring::Features;
use crate::io::Io;
use crate::metrics::{Metrics, MetricsHandle};
use crate::task::cell::Progress;
use crate::task::context::Scheduler;
use crate::task::queue::Tasks;
use crate::task::registry::{self, ClockHold, Remote};
use crate::task::waiter::Due;
use crate::task::{OnDrop, Token, catch_panic, waker};
use crate::timer::wheel::Timers;
use crate::timer::{Clock, GRACE, kernel_now};
use crate::trace::{self, event, span};
use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::cell::{Cell, RefCell, RefMut};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, future::Future, io, mem::ManuallyDrop, num::NonZeroU64, pin::pin, rc::Rc, sync::Arc};

/// Operations of one poll of a task: its budget.
const OPERATIONS: u32 = 64;

/// Polls between two calls into the kernel, so that tasks that are always ready do not hold back events.
const POLLS_A_TURN: u64 = 1024;
/// Rounds of shutting down in which destructors may spawn tasks; later ones are leaked.
const SHUTDOWN_ROUNDS: usize = 16;

pub(crate) struct Worker {
    pub scheduler: Scheduler,
    timers: RefCell<Timers>,
    io: RefCell<Io>,
    spin: RefCell<Spin>,
    pub remote: Arc<Remote>,
    polls: Cell<u64>,
    /// Operations left of the current poll.
    budget: Cell<u32>,
    panicked_tasks: Cell<u64>,
    published: MetricsHandle,
    pub clock: Clock,
    /// `block_on` runs, here or further up the stack.
    running: Cell<bool>,
    /// When this turn's events were received; read at the first request.
    turn_time: Cell<Option<Instant>>,
    shortage: trace::BufferShortage,
}

impl Worker {
    /// Returns the worker, and why it does not run on io_uring if so.
    pub fn new(
        backend: Option<BackendKind>,
        features: Features,
        spin: Spinning,
        clock: Clock,
    ) -> io::Result<(Self, Option<String>)> {
        let few = (!spin.most.is_zero()).then_some(spin.connections);
        let wake_fd = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let tasks = Rc::new(Tasks::new());
        let (io, fallback) = Io::new(backend, features, few, wake_fd.clone(), tasks.clone())?;
        let ring_fd = io.ring_fd();
        let remote = registry::register(|id| Remote::new(id, wake_fd, ring_fd))?;
        let wake_worker = |sleeper| super::current(|worker| worker.io().wake_worker(sleeper));
        let worker = Self {
            scheduler: Scheduler { id: remote.id, tasks, wake_worker },
            timers: RefCell::new(Timers::new(clock.now())),
            io: RefCell::new(io),
            spin: RefCell::new(Spin::new(spin.most)),
            remote,
            polls: Cell::new(0),
            budget: Cell::new(OPERATIONS),
            panicked_tasks: Cell::new(0),
            published: MetricsHandle::new(),
            clock,
            running: Cell::new(false),
            turn_time: Cell::new(None),
            shortage: trace::BufferShortage::default(),
        };
        Ok((worker, fallback))
    }

    #[inline]
    pub fn id(&self) -> u16 {
        self.scheduler.id
    }

    #[inline]
    pub fn io(&self) -> RefMut<'_, Io> {
        self.io.borrow_mut()
    }

    #[inline]
    pub fn timers(&self) -> RefMut<'_, Timers> {
        self.timers.borrow_mut()
    }

    /// For work of another thread whose end the tasks may wait for.
    pub fn hold_clock(&self) -> Option<ClockHold> {
        self.clock.virtual_now().map(|_| ClockHold::new(self.remote.clone()))
    }

    /// Whether a virtual clock has to wait: for other threads, or for operations of files.
    fn is_clock_held(&self, io: &Io) -> bool {
        self.remote.is_held() || io.has_operations_in_flight()
    }

    /// See [`crate::turn_time`].
    #[inline]
    pub fn turn_time(&self) -> Instant {
        self.turn_time.get().unwrap_or_else(|| {
            let now = self.clock.now();
            self.turn_time.set(Some(now));
            now
        })
    }

    pub fn metrics(&self) -> Metrics {
        let mut metrics = self.io().report();
        self.spin.borrow().report(&mut metrics);
        metrics.polls = self.polls.get();
        metrics.panicked_tasks = self.panicked_tasks.get();
        metrics.tasks = self.scheduler.tasks.len() as u64;
        metrics.timers = self.timers().len() as u64;
        metrics
    }

    pub fn metrics_handle(&self) -> MetricsHandle {
        let handle = self.published.clone();
        self.publish();
        handle
    }

    /// See [`crate::poll_budget`].
    #[inline]
    pub fn poll_budget(&self, cx: &Context<'_>) -> Poll<()> {
        let left = self.budget.get();
        if left == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.budget.set(left - 1);
        Poll::Ready(())
    }

    pub fn count_panic(&self) {
        self.panicked_tasks.set(self.panicked_tasks.get() + 1);
    }

    #[inline]
    fn publish(&self) {
        self.published.publish(|| self.metrics());
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        assert!(!self.running.replace(true), "block_on was called inside itself");
        let _running = OnDrop(|| self.running.set(false));
        let _current = super::enter(self);
        let _span = span!("worker"; worker = self.id());
        let _punctual = without_timer_slack();
        let tasks = &*self.scheduler.tasks;
        let mut future = pin!(future);
        let waker = waker::new(Token::main(self.id()));
        let mut cx = Context::from_waker(&waker);
        tasks.wake_main();
        loop {
            self.budget.set(OPERATIONS);
            self.io().begin_polls(tasks.ready());
            if tasks.take_main_ready()
                && let Poll::Ready(output) = future.as_mut().poll(&mut cx)
            {
                // What it has written, ended and dropped reaches the peers now, not with the next `block_on`.
                self.io().settle();
                self.publish();
                return output;
            }
            self.run_ready();
            self.turn();
            self.shortage.observe(self.id(), || self.clock.now(), || self.io().report().spare_buffers);
        }
    }

    /// After a stream or its write half was dropped. Unless this worker runs, or ends, no turn follows soon.
    #[inline]
    pub fn settle_outside(&self) {
        if !super::is_current(self) {
            self.io().settle();
        }
    }

    fn run_ready(&self) {
        let tasks = &*self.scheduler.tasks;
        tasks.begin_batch();
        let mut polls = 0;
        while polls < POLLS_A_TURN {
            let Some((key, task)) = tasks.pop() else { break };
            polls += 1;
            self.budget.set(OPERATIONS);
            #[cfg(any(test, feature = "sim"))]
            self.clock.spend_poll();
            // A token owns nothing, so its waker need not be dropped.
            let waker = ManuallyDrop::new(waker::new(Token::new(self.id(), key)));
            // SAFETY: a task is removed only below and in `shut_down`, which does not run inside `block_on`.
            match unsafe { &*task }.run(&mut Context::from_waker(&waker)) {
                Progress::Pending => (),
                ended => self.remove(key, ended),
            }
        }
        self.polls.set(self.polls.get() + polls);
    }

    /// Removes a task that has ended. Dropping its output, if this is the last reference, may panic: the panic ends here.
    fn remove(&self, key: crate::slab::Key, progress: Progress) {
        if progress == Progress::Panicked {
            self.count_panic();
        }
        let ended = self.scheduler.tasks.remove(key);
        catch_panic(|| drop(ended));
    }

    /// One call into the kernel; timers and events make tasks ready.
    fn turn(&self) {
        let rest = self.before_rest();
        self.after_rest(rest);
    }

    /// Decides how long the worker may sleep, and announces a sleep.
    #[inline]
    fn before_rest(&self) -> Rest {
        self.publish();
        let mut timeout = Some(Duration::ZERO);
        let mut asleep = false;
        if self.io().wakers.is_idle() {
            timeout = self.time_to_sleep();
            if timeout != Some(Duration::ZERO) {
                let may_spin = self.io().is_quiet();
                // Queued requests are submitted first: a spin would hold them back, and the peer with them.
                if may_spin && self.spin.borrow().is_worth_it() && self.io().has_queued()
                    || may_spin && self.spin_for_work(timeout)
                {
                    timeout = Some(Duration::ZERO);
                } else {
                    asleep = self.remote.mailbox.fall_asleep();
                    timeout = if asleep { timeout } else { Some(Duration::ZERO) };
                }
            }
        }
        Rest { timeout, asleep }
    }

    /// Calls into the kernel and handles what it brings.
    #[inline]
    fn after_rest(&self, Rest { timeout, asleep }: Rest) {
        let mut io = self.io.borrow_mut();
        io.metrics.sleeps += u64::from(asleep);
        io.turn(timeout);
        self.turn_time.set(None);
        if asleep {
            self.remote.mailbox.wake_up();
        }
        let mut timers = self.timers.borrow_mut();
        if !timers.is_idle() {
            let now = self.clock.turn(io.metrics.events, || {
                let is_idle = io.is_idle() && !self.remote.mailbox.is_pending() && !self.is_clock_held(&io);
                timers.next_deadline().filter(|_| is_idle)
            });
            timers.fire(now, &mut io.wakers);
        }
        drop(timers);
        self.wake_all(io);
    }

    /// Spins for a while if that has paid lately; returns whether there is work.
    fn spin_for_work(&self, sleep: Option<Duration>) -> bool {
        let mut spin = self.spin.borrow_mut();
        spin.wait(sleep, || self.io().has_work() || self.remote.mailbox.is_pending())
    }

    /// How long the worker may sleep: `None` without a bound, zero if something is due.
    fn time_to_sleep(&self) -> Option<Duration> {
        if self.io.borrow().needs_replenishing() {
            return Some(Duration::ZERO);
        }
        let timer = self.timers.borrow().next_deadline();
        if let (Some(deadline), Some(now)) = (timer, self.clock.virtual_now()) {
            return match deadline > now {
                true if self.is_clock_held(&self.io.borrow()) => None,
                true if self.io.borrow().has_io() => Some(GRACE),
                _ => Some(Duration::ZERO),
            };
        }
        let next = [timer, self.io.borrow().lingering_until()].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(kernel_now()))
    }

    /// Makes the tasks ready that other threads have woken, then uses the foreign wakers that are due.
    #[inline]
    fn wake_all(&self, mut io: RefMut<'_, Io>) {
        let mut spawns = Vec::new();
        if self.remote.mailbox.is_pending() {
            let mail = self.remote.mailbox.take();
            mail.tokens.into_iter().for_each(|token| self.scheduler.tasks.wake(token));
            spawns = mail.spawns;
        }
        if io.wakers.has_due() || !spawns.is_empty() {
            let due = io.wakers.take_due();
            drop(io);
            due.into_iter().for_each(Due::run);
            spawns.into_iter().for_each(|spawn| spawn());
        }
    }

    /// Ends every task, then everything the kernel holds; the worker is of no use afterwards. Takes `&self`, for the user's
    /// destructors that it runs find the worker through [`find`](super::find).
    pub fn shut_down(&self) {
        let _unregister = OnDrop(|| super::unregister(self));
        let _current = super::enter(self);
        self.remote.mailbox.close().into_iter().for_each(|spawn| catch_panic(|| drop(spawn)));
        self.end_tasks();
        let nothing_left = self.io().shut_down() && self.timers.borrow().len() == 0;
        let due = self.io().wakers.take_due();
        due.into_iter().for_each(Due::run);
        self.publish();
        registry::unregister(self.id(), nothing_left);
        event!(INFO, "a worker has ended"; worker = self.id(), left_nothing = nothing_left);
    }

    /// Ends every task, also those that destructors spawn.
    pub fn end_tasks(&self) {
        for round in 0..=SHUTDOWN_ROUNDS {
            for key in self.scheduler.tasks.keys() {
                if round == SHUTDOWN_ROUNDS {
                    // Leaks tasks whose destructors keep spawning: no destructor may run any more.
                    std::mem::forget(self.scheduler.tasks.remove(key));
                    continue;
                }
                let task = self.scheduler.tasks.task(key);
                let progress = task.map_or(Progress::Ended, |task| task.cancel());
                self.remove(key, progress);
            }
        }
    }
}

/// How long a worker may sleep, and whether it has announced that.
pub(crate) struct Rest {
    pub timeout: Option<Duration>,
    asleep: bool,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Sets the calling thread's timer slack to 1 ns until the guard is dropped: by default the kernel may end a thread's sleeps
/// 50 us late, to merge wake-ups (`PR_SET_TIMERSLACK`). Best effort: the kernel may refuse.
fn without_timer_slack() -> impl Drop {
    let before = current_timer_slack().ok().and_then(NonZeroU64::new);
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    OnDrop(move || {
        // `None` restores the thread's initial value.
        let _ = set_current_timer_slack(before);
    })
}
