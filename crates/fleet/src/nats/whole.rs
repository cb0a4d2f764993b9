//! Holds seconds back until they are there from all agents, and gives them out in order.
//!
//! Invariant: a second is given from all agents or from none, so that what is shown and judged is of the whole load.

use crate::words::Table;
use std::collections::BTreeMap;

/// What has arrived and is not given yet.
#[derive(Debug, Default)]
pub(super) struct Whole {
    waiting: BTreeMap<u64, Vec<(String, Table)>>,
}

impl Whole {
    pub fn add(&mut self, agent: &str, second: u64, table: Table) {
        self.waiting.entry(second).or_default().push((agent.to_owned(), table));
    }

    /// The seconds below `whole`, in order.
    pub fn take(&mut self, whole: u64) -> Vec<(String, Table)> {
        let rest = self.waiting.split_off(&whole);
        std::mem::replace(&mut self.waiting, rest).into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_given_in_order_once_all_have_them() {
        let table = |count: u64| Table { counters: [("n".to_owned(), count)].into(), ..Table::default() };
        let mut whole = Whole::default();
        for (agent, second) in [("a", 1), ("a", 0), ("b", 0), ("b", 2)] {
            whole.add(agent, second, table(second));
        }
        assert_eq!(whole.take(0), []);
        assert_eq!(whole.take(1), [("a".to_owned(), table(0)), ("b".to_owned(), table(0))]);
        assert_eq!(whole.take(1), []);
        assert_eq!(whole.take(3), [("a".to_owned(), table(1)), ("b".to_owned(), table(2))]);
    }
}
