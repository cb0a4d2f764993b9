//! A FIFO queue of waiters that can leave from the middle.

use std::collections::BTreeMap;

/// A place in one queue. Keys are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitKey(u64);

pub(crate) struct WaitQueue<T> {
    entries: BTreeMap<WaitKey, T>,
    next: u64,
}

impl<T> WaitQueue<T> {
    pub const fn new() -> Self {
        Self { entries: BTreeMap::new(), next: 0 }
    }

    pub fn push(&mut self, value: T) -> WaitKey {
        let key = WaitKey(self.next);
        self.next += 1;
        self.entries.insert(key, value);
        key
    }

    pub fn get(&mut self, key: WaitKey) -> Option<&mut T> {
        self.entries.get_mut(&key)
    }

    pub fn remove(&mut self, key: WaitKey) -> Option<T> {
        self.entries.remove(&key)
    }

    /// Removes all waiters, in order.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.entries).into_values()
    }

    #[cfg(all(test, not(loom)))]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_order_and_reuses_no_key(ops in proptest::collection::vec((0u8..5, 0usize..64), 1..500)) {
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
                prop_assert_eq!(queue.len(), model.len());
                prop_assert!(gone.iter().all(|key| queue.get(*key).is_none() && queue.remove(*key).is_none()));
            }
            prop_assert!(model.iter().all(|(key, value)| queue.get(*key) == Some(&mut value.clone())));
        }
    }
}
