//! Throughput relative to a baseline target, by repeat.
//!
//! Within a repeat the targets of one load run one after another, so disturbances longer than that affect all of them
//! and cancel out of the ratio.

use super::Row;
use crate::stats::spread;
use std::collections::BTreeMap;

/// Sets each row's throughput relative to that of the target `baseline` under the same load.
pub fn compare(rows: &mut [Row], baseline: &str) {
    let of_baseline = rows.iter().filter(|row| row.cell.target == baseline);
    let bases: BTreeMap<String, _> =
        of_baseline.map(|row| (row.cell.combination().to_owned(), row.rates.clone())).collect();
    for row in rows {
        let Some(base) = bases.get(row.cell.combination()) else { continue };
        let ratio = |(repeat, rate): (&u32, &f64)| base.get(repeat).map(|base| rate / base);
        row.against_baseline = spread(row.rates.iter().map(ratio));
    }
}
