//! One thread's runtime: its tasks, timers and I/O, and the loop that turns them.

use crate::{
    driver::BackendKind,
    executor::spin::{Spin, Spinning},
    io::Io,
    metrics::Published,
    task::mailbox::Mailbox,
    task::registry::{self, Remote},
    task::waiter::Due,
    task::{
        Token, catch_panic,
        cell::{Runnable, TaskCell},
        join::JoinHandle,
        waker,
    },
    timer::{
        clock::{Clock, GRACE, TurnOutcome},
        slack::TimerSlackGuard,
        wheel::Timers,
    },
    trace::{self, event, span},
};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    cell::{Cell, RefCell, RefMut},
    future::Future,
    io,
    mem::ManuallyDrop,
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// Polls between two trips to the kernel: tasks that always find work must not keep others from their events.
const POLLS_A_TURN: u64 = 1024;

pub(crate) struct Worker {
    pub id: u16,
    timers: RefCell<Timers>,
    io: RefCell<Io>,
    pub spin: RefCell<Spin>,
    pub remote: Arc<Remote>,
    pub polls: Cell<u64>,
    pub panicked_tasks: Cell<u64>,
    pub published: Published,
    pub clock: Clock,
    /// `block_on` runs, here or further up the stack.
    running: Cell<bool>,
    /// When this turn's events were handed over, once somebody has asked.
    pub turn_time: Cell<Option<Instant>>,
    hunger: trace::Hunger,
}

impl Worker {
    pub fn new(backend: Option<BackendKind>, spin: Spinning, clock: Clock) -> io::Result<(Rc<Self>, Option<String>)> {
        let few = (!spin.most.is_zero()).then_some(spin.connections);
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (io, fallback) = Io::new(backend, few, bell.clone())?;
        let door = io.door();
        let remote = registry::take(|id| Remote { mailbox: Mailbox::new(), id, bell, door })?;
        let worker = Rc::new(Self {
            id: remote.id,
            timers: RefCell::new(Timers::new(clock.now())),
            io: RefCell::new(io),
            spin: RefCell::new(Spin::new(spin.most)),
            remote,
            polls: Cell::new(0),
            panicked_tasks: Cell::new(0),
            published: Published::default(),
            clock,
            running: Cell::new(false),
            turn_time: Cell::new(None),
            hunger: trace::Hunger::default(),
        });
        super::register(Rc::as_ptr(&worker));
        Ok((worker, fallback))
    }

    #[inline]
    pub fn id(&self) -> u16 {
        self.id
    }

    #[inline]
    pub fn io(&self) -> RefMut<'_, Io> {
        self.io.borrow_mut()
    }

    #[inline]
    pub fn timers(&self) -> RefMut<'_, Timers> {
        self.timers.borrow_mut()
    }

    /// Tasks alive, the future of `block_on` aside.
    pub fn task_count(&self) -> usize {
        self.io().wakers.tasks.len()
    }

    pub fn spawn<F: Future + 'static>(&self, future: F) -> JoinHandle<F::Output> {
        let cell = Rc::new(TaskCell::new(future));
        let key = self.io().wakers.tasks.insert(cell.clone());
        JoinHandle::new(cell, Token::new(self.id, key))
    }

    /// Runs `future` and everything spawned, until `future` is done.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        assert!(!self.running.replace(true), "block_on was called inside itself");
        let _running = OnDrop(|| self.running.set(false));
        let _current = super::enter(self);
        let _span = span!("worker"; worker = self.id);
        let _punctual = TimerSlackGuard::new();
        let mut future = pin!(future);
        let waker = waker::new(Token::main(self.id));
        let mut cx = Context::from_waker(&waker);
        self.io().wakers.tasks.main_ready = true;
        loop {
            if std::mem::take(&mut self.io().wakers.tasks.main_ready)
                && let Poll::Ready(output) = future.as_mut().poll(&mut cx)
            {
                self.publish();
                return output;
            }
            self.run_ready();
            self.turn();
            self.hunger.look(self.id, || self.io().report().spare_buffers);
        }
    }

    /// Polls the tasks that are ready, up to a bound.
    fn run_ready(&self) {
        self.io().wakers.tasks.begin_batch();
        let mut polls = 0;
        while polls < POLLS_A_TURN {
            let Some((key, task)) = self.io().wakers.tasks.pop() else { break };
            polls += 1;
            // A token owns nothing, so its waker need not be dropped.
            let waker = ManuallyDrop::new(waker::new(Token::new(self.id, key)));
            // SAFETY: a task is removed only below and in `shut_down`, which does not run inside `block_on`; nothing is
            // borrowed while it runs.
            if unsafe { &*task }.run(&mut Context::from_waker(&waker)) {
                let ended = self.io().wakers.tasks.remove(key);
                drop_catching_panic(ended);
            }
        }
        self.polls.set(self.polls.get() + polls);
    }

    /// One trip to the kernel: timers and events make tasks ready.
    fn turn(&self) {
        self.publish();
        let mut timeout = Some(Duration::ZERO);
        let mut asleep = false;
        if self.io().wakers.is_idle() {
            timeout = self.time_to_sleep();
            if timeout != Some(Duration::ZERO) {
                let may_spin = self.io().is_quiet();
                // What is queued goes first: a spin would hold it back, and the peer with it.
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
        let mut io = self.io.borrow_mut();
        io.metrics.sleeps += u64::from(asleep);
        io.turn(timeout);
        self.turn_time.set(None);
        if asleep {
            self.remote.mailbox.wake_up();
        }
        let mut timers = self.timers.borrow_mut();
        if !timers.is_idle() {
            let now = self.clock.turn(|| TurnOutcome {
                idle: io.is_idle() && !self.remote.mailbox.is_pending(),
                events: io.metrics.events,
                next: timers.next_deadline(),
            });
            timers.fire(now, &mut io.wakers);
        }
        drop(timers);
        self.wake_all(io);
    }

    /// Spins for a while if that has paid lately; true when there is work.
    fn spin_for_work(&self, sleep: Option<Duration>) -> bool {
        let mut spin = self.spin.borrow_mut();
        spin.wait(sleep, || self.io().has_work() || self.remote.mailbox.is_pending())
    }

    /// How long nothing will happen: `None` is for ever, zero means that something is due.
    fn time_to_sleep(&self) -> Option<Duration> {
        if self.io.borrow().is_hungry() {
            return Some(Duration::ZERO);
        }
        let timer = self.timers.borrow().next_deadline();
        if let (Some(deadline), Some(now)) = (timer, self.clock.virtual_now()) {
            let patient = deadline > now && self.io.borrow().has_io();
            return Some(if patient { GRACE } else { Duration::ZERO });
        }
        let next = [timer, self.io.borrow().lingering_until()].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Makes ready what other threads named. Foreign wakers run code of others, so nothing is borrowed by then.
    #[inline]
    fn wake_all(&self, mut io: RefMut<'_, Io>) {
        let mut spawns = Vec::new();
        if self.remote.mailbox.is_pending() {
            let mail = self.remote.mailbox.take();
            mail.tokens.into_iter().for_each(|token| io.wakers.tasks.wake(token));
            spawns = mail.spawns;
        }
        if io.wakers.has_due() || !spawns.is_empty() {
            let due = io.wakers.take_due();
            drop(io);
            due.into_iter().for_each(Due::run);
            spawns.into_iter().for_each(|spawn| spawn());
        }
    }

    /// Ends every task, then everything the kernel holds. True when nothing of this worker's has outlived it.
    fn shut_down(&self) -> bool {
        let _current = super::enter(self);
        self.remote.mailbox.close().into_iter().for_each(|spawn| catch_panic(|| drop(spawn)));
        // A destructor may spawn: go on until none is left, but not for ever.
        for round in 0..=16 {
            let keys = self.io().wakers.tasks.keys();
            for key in keys {
                if round == 16 {
                    // A task whose end begets another, again and again: forgotten, for no destructor of it may run now.
                    std::mem::forget(self.io().wakers.tasks.remove(key));
                    continue;
                }
                let task = self.io().wakers.tasks.task(key);
                if let Some(task) = task {
                    task.cancel();
                }
                let ended = self.io().wakers.tasks.remove(key);
                drop_catching_panic(ended);
            }
        }
        let nothing_left = self.io().shut_down() && self.timers.borrow().len() == 0;
        let due = self.io().wakers.take_due();
        due.into_iter().for_each(Due::run);
        self.publish();
        nothing_left
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let nothing_left = self.shut_down();
        super::unregister(self);
        registry::leave(self.id, nothing_left);
        event!(INFO, "a worker has ended"; worker = self.id, left_nothing = nothing_left);
    }
}

/// Lets go of an ended task. If nobody wants its output any more that is dropped here, and a panic in its destructor stays
/// in the task as every other panic does.
#[inline]
fn drop_catching_panic(ended: Option<Rc<dyn Runnable>>) {
    catch_panic(|| drop(ended));
}

/// Calls a function when it is dropped, also when a panic passes.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
