//! Time that a test gives to a thread, and what the machine does meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What a test says of time and of the machine.
pub trait Machine {
    /// Time since a moment that the test chooses; never falls.
    fn time(&self) -> Duration;

    /// Something sleeps for so long.
    fn sleep(&self, time: Duration);

    /// What the machine took and counted until now.
    fn account(&self) -> Account {
        Account::default()
    }
}

/// Cumulative.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    /// Time that it took from the slices.
    pub lost: Duration,
    /// Interrupt time of the targets' cores, if threads are billed without it.
    pub interrupts: Option<Duration>,
    /// Accepted connections; `None` if they are not counted.
    pub accepted: Option<u64>,
}

/// A machine of which the time stands still, but for [`Still::pass`] and what sleeps.
#[derive(Debug, Default)]
pub struct Still {
    time: Cell<Duration>,
    account: Cell<Account>,
}

impl Still {
    pub fn pass(&self, time: Duration) {
        self.time.set(self.time.get() + time);
    }

    /// The machine takes so much of the time that has passed.
    pub fn lose(&self, time: Duration) {
        let account = self.account.get();
        self.account.set(Account { lost: account.lost + time, ..account });
    }
}

impl Machine for Still {
    fn time(&self) -> Duration {
        self.time.get()
    }

    fn sleep(&self, time: Duration) {
        self.pass(time);
    }

    fn account(&self) -> Account {
        self.account.get()
    }
}

thread_local! {
    /// The machine of this thread, and the moment that its time counts from.
    static GIVEN: RefCell<Option<(Instant, Rc<dyn Machine>)>> = const { RefCell::new(None) };
}

/// While it lives, the time of this thread is that of a machine.
#[derive(Debug)]
pub struct Given(());

impl Given {
    /// # Panics
    /// If the thread has a given time already.
    pub fn begin(machine: Rc<dyn Machine>) -> Self {
        let begin = super::now();
        assert!(GIVEN.replace(Some((begin, machine))).is_none(), "this thread has a given time already");
        Self(())
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        GIVEN.set(None);
    }
}

fn machine() -> Option<(Instant, Rc<dyn Machine>)> {
    GIVEN.with_borrow(Clone::clone)
}

pub(super) fn now() -> Option<Instant> {
    machine().map(|(begin, machine)| begin + machine.time())
}

pub(super) fn time() -> Option<Duration> {
    machine().map(|(_, machine)| machine.time())
}

/// False without a given time.
pub(super) fn sleep(time: Duration) -> bool {
    machine().map(|(_, machine)| machine.sleep(time)).is_some()
}

/// What the machine took and counted; `None` without a given time.
pub(crate) fn account() -> Option<Account> {
    machine().map(|(_, machine)| machine.account())
}
