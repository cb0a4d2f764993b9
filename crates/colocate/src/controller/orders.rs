//! What an operator tells a run while it runs, by a file beside its journal that the controller reads once a second.

use crate::journal;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The policy forgets the limits that it has learned.
    ForgetLimits,
    /// Jobs are frozen until they are resumed.
    Pause,
    Resume,
    /// No job is started any more; the run ends with the last one.
    Drain,
}

/// Gives an order to the run with this journal. It is carried out within a second or so.
///
/// # Errors
/// The file cannot be written.
pub fn give(journal: &Path, order: Order) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(journal.with_extension(journal::ORDERS))?;
    let line = serde_json::to_string(&order)? + "\n";
    file.write_all(line.as_bytes())
}

/// The orders since the last call. Lines that are none are left out.
pub(super) fn take(journal: &Path) -> Vec<Order> {
    let (file, taken) = (journal.with_extension(journal::ORDERS), journal.with_extension("orders.taken"));
    if fs::rename(&file, &taken).is_err() {
        return Vec::new();
    }
    let text = fs::read_to_string(&taken).unwrap_or_default();
    let _ = fs::remove_file(&taken);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Removes orders that were not taken.
pub(super) fn discard(journal: &Path) {
    let _ = fs::remove_file(journal.with_extension(journal::ORDERS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_taken_once_and_in_order() {
        let home = tempfile::tempdir().unwrap();
        let journal = home.path().join("1-2.journal");
        assert_eq!(take(&journal), []);
        give(&journal, Order::Pause).unwrap();
        give(&journal, Order::ForgetLimits).unwrap();
        assert_eq!(take(&journal), [Order::Pause, Order::ForgetLimits]);
        assert_eq!(take(&journal), []);
        give(&journal, Order::Drain).unwrap();
        discard(&journal);
        assert_eq!(take(&journal), []);
        assert!(home.path().read_dir().unwrap().next().is_none());
    }
}
