//! Sums of the seconds of all agents.
//!
//! Invariants:
//! - Each (agent, incarnation, second) is counted once, however often it arrives.
//! - The sum depends on what was counted, not on order or grouping, if adding distributions is associative and commutative.
//! - What cannot be read changes nothing.

use crate::words::Table;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A distribution that can be added to another, such as a histogram; an agent sends it as bytes.
pub trait Distribution: Clone {
    /// Reads the bytes that an agent sent.
    ///
    /// # Errors
    /// They are no such distribution; one line.
    fn decode(bytes: &[u8]) -> Result<Self, String>;

    /// Adds the other one, with an associative and commutative operation.
    fn add(&mut self, other: &Self);
}

/// A second that was not counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// The bytes of a distribution cannot be read.
    #[error(
        "agent {agent}, second {second}: distribution '{name}' cannot be read ({why}): run the same version on all machines"
    )]
    Unreadable {
        /// Id of the agent.
        agent: String,
        /// Number of the second.
        second: u64,
        /// Name of the distribution.
        name: String,
        /// What the distribution says of its bytes.
        why: String,
    },
    /// Two sums have counted some of the same, but neither has all that the other has.
    #[error("second {second} of agent {agent} is in two sums: let each agent send to one of them only")]
    Overlap {
        /// Id of the agent.
        agent: String,
        /// Number of the second.
        second: u64,
    },
}

/// Distributions and counters of several agents or seconds, added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged<D> {
    /// Distributions by name.
    pub distributions: BTreeMap<String, D>,
    /// Counters by name; a sum that is too large stays at the largest number.
    pub counters: BTreeMap<String, u64>,
}

impl<D> Default for Merged<D> {
    fn default() -> Self {
        Self { distributions: BTreeMap::new(), counters: BTreeMap::new() }
    }
}

impl<D: Distribution> Merged<D> {
    /// Adds what the other one has.
    pub fn add(&mut self, other: &Self) {
        for (name, distribution) in &other.distributions {
            match self.distributions.get_mut(name) {
                Some(sum) => sum.add(distribution),
                None => drop(self.distributions.insert(name.clone(), distribution.clone())),
            }
        }
        for (name, count) in &other.counters {
            let sum = self.counters.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    fn read(agent: &str, second: u64, table: &Table) -> Result<Self, MergeError> {
        let distributions = table.distributions.iter().map(|(name, bytes)| {
            let unreadable = |why| MergeError::Unreadable { agent: agent.to_owned(), second, name: name.clone(), why };
            Ok((name.clone(), D::decode(bytes).map_err(unreadable)?))
        });
        Ok(Self { distributions: distributions.collect::<Result<_, _>>()?, counters: table.counters.clone() })
    }
}

/// Id of an agent and its incarnation.
type Source = (String, u64);

/// One second of several agents.
#[derive(Debug, Clone)]
struct Second<D> {
    sources: BTreeSet<Source>,
    merged: Merged<D>,
}

/// The seconds of a run.
#[derive(Debug, Clone)]
pub struct Sum<D> {
    seconds: BTreeMap<u64, Second<D>>,
}

impl<D> Default for Sum<D> {
    fn default() -> Self {
        Self { seconds: BTreeMap::new() }
    }
}

impl<D: Distribution> Sum<D> {
    /// Counts a second of an agent, unless it is counted already; returns whether it was.
    ///
    /// # Errors
    /// A distribution cannot be read: nothing is counted.
    pub fn take(&mut self, agent: &str, incarnation: u64, second: u64, table: &Table) -> Result<bool, MergeError> {
        let source = (agent.to_owned(), incarnation);
        if self.seconds.get(&second).is_some_and(|known| known.sources.contains(&source)) {
            return Ok(false);
        }
        let merged = Merged::read(agent, second, table)?;
        self.add_second(second, &Second { sources: BTreeSet::from([source]), merged });
        Ok(true)
    }

    /// Adds a sum over other agents, or over other seconds; what has been counted already is left out.
    ///
    /// # Errors
    /// A second of it was counted from some of its agents but not from all: nothing is added.
    pub fn join(&mut self, other: &Self) -> Result<(), MergeError> {
        let mut new = Vec::new();
        for (second, theirs) in &other.seconds {
            let known = |source: &&Source| self.seconds.get(second).is_some_and(|own| own.sources.contains(*source));
            match (theirs.sources.iter().find(known), theirs.sources.iter().all(|source| known(&source))) {
                (None, _) => new.push((*second, theirs)),
                (Some(_), true) => (),
                (Some((agent, _)), false) => {
                    return Err(MergeError::Overlap { agent: agent.clone(), second: *second });
                }
            }
        }
        new.into_iter().for_each(|(second, theirs)| self.add_second(second, theirs));
        Ok(())
    }

    /// The sum of the seconds below `end`.
    pub fn total(&self, end: u64) -> Merged<D> {
        let mut total = Merged::default();
        self.seconds.range(..end).for_each(|(_, second)| total.add(&second.merged));
        total
    }

    /// The sum of one second.
    pub fn second(&self, second: u64) -> Option<&Merged<D>> {
        self.seconds.get(&second).map(|second| &second.merged)
    }

    fn add_second(&mut self, number: u64, new: &Second<D>) {
        match self.seconds.get_mut(&number) {
            Some(second) => {
                second.sources.extend(new.sources.iter().cloned());
                second.merged.add(&new.merged);
            }
            None => drop(self.seconds.insert(number, new.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Cells([u64; 4]);

    impl Distribution for Cells {
        fn decode(bytes: &[u8]) -> Result<Self, String> {
            let cells: [u8; 4] = bytes.try_into().map_err(|_| format!("{} bytes instead of 4", bytes.len()))?;
            Ok(Self(cells.map(u64::from)))
        }

        fn add(&mut self, other: &Self) {
            self.0.iter_mut().zip(other.0).for_each(|(cell, more)| *cell += more);
        }
    }

    /// What an agent sent for a second: the number in the table follows from the key, so that a repetition is equal.
    type Key = (u8, u64, u64);

    fn table((agent, incarnation, second): Key) -> Table {
        let value = agent.wrapping_mul(31) ^ (incarnation * 7 + second * 13) as u8;
        let mut table = Table::default();
        table.distributions.insert(format!("response{}", second % 2), vec![value, 1, agent, 0]);
        table.counters.insert("completed".to_owned(), u64::from(value));
        table
    }

    fn sum(keys: &[Key]) -> Sum<Cells> {
        let mut sum = Sum::default();
        for key in keys {
            sum.take(&key.0.to_string(), key.1, key.2, &table(*key)).unwrap();
        }
        sum
    }

    proptest! {
        #[test]
        fn any_order_grouping_and_repetition_give_the_same_sum(
            keys in prop::collection::vec((0..5u8, 0..2u64, 0..6u64), 0..60),
            end in 0..8u64,
        ) {
            let distinct: BTreeSet<Key> = keys.iter().copied().collect();
            let mut direct = Merged::default();
            for key in distinct.iter().filter(|key| key.2 < end) {
                direct.add(&Merged::<Cells>::read("", 0, &table(*key)).unwrap());
            }
            prop_assert_eq!(&sum(&keys).total(end), &direct);
            let reversed: Vec<Key> = keys.iter().rev().copied().collect();
            prop_assert_eq!(&sum(&reversed).total(end), &direct);
            // Groups of agents, one of which arrives twice.
            let group = |group: u8| keys.iter().filter(|key| key.0 % 3 == group).copied().collect::<Vec<_>>();
            let mut grouped = sum(&group(1));
            for part in [0, 2, 0] {
                grouped.join(&sum(&group(part))).unwrap();
            }
            prop_assert_eq!(&grouped.total(end), &direct);
        }
    }

    #[test]
    fn sums_that_share_a_part_and_unreadable_bytes_change_nothing() {
        let mut first = sum(&[(0, 0, 0), (1, 0, 0)]);
        let before = first.total(9);
        assert_eq!(
            first.join(&sum(&[(2, 0, 1), (1, 0, 0), (3, 0, 0)])).unwrap_err(),
            MergeError::Overlap { agent: "1".to_owned(), second: 0 }
        );
        let mut bad = table((4, 0, 0));
        bad.distributions.insert("lag".to_owned(), vec![1]);
        assert!(matches!(first.take("4", 0, 0, &bad), Err(MergeError::Unreadable { .. })));
        assert_eq!(first.total(9), before);
        assert!(first.take("4", 0, 0, &table((4, 0, 0))).unwrap());
    }
}
