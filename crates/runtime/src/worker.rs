//! One thread's runtime: its tasks, timers and I/O, the loop that turns them, and how any thread reaches a worker.

use crate::{
    driver::BackendKind,
    io::Io,
    mailbox::Mailbox,
    metrics::Metrics,
    spin::Spin,
    task::{Token, cell::TaskCell, join::JoinHandle, waker},
    time::heap::Timers,
};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    cell::{Cell, RefCell, RefMut},
    future::Future,
    io,
    mem::ManuallyDrop,
    os::fd::OwnedFd,
    pin::pin,
    ptr,
    rc::Rc,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// Polls between two trips to the kernel: tasks that always find work must not keep others from their events.
const POLLS_A_TURN: u64 = 1024;

pub(crate) struct Worker {
    id: u16,
    timers: RefCell<Timers>,
    io: RefCell<Io>,
    spin: RefCell<Spin>,
    remote: Arc<Remote>,
    polls: Cell<u64>,
}

/// The part of a worker that other threads may touch.
struct Remote {
    mailbox: Mailbox,
    bell: Arc<OwnedFd>,
}

/// Workers of the process, by number. A number is used again after its worker's end; a token of the old one then wakes a
/// task of the new one in vain, which is harmless.
static REMOTES: Mutex<Vec<Option<Arc<Remote>>>> = Mutex::new(Vec::new());

thread_local! {
    /// The worker whose `block_on` runs on this thread.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// All workers that live on this thread.
    static LIVE: RefCell<Vec<*const Worker>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with the worker whose `block_on` runs here.
#[inline]
pub(crate) fn current<R>(f: impl FnOnce(&Worker) -> R) -> R {
    let worker = CURRENT.get();
    assert!(!worker.is_null(), "this must be called inside Runtime::block_on");
    // SAFETY: `block_on` sets the pointer to a worker that it keeps alive and resets it before it returns.
    f(unsafe { &*worker })
}

/// Calls `f` with that worker if it lives on this thread.
#[inline(always)]
pub(crate) fn with<R>(id: u16, f: impl FnOnce(&Worker) -> R) -> Option<R> {
    let mut worker = CURRENT.get();
    // SAFETY: as in `current`.
    if worker.is_null() || unsafe { (*worker).id } != id {
        worker = find_live(id)?;
    }
    // SAFETY: the worker is alive, and `f` runs while its owner is further up this thread's stack or idle.
    Some(f(unsafe { &*worker }))
}

#[cold]
fn find_live(id: u16) -> Option<*const Worker> {
    let live = LIVE.try_with(|live| {
        // SAFETY: a worker leaves the list before it is dropped, on this same thread.
        live.borrow().iter().copied().find(|worker| unsafe { (**worker).id } == id)
    });
    live.ok().flatten()
}

/// Wakes a task, from any thread.
#[inline]
pub(crate) fn wake(token: Token) {
    let worker = CURRENT.get();
    // SAFETY: as in `current`.
    if let Some(worker) = unsafe { worker.as_ref() }
        && worker.id == token.worker()
    {
        return worker.io().wakers.tasks.wake(token);
    }
    wake_remote(token);
}

#[cold]
fn wake_remote(token: Token) {
    let remotes = REMOTES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let remote = remotes.get(usize::from(token.worker())).cloned().flatten();
    drop(remotes);
    if let Some(remote) = remote
        && remote.mailbox.post(token)
    {
        // The only error of a blocking-free eventfd write is a counter that is full, and then it has rung already.
        let _ = rustix::io::write(&*remote.bell, &1u64.to_ne_bytes());
    }
}

impl Worker {
    pub fn new(backend: Option<BackendKind>, spin: Duration) -> io::Result<(Rc<Self>, Option<String>)> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (io, fallback) = Io::new(backend, bell.clone())?;
        let remote = Arc::new(Remote { mailbox: Mailbox::new(), bell });
        let id = enlist(remote.clone())?;
        let worker = Rc::new(Self {
            id,
            timers: RefCell::new(Timers::new()),
            io: RefCell::new(io),
            spin: RefCell::new(Spin::new(spin)),
            remote,
            polls: Cell::new(0),
        });
        LIVE.with(|live| live.borrow_mut().push(Rc::as_ptr(&worker)));
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

    pub fn metrics(&self) -> Metrics {
        let mut metrics = self.io.borrow().metrics;
        self.spin.borrow().report(&mut metrics);
        metrics.polls = self.polls.get();
        metrics.tasks = self.task_count() as u64;
        metrics
    }

    pub fn spawn<F: Future + 'static>(&self, future: F) -> JoinHandle<F::Output> {
        let cell = Rc::new(TaskCell::new(future));
        let key = self.io().wakers.tasks.insert(cell.clone());
        JoinHandle::new(cell, Token::new(self.id, key))
    }

    /// Runs `future` and everything spawned, until `future` is done.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        assert!(!ptr::eq(CURRENT.get(), self), "block_on was called inside itself");
        let _current = Entered(CURRENT.replace(self));
        let mut future = pin!(future);
        let waker = waker::new(Token::main(self.id));
        let mut cx = Context::from_waker(&waker);
        self.io().wakers.tasks.main_ready = true;
        loop {
            if std::mem::take(&mut self.io().wakers.tasks.main_ready)
                && let Poll::Ready(output) = future.as_mut().poll(&mut cx)
            {
                return output;
            }
            self.run_ready();
            self.turn();
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
                drop(ended);
            }
        }
        self.polls.set(self.polls.get() + polls);
    }

    /// One trip to the kernel: timers and events make tasks ready.
    fn turn(&self) {
        let mut timeout = Some(Duration::ZERO);
        let mut asleep = false;
        if self.io().wakers.tasks.is_idle() {
            timeout = self.time_to_sleep();
            if timeout != Some(Duration::ZERO) {
                if self
                    .spin
                    .borrow_mut()
                    .wait(timeout, || self.io.borrow_mut().has_work() || self.remote.mailbox.is_pending())
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
        if asleep {
            self.remote.mailbox.wake_up();
        }
        let mut timers = self.timers.borrow_mut();
        if timers.next_deadline().is_some() {
            timers.fire(Instant::now(), &mut io.wakers);
        }
        drop(timers);
        self.wake_all(io);
    }

    /// How long nothing will happen: `None` is for ever, zero means that something is due.
    fn time_to_sleep(&self) -> Option<Duration> {
        let deadlines = [self.timers.borrow().next_deadline(), self.io.borrow().lingering_until()];
        let next = deadlines.into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Makes ready what other threads named. Foreign wakers run code of others, so nothing is borrowed by then.
    #[inline]
    fn wake_all(&self, mut io: RefMut<'_, Io>) {
        if self.remote.mailbox.is_pending() {
            self.remote.mailbox.take().into_iter().for_each(|token| io.wakers.tasks.wake(token));
        }
        if io.wakers.has_due() {
            let due = io.wakers.take_due();
            drop(io);
            due.into_iter().for_each(std::task::Waker::wake);
        }
    }

    /// Ends every task, then everything the kernel holds.
    fn shut_down(&self) {
        let _current = Entered(CURRENT.replace(self));
        // A destructor may spawn: go on until none is left, but not for ever.
        for _ in 0..16 {
            let keys = self.io().wakers.tasks.keys();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                let task = self.io().wakers.tasks.task(key);
                if let Some(task) = task {
                    task.cancel();
                }
                let ended = self.io().wakers.tasks.remove(key);
                drop(ended);
            }
        }
        self.io.borrow_mut().shut_down();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shut_down();
        let me: *const Self = self;
        let _ = LIVE.try_with(|live| live.borrow_mut().retain(|worker| !ptr::eq(*worker, me)));
        let mut remotes = REMOTES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        remotes[usize::from(self.id)] = None;
    }
}

/// Resets the current worker, also when a panic leaves `block_on`.
struct Entered(*const Worker);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

fn enlist(remote: Arc<Remote>) -> io::Result<u16> {
    let mut remotes = REMOTES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let free = remotes.iter().position(Option::is_none).unwrap_or(remotes.len());
    if free >= usize::from(u16::MAX) {
        return Err(io::Error::other("65,535 runtimes are alive in this process; drop some"));
    }
    if free == remotes.len() {
        remotes.push(None);
    }
    remotes[free] = Some(remote);
    Ok(free as u16)
}
