//! The comparison as text for a terminal.

use super::{Comparison, MetricComparison, Pair};
use crate::format::{self, ABSENT, plural, time};
use brunt_results::comparison::Ratio;
use brunt_results::figure::{Figure, Unit};
use brunt_results::units::share;
use std::fmt::Write;

/// Heads of the columns; those of figures name the statistic.
pub fn header(pair: &Pair) -> [&'static str; 7] {
    let ratio = if pair.by_slices { "B to A in a round" } else { "B to A, geometric means" };
    ["", "A, median", "B, median", ratio, "95 % interval", "p", ""]
}

pub fn text(comparison: &Comparison) -> String {
    let [a, b] = &comparison.sides;
    let mut out = format!("A  {a}\nB  {b}\n");
    for pair in &comparison.cells {
        let _ = writeln!(out, "\n{}\n", title(pair));
        out.push_str(&table(pair, comparison.margin));
    }
    out.push('\n');
    for line in legend(comparison) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The title of a cell.
pub fn title(pair: &Pair) -> String {
    let [a, b] = pair.repeats;
    let repeats = match () {
        () if pair.by_slices => format!("{} of slices", plural(a, "round")),
        () if pair.in_pairs => format!("{} in pairs", plural(a, "repeat")),
        () if a == b => format!("{} of each", plural(a, "repeat")),
        () => format!("{a} and {b} repeats"),
    };
    if pair.cell.is_empty() { repeats } else { format!("{}: {repeats}", pair.cell) }
}

fn table(pair: &Pair, margin: f64) -> String {
    let header = header(pair);
    let is_right = |column: usize| column > 0 && column < header.len() - 1;
    format::table(&header, is_right, rows(pair, margin))
}

/// A row for each figure of a cell, under [`header`].
pub fn rows(pair: &Pair, margin: f64) -> Vec<Vec<String>> {
    pair.figures.iter().map(|finding| row(finding, margin, pair.by_slices)).collect()
}

pub(crate) fn row(finding: &MetricComparison, margin: f64, by_slices: bool) -> Vec<String> {
    let of = |show: fn(&Ratio) -> String| finding.ratio.as_ref().map_or(ABSENT.to_owned(), show);
    let p = |ratio: &Ratio| if ratio.p < 0.0001 { "<0.0001".to_owned() } else { format!("{:.4}", ratio.p) };
    vec![
        finding.figure.key.to_owned(),
        value(finding.figure, finding.a),
        value(finding.figure, finding.b),
        of(Ratio::change_text),
        of(Ratio::change_range),
        of(p),
        finding.verdict().words(margin, if by_slices { "round" } else { "repeat" }),
    ]
}

/// A figure with its unit.
pub(super) fn value(figure: &Figure, value: Option<f64>) -> String {
    match figure.unit {
        Unit::Rate => format::throughput(value),
        Unit::Us if figure.is_response() => time(value),
        Unit::Us => format::cost(value),
        _ => format::three_digits(value),
    }
}

/// What the columns mean, and what is in doubt.
pub fn legend(comparison: &Comparison) -> Vec<String> {
    let compared: usize = comparison.cells.iter().map(|pair| pair.figures.len()).sum();
    let correction = format!("after Holm's correction for {}", plural(compared, "comparison"));
    let by_slices = comparison.cells.iter().any(|pair| pair.by_slices);
    let method = match by_slices {
        true => format!(
            "A, B: medians over the slices. B to A: Hodges-Lehmann estimate of the ratio within a round, with its 95 % interval, \
             which contains the spread between starts. p: signed-rank test over the rounds. different: p at most 0.05 {correction}."
        ),
        false => format!(
            "A, B: medians over the repeats. B to A: ratio of the geometric means over the repeats, with the interval of a t \
             test. p: permutation test. different: p at most 0.05, and the t test's too {correction}."
        ),
    };
    let mut lines = vec![
        format!("{method} no difference: the whole interval lies within {}.", share(comparison.margin)),
        "cost: CPU time of the server for a request.".to_owned(),
    ];
    if comparison.cells.iter().any(|pair| pair.in_pairs && !pair.by_slices) {
        let line = "in pairs: each repeat of A with the one of B that ran beside it, so that slow spells of the machine are in both.";
        lines.push(line.to_owned());
    }
    for pair in comparison.cells.iter().filter(|pair| pair.verdicts.iter().any(|verdicts| !is_good(verdicts))) {
        let side = |(name, verdicts): (&str, &_)| (!is_good(verdicts)).then(|| format!("{name} {}", count(verdicts)));
        let sides: Vec<String> = ["A", "B"].into_iter().zip(&pair.verdicts).filter_map(side).collect();
        let place = if pair.cell.is_empty() { String::new() } else { format!(" of {}", pair.cell) };
        let weight = if pair.is_untrusted() { "NOT to be believed" } else { "in doubt" };
        lines.push(format!("{weight}: trials{place}: {}", sides.join("; ")));
    }
    if !comparison.alone.is_empty() {
        lines.push(format!("on one side only: {}", comparison.alone.join("; ")));
    }
    lines
}

type Verdicts = std::collections::BTreeMap<brunt_results::verdict::Kind, usize>;

fn is_good(verdicts: &Verdicts) -> bool {
    verdicts.keys().all(|kind| *kind == brunt_results::verdict::Kind::Ok)
}

fn count(verdicts: &Verdicts) -> String {
    verdicts.iter().map(|(kind, count)| format!("{count} {}", kind.word())).collect::<Vec<_>>().join(", ")
}
