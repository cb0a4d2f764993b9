//! A worker of a simulated world, which decides when it goes on.

use super::{OPERATIONS, Rest, Worker};
use crate::executor;
use crate::task::{Token, waker};
use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

impl Worker {
    /// The rest of a turn that has slept, then the tasks and the beginning of the next turn; `None` if the future is done.
    pub fn step(&self, future: Pin<&mut dyn Future<Output = ()>>, rest: Option<Rest>) -> Option<Rest> {
        let _current = executor::enter(self);
        if let Some(rest) = rest {
            self.after_rest(Rest { timeout: Some(Duration::ZERO), ..rest });
            self.shortage.observe(self.id(), || self.clock.now(), || self.io().report().spare_buffers);
        }
        let waker = waker::new(Token::main(self.id()));
        let mut cx = Context::from_waker(&waker);
        self.budget.set(OPERATIONS);
        self.io().begin_polls(self.scheduler.tasks.ready());
        if self.scheduler.tasks.take_main_ready() && future.poll(&mut cx).is_ready() {
            self.io().settle();
            self.publish();
            return None;
        }
        self.run_ready();
        let rest = self.before_rest();
        self.io().submit_to_world();
        Some(rest)
    }
}
