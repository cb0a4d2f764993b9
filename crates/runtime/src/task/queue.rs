//! All tasks of a worker and the queue of those that are ready.

use super::{Token, cell::Runnable};
use crate::slab::{Key, Slab};
use std::rc::Rc;

#[derive(Default)]
struct Entry {
    task: Option<Rc<dyn Runnable>>,
    queued: bool,
}

pub(crate) struct Tasks {
    entries: Slab<Entry>,
    /// Woken since the running batch was taken.
    woken: Vec<Key>,
    /// The running batch, and how far it has run: plain vectors cost less a task than a ring buffer.
    batch: Vec<Key>,
    next: usize,
    /// The future of `block_on` is ready.
    pub main_ready: bool,
}

impl Tasks {
    pub fn new() -> Self {
        Self { entries: Slab::new(), woken: Vec::new(), batch: Vec::new(), next: 0, main_ready: true }
    }

    /// Takes a task in and makes it ready.
    pub fn insert(&mut self, task: Rc<dyn Runnable>) -> Key {
        let key = self.entries.insert(Entry { task: Some(task), queued: true });
        self.woken.push(key);
        key
    }

    /// Makes a task ready; a stale token does nothing.
    #[inline(always)]
    pub fn wake(&mut self, token: Token) {
        if token.is_main() {
            self.main_ready = true;
        } else if let Some(entry) = self.entries.get(token.key())
            && !entry.queued
        {
            entry.queued = true;
            self.woken.push(token.key());
        }
    }

    /// Begins a batch when the last one is through: tasks woken meanwhile have their turn after the next look at the
    /// kernel.
    #[inline]
    pub fn begin_batch(&mut self) {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            std::mem::swap(&mut self.batch, &mut self.woken);
        }
    }

    /// The next task of the batch. It may be woken again from here on, also by itself. The pointer is good until the
    /// task is removed.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Key, *const dyn Runnable)> {
        loop {
            let key = *self.batch.get(self.next)?;
            self.next += 1;
            if let Some(Entry { task: Some(task), queued }) = self.entries.get(key) {
                *queued = false;
                return Some((key, Rc::as_ptr(task)));
            }
        }
    }

    /// Lets go of an ended task. The caller drops it, outside any borrow.
    pub fn remove(&mut self, key: Key) -> Option<Rc<dyn Runnable>> {
        self.entries.remove(key)?.task
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.woken.is_empty() && self.next == self.batch.len() && !self.main_ready
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn keys(&self) -> Vec<Key> {
        self.entries.keys()
    }

    pub fn task(&mut self, key: Key) -> Option<Rc<dyn Runnable>> {
        self.entries.get(key)?.task.clone()
    }
}
