//! Targets compared in pairs. The targets of one load are measured next to each other in every repeat, so what slows
//! the machine for longer than that slows all of them, and drops out of the ratio of two of one repeat.

use super::Row;
use crate::stats::spread;
use std::collections::BTreeMap;

/// Fills in, for each row, its throughput over that of the target `baseline` under the same load.
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
