//! Loom tests of a task's life: a wake-up from another thread races with the poll, the abort, the end and the joiner.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p brunt-runtime --lib task::model --release`

use super::cell::Progress;
use super::context::{self, Scheduler};
use super::mailbox::Mailbox;
use super::queue::Tasks;
use super::{JoinError, JoinHandle, Token, waker};
use crate::sync::parker::Parker;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::task::{Context, Poll};
use std::{cell::RefCell, future::poll_fn, rc::Rc};

const ID: u16 = 7;

/// State shared by another thread and the worker: its mailbox, its eventfd, and the event that a task waits for.
struct Shared {
    mailbox: Mailbox,
    wake_fd: Parker,
    event: AtomicBool,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { mailbox: Mailbox::new(), wake_fd: Parker::new(), event: AtomicBool::new(false) })
    }

    /// The event happens, then the task is woken.
    fn fire(&self, token: Token) {
        self.event.store(true, Ordering::Release);
        if self.mailbox.post(token) {
            self.wake_fd.unpark();
        }
    }
}

/// The worker's loop, until all tasks have ended.
fn run(scheduler: &Scheduler, shared: &Shared) {
    let tasks = &scheduler.tasks;
    while tasks.len() > 0 {
        tasks.begin_batch();
        while let Some((key, task)) = tasks.pop() {
            let waker = waker::new(Token::new(ID, key));
            // SAFETY: the task is removed below, after its poll.
            if unsafe { &*task }.run(&mut Context::from_waker(&waker)) != Progress::Pending {
                drop(tasks.remove(key));
            }
        }
        tasks.take_main_ready();
        if shared.mailbox.is_pending() {
            shared.mailbox.take().tokens.into_iter().for_each(|token| tasks.wake(token));
        } else if tasks.is_idle() && tasks.len() > 0 && shared.mailbox.fall_asleep() {
            shared.wake_fd.park();
            shared.mailbox.wake_up();
        }
    }
}

/// A task that waits for the event. Its token is that of the first slot of a new scheduler.
fn spawn_waiting(scheduler: &Scheduler, shared: &Arc<Shared>) -> (JoinHandle<u32>, Token) {
    let event = shared.clone();
    let handle = scheduler.spawn(poll_fn(move |_| match event.event.load(Ordering::Acquire) {
        true => Poll::Ready(5),
        false => Poll::Pending,
    }));
    (handle, Token::new(ID, scheduler.tasks.keys()[0]))
}

/// A task that joins the other one, and what it gets.
fn spawn_joining(scheduler: &Scheduler, handle: JoinHandle<u32>) -> Rc<RefCell<Option<Result<u32, JoinError>>>> {
    let output = Rc::new(RefCell::new(None));
    let into = output.clone();
    drop(scheduler.spawn(async move {
        let result = handle.await;
        *into.borrow_mut() = Some(result);
    }));
    output
}

/// Runs a model with a scheduler that is the current one.
fn model(body: impl Fn(&Scheduler, &Arc<Shared>) + Sync + Send + 'static) {
    loom::model(move || {
        let tasks = Rc::new(Tasks::new());
        let scheduler = Scheduler { id: ID, tasks, wake_worker: |_| unreachable!("there is one worker") };
        // SAFETY: the guard is dropped before the scheduler.
        let _current = unsafe { context::enter(&scheduler) };
        body(&scheduler, &Shared::new());
    });
}

fn fire_elsewhere(shared: &Arc<Shared>, token: Token) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || shared.fire(token))
}

#[test]
fn a_task_woken_by_another_thread_ends_and_wakes_its_joiner() {
    model(|scheduler, shared| {
        let (handle, token) = spawn_waiting(scheduler, shared);
        let output = spawn_joining(scheduler, handle);
        let other = fire_elsewhere(shared, token);
        run(scheduler, shared);
        assert!(matches!(output.take(), Some(Ok(5))));
        other.join().unwrap();
    });
}

#[test]
fn an_abort_that_races_with_a_wake_up_ends_the_task_once() {
    model(|scheduler, shared| {
        let (handle, token) = spawn_waiting(scheduler, shared);
        let other = fire_elsewhere(shared, token);
        handle.abort();
        let output = spawn_joining(scheduler, handle);
        run(scheduler, shared);
        assert!(matches!(output.take(), Some(Err(error)) if error.is_aborted()));
        other.join().unwrap();
        // The token is stale by now, whether its wake-up came before the end or not.
        shared.mailbox.take().tokens.into_iter().for_each(|token| scheduler.tasks.wake(token));
        assert_eq!(scheduler.tasks.len(), 0);
    });
}

#[test]
fn a_wake_up_for_a_reused_slot_does_not_end_the_new_task() {
    model(|scheduler, shared| {
        let (first, stale) = spawn_waiting(scheduler, shared);
        first.abort();
        run(scheduler, shared);
        let (second, token) = spawn_waiting(scheduler, shared);
        assert!(stale != token && stale.key().index == token.key().index);
        let output = spawn_joining(scheduler, second);
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                let _ = shared.mailbox.post(stale);
                shared.fire(token);
            }
        });
        run(scheduler, shared);
        assert!(matches!(output.take(), Some(Ok(5))));
        other.join().unwrap();
    });
}
