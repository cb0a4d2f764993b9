//! Timers of a worker: a heap of deadlines that knows where each timer stands, so that removing one is cheap.

use crate::{
    slab::{Key, Slab},
    waiter::{Waiter, Wakers},
};
use std::{task::Context, time::Instant};

#[derive(Default)]
struct Timer {
    waiter: Waiter,
    position: u32,
    fired: bool,
}

pub(crate) struct Timers {
    timers: Slab<Timer>,
    heap: Vec<(Instant, Key)>,
}

impl Timers {
    pub fn new() -> Self {
        Self { timers: Slab::new(), heap: Vec::new() }
    }

    /// No timer is alive, fired or not.
    pub fn is_empty(&self) -> bool {
        self.timers.len() == 0
    }

    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.heap.first().map(|(deadline, _)| *deadline)
    }

    pub fn insert(&mut self, deadline: Instant) -> Key {
        let position = self.heap.len();
        let key = self.timers.insert(Timer { position: position as u32, ..Timer::default() });
        self.heap.push((deadline, key));
        self.rise(position);
        key
    }

    /// True when the timer has fired; else notes who waits.
    pub fn poll(&mut self, key: Key, wakers: &mut Wakers, cx: &Context<'_>) -> bool {
        match self.timers.get(key) {
            Some(timer) if !timer.fired => {
                wakers.park(&mut timer.waiter, cx);
                false
            }
            _ => true,
        }
    }

    /// Forgets a timer, fired or not.
    pub fn remove(&mut self, key: Key, wakers: &mut Wakers) {
        let Some(mut timer) = self.timers.remove(key) else {
            return;
        };
        wakers.forget(&mut timer.waiter);
        if !timer.fired {
            self.take_out(timer.position as usize);
        }
    }

    /// Fires all timers due at `now`.
    pub fn fire(&mut self, now: Instant, wakers: &mut Wakers) {
        while let Some(&(deadline, key)) = self.heap.first() {
            if deadline > now {
                break;
            }
            self.take_out(0);
            let timer = self.timers.get(key).expect("a timer in the heap is alive");
            timer.fired = true;
            wakers.wake(&mut timer.waiter);
        }
    }

    fn take_out(&mut self, position: usize) {
        self.heap.swap_remove(position);
        if position < self.heap.len() {
            self.place(position);
            let position = self.rise(position);
            self.sink(position);
        }
    }

    fn place(&mut self, position: usize) {
        let key = self.heap[position].1;
        self.timers.get(key).expect("a timer in the heap is alive").position = position as u32;
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place(a);
        self.place(b);
    }

    fn rise(&mut self, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent].0 <= self.heap[position].0 {
                break;
            }
            self.swap(position, parent);
            position = parent;
        }
        position
    }

    fn sink(&mut self, mut position: usize) {
        loop {
            let children = 2 * position + 1..self.heap.len().min(2 * position + 3);
            let Some(least) = children.min_by_key(|child| self.heap[*child].0) else {
                break;
            };
            if self.heap[position].0 <= self.heap[least].0 {
                break;
            }
            self.swap(position, least);
            position = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn fires_what_is_due_and_nothing_else(ops in proptest::collection::vec((0u8..3, 0u64..100), 1..300)) {
            let start = Instant::now();
            let (mut timers, mut wakers) = (Timers::new(), Wakers::new());
            let mut model: Vec<(u64, Key)> = Vec::new();
            let mut fired: Vec<Key> = Vec::new();
            for (op, n) in ops {
                match op {
                    0 => model.push((n, timers.insert(start + Duration::from_millis(n)))),
                    1 if !model.is_empty() => {
                        let (_, key) = model.swap_remove(n as usize % model.len());
                        timers.remove(key, &mut wakers);
                    }
                    _ => {
                        timers.fire(start + Duration::from_millis(n), &mut wakers);
                        fired.extend(model.iter().filter(|(deadline, _)| *deadline <= n).map(|(_, key)| *key));
                        model.retain(|(deadline, _)| *deadline > n);
                    }
                }
                let least = model.iter().map(|(deadline, _)| *deadline).min();
                prop_assert_eq!(timers.next_deadline(), least.map(|n| start + Duration::from_millis(n)));
                for key in &fired {
                    prop_assert!(timers.timers.get(*key).is_some_and(|timer| timer.fired));
                }
            }
            for key in fired.into_iter().chain(model.into_iter().map(|(_, key)| key)) {
                timers.remove(key, &mut wakers);
            }
            prop_assert_eq!((timers.timers.len(), timers.heap.len()), (0, 0));
        }
    }
}
