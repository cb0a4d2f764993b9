//! The table of the named parts of a load.

use crate::format::{shown, three_digits};
use brunt_results::result::{Named, PartFigures};
use std::fmt::Write;

/// One line for each name, ending in newlines; empty without names.
pub(super) fn table(names: &[Named]) -> String {
    let mut table = String::new();
    let width = names.iter().map(|part| part.name.chars().count()).max().unwrap_or(0).max("by name".len());
    let mut line = |name: &str, cells: [&str; 6]| {
        let cells = cells.map(|cell| format!("{cell:>9}")).join(" ");
        let _ = writeln!(table, "  {name:<width$} {cells}");
    };
    if !names.is_empty() {
        line("by name", ["requests", "failed", "per s", "p50", "p99", "max"]);
    }
    for part in names {
        let PartFigures { completed, failed, rate, response, .. } = &part.figures;
        let [p50, p99, max] = ["p50", "p99", "max"].map(|name| shown(response, name));
        line(&part.name, [&completed.to_string(), &failed.to_string(), &three_digits(*rate), &p50, &p99, &max]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::LatencySummary;

    #[test]
    fn the_table_in_full() {
        let response = LatencySummary {
            count: 200,
            p50_us: Some(80.0),
            p99_us: Some(900.0),
            max_us: Some(1500.0),
            ..Default::default()
        };
        let part = |name: &str, failed| {
            let figures =
                PartFigures { completed: 200, failed, rate: 20.0, response: response.clone(), ..Default::default() };
            Named { name: name.to_owned(), figures }
        };
        let expected = "  by name             requests    failed     per s       p50       p99       max
  /                        200         0      20.0   80.0 us         -   1.50 ms
  /a/longer/path?q=1       200         3      20.0   80.0 us         -   1.50 ms
";
        assert_eq!(table(&[part("/", 0), part("/a/longer/path?q=1", 3)]), expected);
        assert_eq!(table(&[]), "");
    }
}
