//! Figures at the end of a row of the summary and of the live view: those of which the table of figures names the row.

use crate::format::{amount, bytes, or_dash, percent, rate, three_digits, time};
use brunt_results::RunResult;
use brunt_results::figure::{self, Figure, Unit};

/// Those that are known: `, RSS 15.0 MiB`.
pub(crate) fn known(result: &RunResult, row: &str) -> String {
    let known =
        of_row(row).filter_map(|(word, figure)| Some(format!(", {word} {}", text(figure.unit, (figure.of)(result)?))));
    known.collect()
}

/// All of the row, with dashes for those that are not known.
pub(crate) fn all(result: &RunResult, row: &str) -> String {
    let text = |figure: &Figure| or_dash((figure.of)(result), |value| text(figure.unit, value));
    of_row(row).map(|(word, figure)| format!(", {word} {}", text(figure))).collect()
}

fn of_row(row: &str) -> impl Iterator<Item = (&'static str, &'static Figure)> {
    let of = move |figure: &'static Figure| {
        let told = figure.told.as_ref().filter(|told| told.row == row)?;
        Some((told.word, figure))
    };
    figure::all().filter_map(of)
}

fn text(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Rate => rate(value),
        Unit::Us => time(value),
        Unit::Percent | Unit::CpuPercent => percent(value),
        Unit::Bytes => bytes(value),
        Unit::Requests | Unit::Count => amount(value),
        Unit::Ratio => three_digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_what_the_table_says() {
        let mut result = RunResult::new("brunt");
        assert_eq!((known(&result, "server"), all(&result, "server")), (String::new(), ", RSS -".to_owned()));
        result.server.rss_bytes = Some(15 << 20);
        assert_eq!((known(&result, "server"), all(&result, "requests")), (", RSS 15.0 MiB".to_owned(), String::new()));
        let shown = [Unit::Us, Unit::Bytes, Unit::Count, Unit::Percent, Unit::Ratio].map(|unit| text(unit, 1500.0));
        assert_eq!(shown, ["1.50 ms", "1.46 KiB", "1.50k", "1500.0 %", "1500"]);
    }
}
