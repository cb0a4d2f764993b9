//! Layout `cost`: CPU time over the rate, and the line through it for each server and load.

use super::columns::{shown, varying};
use super::{RenderedTable, column};
use crate::cost::{line_words, terms_words};
use crate::format::{self, ABSENT};
use crate::group::grouped;
use crate::report::charts::load::phrases;
use crate::report::row::Figures;
use crate::report::{Report, Row};
use brunt_results::figure;
use brunt_slices::cost::{CostLine, line_over_starts};

/// One server under one load, at several rates.
struct Curve<'a> {
    target: String,
    load: String,
    /// In ascending order of the rate.
    rows: Vec<&'a Row>,
    line: Result<CostLine, String>,
}

/// A table with a row for each rate, and one with a line for each server and load.
pub(super) fn cost(report: &Report) -> Vec<RenderedTable> {
    let rows: Vec<&Row> = report.rows.iter().collect();
    let names: Vec<String> = varying(&rows).into_iter().filter(|name| name != "rate").collect();
    let key = |row: &&Row| (row.cell.target.clone(), phrases(&[*row], &names));
    let curves = grouped(rows.iter().map(|row| (key(row), *row)));
    let curves: Vec<Curve> = curves.into_iter().map(|((target, load), rows)| Curve::of(target, load, rows)).collect();
    vec![points(&curves), lines(&curves)]
}

impl<'a> Curve<'a> {
    fn of(target: String, load: String, mut rows: Vec<&'a Row>) -> Self {
        rows.sort_by(|a, b| a.cell.rate().unwrap_or(f64::INFINITY).total_cmp(&b.cell.rate().unwrap_or(f64::INFINITY)));
        let at_rates: Vec<&Row> = rows.iter().copied().filter(|row| row.cell.rate().is_some()).collect();
        let rates: Vec<f64> = at_rates.iter().filter_map(|row| row.cell.rate()).collect();
        // A repeat is a start: of those that have all rates, each gives a point at each.
        let first = at_rates.first().into_iter().flat_map(|row| row.rates.keys());
        let start = |repeat: &u32| -> Option<Vec<(f64, f64)>> {
            at_rates.iter().map(|row| Some((*row.cpu_us_per_s.get(repeat)?, *row.rates.get(repeat)?))).collect()
        };
        let starts: Vec<Vec<(f64, f64)>> = first.filter_map(start).collect();
        Self { target, load, line: line_over_starts(&rates, &starts), rows }
    }
}

fn points(curves: &[Curve]) -> RenderedTable {
    let rows: Vec<(&Curve, &Row)> =
        curves.iter().flat_map(|curve| curve.rows.iter().map(move |row| (curve, *row))).collect();
    let number = |header, show: &dyn Fn(&Figures) -> String| column(&rows, header, true, |(_, row)| show(&row.figures));
    let percent = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1} %"));
    let columns = vec![
        column(&rows, ["", "server"], false, |(curve, _)| curve.target.clone()),
        column(&rows, ["", "load"], false, |(curve, _)| curve.load.clone()),
        column(&rows, ["offered", "req/s"], true, |(_, row)| shown(row, "rate")),
        number(["", "req/s"], &|of| format::number(of.rate.map(|rate| rate.median), 0)),
        number(["CPU us", "per req"], &Figures::cost),
        number(["of a", "core"], &|of| percent(of.get(&figure::CPU))),
        number(["", "p50"], &|of| format::time(of.get(&figure::P50))),
        number(["", "p99"], &|of| format::time(of.get(&figure::P99))),
        column(&rows, ["", "verdict"], false, |(_, row)| row.verdict()),
    ];
    let group = |(number, curve): (usize, &Curve)| std::iter::repeat_n(number, curve.rows.len());
    let groups = curves.iter().enumerate().flat_map(group).collect();
    RenderedTable { title: String::new(), columns, groups, headings: Vec::new() }
}

fn lines(curves: &[Curve]) -> RenderedTable {
    let terms = |curve: &Curve| curve.line.as_ref().map_or([ABSENT, ABSENT].map(str::to_owned), terms_words);
    let fit = |curve: &Curve| match &curve.line {
        Ok(line) => line_words(line),
        Err(why) => why.clone(),
    };
    let starts = |curve: &Curve| curve.line.as_ref().map_or(ABSENT.to_owned(), |line| line.rounds.to_string());
    let columns = vec![
        column(curves, ["", "server"], false, |curve| curve.target.clone()),
        column(curves, ["", "load"], false, |curve| curve.load.clone()),
        column(curves, ["", "starts"], true, starts),
        column(curves, ["standing", "of a core"], true, |curve| terms(curve)[0].clone()),
        column(curves, ["marginal", "a request"], true, |curve| terms(curve)[1].clone()),
        column(curves, ["verdict", "on the line"], false, fit),
    ];
    let title = "CPU time a second = standing + marginal x rate".to_owned();
    RenderedTable { title, columns, groups: (0..curves.len()).collect(), headings: Vec::new() }
}
