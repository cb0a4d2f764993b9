//! Tables of the figures of named parts of a load.

use super::RenderedTable;
use super::columns::Column;
use crate::format::{self, time};
use crate::report::Report;
use brunt_results::result::{Named, PartFigures};
use brunt_statistics::supported;

/// Figures by name of each row that has them.
pub fn by_name(report: &Report) -> impl Iterator<Item = RenderedTable> {
    let is_one = report.rows.len() == 1;
    report.rows.iter().filter_map(move |row| {
        let title = if is_one { "By name".to_owned() } else { format!("By name: {}", row.cell.id()) };
        table(&row.parts.names, title)
    })
}

fn table(names: &[Named], title: String) -> Option<RenderedTable> {
    let figures = |of: &Named| {
        let PartFigures { completed, failed, rate, response, .. } = &of.figures;
        let least = |name: &str, us: Option<f64>| match us {
            Some(_) if response.is_bound(name) => format!("> {}", time(us)),
            _ => time(us),
        };
        let us = |name: &str, quantile: f64, us: Option<f64>| least(name, supported(response, quantile, us));
        [
            of.name.clone(),
            completed.to_string(),
            failed.to_string(),
            format::three_digits(Some(*rate)),
            us("p50", 0.5, response.p50_us),
            us("p95", 0.95, response.p95_us),
            us("p99", 0.99, response.p99_us),
            us("p99.9", 0.999, response.p999_us),
            least("max", response.max_us),
        ]
    };
    const HEADS: [&str; 9] = ["by name", "requests", "failed", "req/s", "p50", "p95", "p99", "p99.9", "max"];
    let rows: Vec<[String; 9]> = names.iter().map(figures).collect();
    let column = |(place, head): (usize, &&str)| Column {
        header: [String::new(), (*head).to_owned()],
        right: place > 0,
        weight: 0,
        is_default: true,
        cells: rows.iter().map(|row| row[place].clone()).collect(),
    };
    let columns = HEADS.iter().enumerate().map(column).collect();
    (!rows.is_empty()).then(|| RenderedTable { title, columns, groups: vec![0; rows.len()], headings: Vec::new() })
}
