//! The table of the steps of a load that changes.

use crate::format::{or_dash, shown, three_digits};
use brunt_results::result::Step;
use std::fmt::Write;

/// One line for each step, ending in newlines; empty if nothing changes.
pub(super) fn table(steps: &[Step]) -> String {
    let mut table = String::new();
    let mut line = |cells: [&str; 7]| {
        let cells = cells.map(|cell| format!("{cell:>9}")).join(" ");
        let _ = writeln!(table, "  {cells}");
    };
    if !steps.is_empty() {
        let is_open = steps.iter().any(|step| step.offered_rate.is_some());
        let varied = if is_open { "offered/s" } else { "connect." };
        line(["from s", varied, "per s", "failed", "p50", "p99", "max"]);
    }
    for Step { start_s, offered_rate, connections, figures, .. } in steps {
        let [p50, p99, max] = ["p50", "p99", "max"].map(|name| shown(&figures.response, name));
        let (start, failed) = (format!("{start_s:.1}"), figures.failed.to_string());
        let varied = or_dash(offered_rate.or(*connections), three_digits);
        line([&start, &varied, &three_digits(figures.rate), &failed, &p50, &p99, &max]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::LatencySummary;
    use brunt_results::result::PartFigures;

    #[test]
    fn the_table_in_full() {
        let response = LatencySummary {
            count: 2000,
            p50_us: Some(80.0),
            p99_us: Some(900.0),
            max_us: Some(1500.0),
            ..Default::default()
        };
        let figures = PartFigures { completed: 2000, failed: 1, rate: 2000.0, response, ..Default::default() };
        let step = Step { start_s: 0.0, end_s: 1.0, offered_rate: Some(2001.0), connections: None, figures };
        let expected = "     from s offered/s     per s    failed       p50       p99       max\n        \
                        0.0      2001      2000         1   80.0 us    900 us   1.50 ms\n";
        assert_eq!(table(std::slice::from_ref(&step)), expected);
        let step = Step { offered_rate: None, connections: Some(19.5), ..step };
        assert_eq!(
            table(&[step]),
            expected.replace("offered/s", " connect.").replace("     2001      2000", "     19.5      2000")
        );
        assert_eq!(table(&[]), "");
    }
}
