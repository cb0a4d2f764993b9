//! Which connections of a load thread have a task, where their number changes.

use super::connect_pacer::Pace;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Places of the connections of one load thread.
pub struct Places {
    /// By connection: whether it is open, being opened, or waits for that.
    pub has_task: RefCell<Vec<bool>>,
    /// To be opened.
    pub waiting: RefCell<VecDeque<u32>>,
    /// Tasks that open them.
    pub attempts: Cell<usize>,
    pub pace: Pace,
}

impl Places {
    /// Of `own` connections the `first` are open when the load begins.
    pub fn new(own: usize, first: usize, pace: Pace) -> Self {
        let has_task = (0..own).map(|index| index < first).collect();
        Self { has_task: RefCell::new(has_task), waiting: RefCell::default(), attempts: Cell::new(0), pace }
    }

    /// The task of connection `index` ends.
    pub fn left(&self, index: u32) {
        self.has_task.borrow_mut()[index as usize] = false;
    }
}
