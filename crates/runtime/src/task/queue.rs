//! The tasks of a worker and the queue of those that are ready.

use super::{Token, cell::Runnable};
use crate::slab::{Key, Slab};
use std::{cell::UnsafeCell, rc::Rc};

#[derive(Default)]
struct Entry {
    task: Option<Rc<dyn Runnable>>,
    queued: bool,
}

/// Shared by the worker, which runs tasks, and by its I/O, which wakes them.
///
/// Invariant: no method runs user code or calls another method while it refers to the state, so it has the state to itself.
pub(crate) struct Tasks(UnsafeCell<State>);

struct State {
    entries: Slab<Entry>,
    /// Tasks woken since the running batch was taken.
    woken: Vec<Key>,
    /// The running batch and the position in it: plain vectors are cheaper per task than a ring buffer.
    batch: Vec<Key>,
    next: usize,
    main_ready: bool,
}

impl Tasks {
    pub fn new() -> Self {
        let (woken, batch) = (Vec::new(), Vec::new());
        Self(UnsafeCell::new(State { entries: Slab::new(), woken, batch, next: 0, main_ready: true }))
    }

    #[expect(clippy::mut_from_ref, reason = "see the invariant of the type")]
    #[inline(always)]
    fn state(&self) -> &mut State {
        // SAFETY: `Tasks` is not `Sync`, and by the invariant of the type no other reference to the state exists.
        unsafe { &mut *self.0.get() }
    }

    pub fn insert(&self, task: Rc<dyn Runnable>) -> Key {
        let state = self.state();
        let key = state.entries.insert(Entry { task: Some(task), queued: true });
        state.woken.push(key);
        key
    }

    /// Makes a task ready. A stale token has no effect.
    #[inline(always)]
    pub fn wake(&self, token: Token) {
        let state = self.state();
        if token.is_main() {
            state.main_ready = true;
        } else if let Some(entry) = state.entries.get(token.key())
            && !entry.queued
        {
            entry.queued = true;
            state.woken.push(token.key());
        }
    }

    pub fn wake_main(&self) {
        self.state().main_ready = true;
    }

    /// Whether the future of `block_on` is ready; resets it.
    #[inline]
    pub fn take_main_ready(&self) -> bool {
        std::mem::take(&mut self.state().main_ready)
    }

    /// Starts a batch if the last one is finished. Tasks woken during a batch run after the next look at the kernel.
    #[inline]
    pub fn begin_batch(&self) {
        let state = self.state();
        if state.next == state.batch.len() {
            state.batch.clear();
            state.next = 0;
            std::mem::swap(&mut state.batch, &mut state.woken);
        }
    }

    /// The next task of the batch, which may be woken again from here on. The pointer is valid until the task is removed.
    #[inline(always)]
    pub fn pop(&self) -> Option<(Key, *const dyn Runnable)> {
        let state = self.state();
        loop {
            let key = *state.batch.get(state.next)?;
            state.next += 1;
            if let Some(Entry { task: Some(task), queued }) = state.entries.get(key) {
                *queued = false;
                return Some((key, Rc::as_ptr(task)));
            }
        }
    }

    /// Removes a task that has ended; dropping it may run user code.
    #[must_use]
    pub fn remove(&self, key: Key) -> Option<Rc<dyn Runnable>> {
        self.state().entries.remove(key)?.task
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.woken.is_empty() && state.next == state.batch.len() && !state.main_ready
    }

    /// How many are ready, the future of `block_on` included.
    #[inline]
    pub fn ready(&self) -> usize {
        let state = self.state();
        state.woken.len() + (state.batch.len() - state.next) + usize::from(state.main_ready)
    }

    pub fn len(&self) -> usize {
        self.state().entries.len()
    }

    pub fn keys(&self) -> Vec<Key> {
        self.state().entries.keys()
    }

    /// The live tasks and their names.
    #[cfg(any(test, feature = "sim"))]
    pub fn names(&self) -> Vec<(Key, &'static str)> {
        self.keys().into_iter().filter_map(|key| self.task(key).map(|task| (key, task.name()))).collect()
    }

    pub fn task(&self, key: Key) -> Option<Rc<dyn Runnable>> {
        self.state().entries.get(key)?.task.clone()
    }
}
