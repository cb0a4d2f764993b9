//! Events in the order of their time; of the same time, in the order in which they were added.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<E> {
    time: i64,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), added: 0 }
    }

    pub fn add(&mut self, time: i64, event: E) {
        self.added += 1;
        self.heap.push(Reverse(Entry { time, number: self.added, event }));
    }

    pub fn next(&mut self) -> Option<(i64, E)> {
        self.heap.pop().map(|Reverse(Entry { time, event, .. })| (time, event))
    }

    /// Events added so far.
    pub fn added(&self) -> u64 {
        self.added
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}
