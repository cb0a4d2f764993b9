//! A FIFO queue of waiters that can leave from the middle.

use std::collections::VecDeque;

/// A place in one queue. Keys are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitKey(u64);

pub(crate) struct WaitQueue<T> {
    /// Ascending by key. `None` has left; removed once more than half of the queue has left.
    entries: VecDeque<(u64, Option<T>)>,
    next: u64,
    left: usize,
}

impl<T> WaitQueue<T> {
    pub const fn new() -> Self {
        Self { entries: VecDeque::new(), next: 0, left: 0 }
    }

    pub fn push(&mut self, value: T) -> WaitKey {
        let key = self.next;
        self.next += 1;
        self.entries.push_back((key, Some(value)));
        WaitKey(key)
    }

    pub fn get(&mut self, key: WaitKey) -> Option<&mut T> {
        self.entry(key)?.as_mut()
    }

    pub fn remove(&mut self, key: WaitKey) -> Option<T> {
        let value = self.entry(key)?.take()?;
        self.left += 1;
        // Each retained entry is paid for by one that left.
        if self.left * 2 > self.entries.len() {
            self.entries.retain(|(_, value)| value.is_some());
            self.left = 0;
            if self.entries.capacity() > 16 + 4 * self.entries.len() {
                self.entries.shrink_to(2 * self.entries.len());
            }
        }
        Some(value)
    }

    /// Removes all waiters, in order.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.left = 0;
        std::mem::take(&mut self.entries).into_iter().filter_map(|(_, value)| value)
    }

    #[cfg(all(test, not(loom)))]
    pub fn len(&self) -> usize {
        self.entries.len() - self.left
    }

    fn entry(&mut self, key: WaitKey) -> Option<&mut Option<T>> {
        let index = self.entries.binary_search_by_key(&key.0, |(key, _)| *key).ok()?;
        Some(&mut self.entries[index].1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_order_and_bounds_memory(ops in proptest::collection::vec((0u8..5, 0usize..64), 1..500)) {
            let (mut queue, mut model) = (WaitQueue::new(), Vec::<(WaitKey, usize)>::new());
            let mut gone = Vec::new();
            for (value, (op, pick)) in ops.into_iter().enumerate() {
                match op {
                    0..=2 => model.push((queue.push(value), value)),
                    3 if !model.is_empty() => {
                        let (key, value) = model.remove(pick % model.len());
                        prop_assert_eq!(queue.remove(key), Some(value));
                        gone.push(key);
                    }
                    _ if pick == 0 => {
                        let all: Vec<_> = queue.take_all().collect();
                        prop_assert!(all.iter().eq(model.iter().map(|(_, value)| value)));
                        gone.extend(model.drain(..).map(|(key, _)| key));
                    }
                    _ => (),
                }
                prop_assert!(queue.entries.len() <= 2 * model.len(), "{} entries for {}", queue.entries.len(), model.len());
                prop_assert!(gone.iter().all(|key| queue.get(*key).is_none() && queue.remove(*key).is_none()));
            }
            prop_assert!(model.iter().all(|(key, value)| queue.get(*key) == Some(&mut value.clone())));
        }
    }
}
