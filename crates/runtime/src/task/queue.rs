//! All tasks of a worker and the queue of those that are ready.

use super::{Token, cell::Runnable};
use crate::slab::{Key, Slab};
use std::{collections::VecDeque, rc::Rc};

#[derive(Default)]
struct Entry {
    task: Option<Rc<dyn Runnable>>,
    queued: bool,
}

pub(crate) struct Tasks {
    entries: Slab<Entry>,
    ready: VecDeque<Key>,
    /// The future of `block_on` is ready.
    pub main_ready: bool,
}

impl Tasks {
    pub fn new() -> Self {
        Self {
            entries: Slab::new(),
            ready: VecDeque::new(),
            main_ready: true,
        }
    }

    /// Takes a task in and makes it ready.
    pub fn insert(&mut self, task: Rc<dyn Runnable>) -> Key {
        let key = self.entries.insert(Entry {
            task: Some(task),
            queued: true,
        });
        self.ready.push_back(key);
        key
    }

    /// Makes a task ready; a stale token does nothing.
    #[inline]
    pub fn wake(&mut self, token: Token) {
        if token.is_main() {
            self.main_ready = true;
        } else if let Some(entry) = self.entries.get(token.key())
            && !entry.queued
        {
            entry.queued = true;
            self.ready.push_back(token.key());
        }
    }

    /// The next ready task. It may be woken again from here on, also by itself.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, Rc<dyn Runnable>)> {
        while let Some(key) = self.ready.pop_front() {
            if let Some(entry) = self.entries.get(key) {
                entry.queued = false;
                if let Some(task) = &entry.task {
                    return Some((key, task.clone()));
                }
            }
        }
        None
    }

    /// Lets go of an ended task. The caller drops it, outside any borrow.
    pub fn remove(&mut self, key: Key) -> Option<Rc<dyn Runnable>> {
        self.entries.remove(key)?.task
    }

    #[inline]
    pub fn ready_len(&self) -> usize {
        self.ready.len()
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty() && !self.main_ready
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
