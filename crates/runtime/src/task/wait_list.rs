//! Several waiters for one event. It wakes all of them: each tries, and waits again if another was faster.

use super::waiter::{Waiter, Wakers};
use std::task::Context;

/// Names an entry of a [`WaitList`]; the default names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// The one entry that the poll forms of a direction share: they have no future of their own that could leave the list.
    pub const POLLED: Self = Self(1);
}

/// Invariant: an entry leaves by the event, which wakes it, or by its own future, and by no other. So no future's drop takes
/// the wake-up of another.
#[derive(Default)]
pub(crate) struct WaitList {
    /// In the order in which they came.
    entries: Vec<(Ticket, Waiter)>,
    last: u64,
}

impl WaitList {
    /// Registers the task behind `cx`, in the place of what the ticket has registered before. The first call gives it out.
    pub fn park(&mut self, wakers: &mut Wakers, ticket: &mut Ticket, cx: &Context<'_>) {
        if *ticket == Ticket::default() {
            self.last = self.last.max(Ticket::POLLED.0) + 1;
            *ticket = Ticket(self.last);
        }
        if let Some((_, waiter)) = self.entries.iter_mut().find(|(of, _)| of == ticket) {
            return wakers.park(waiter, cx);
        }
        let mut waiter = Waiter::default();
        wakers.park(&mut waiter, cx);
        self.entries.push((*ticket, waiter));
    }

    pub fn wake_all(&mut self, wakers: &mut Wakers) {
        self.entries.drain(..).for_each(|(_, mut waiter)| wakers.wake(&mut waiter));
    }

    /// Removes an entry without waking it.
    pub fn leave(&mut self, wakers: &mut Wakers, ticket: Ticket) {
        if let Some(nth) = self.entries.iter().position(|(of, _)| *of == ticket) {
            wakers.forget(&mut self.entries.remove(nth).1);
        }
    }

    pub fn forget_all(&mut self, wakers: &mut Wakers) {
        self.entries.drain(..).for_each(|(_, mut waiter)| wakers.forget(&mut waiter));
    }

    #[cfg(any(test, feature = "sim"))]
    pub fn waiters(&self) -> impl Iterator<Item = Waiter> {
        self.entries.iter().map(|(_, waiter)| *waiter)
    }
}
