//! `--fail-if 'rate<-5%'`, `--fail-if 'p99>10%&1ms'`: a bound on the change from A to B.
//!
//! A share alone is compared with the estimate of the change. With an amount both are compared with the end of the interval
//! that is nearer to no change, so that neither noise nor a large share of a small figure crosses the bound.

use super::metric_comparison::comparable;
use super::text::value;
use super::{Comparison, MetricComparison, Pair};
use brunt_results::comparison::Ratio;
use brunt_results::figure::{Figure, Unit};
use brunt_results::{Rate, Span};
use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    text: String,
    figure: &'static Figure,
    above: bool,
    percent: f64,
    /// Smallest change that matters, in the unit of the figure.
    amount: Option<f64>,
}

impl FromStr for Bound {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = comparable().map(|figure| figure.key).collect::<Vec<_>>().join(", ");
        let wrong = |what: &str| {
            format!(
                "'{text}' {what}; write FIGURE<CHANGE or FIGURE>CHANGE, as rate<-5%, p99>10% or p99>10%&1ms, with one of {names}"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(|| wrong("has no < or >"))?;
        let (name, rest) = (text[..at].trim(), text[at + 1..].trim());
        let above = text.as_bytes()[at] == b'>';
        let figure = comparable().find(|figure| figure.key == name);
        let figure = figure.ok_or_else(|| wrong("names no known figure"))?;
        let (share, amount) = rest.split_once('&').map_or((rest, None), |(share, amount)| (share, Some(amount)));
        let percent = share.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let percent = percent.filter(|p: &f64| p.is_finite()).ok_or_else(|| wrong("has no change in percent"))?;
        let amount = amount.map(|amount| in_unit(figure, amount.trim())).transpose().map_err(|e| wrong(&e))?;
        // An amount is a size: its direction is that of the share.
        if amount.is_some() && (percent == 0.0 || above != (percent > 0.0)) {
            return Err(wrong("has an amount beside a change in the other direction"));
        }
        Ok(Self { text: text.to_owned(), figure, above, percent, amount })
    }
}

/// In the unit of the figure.
fn in_unit(figure: &Figure, amount: &str) -> Result<f64, String> {
    let read = match figure.unit {
        Unit::Rate => amount.parse().map(|rate: Rate| rate.0).map_err(|error| error.to_string()),
        Unit::Us => amount.parse().map(|span: Span| span.0.as_secs_f64() * 1e6).map_err(|error| error.to_string()),
        _ => amount.parse().map_err(|_| format!("'{amount}' is not a number")),
    };
    read.map_err(|error| format!("has an amount after & that cannot be read: {error}"))
}

impl Bound {
    /// The figure that it is about.
    pub fn figure(&self) -> &'static Figure {
        self.figure
    }

    /// Messages for the cells whose change is beyond the bound. An unknown change counts as beyond it.
    pub fn crossed(&self, comparison: &Comparison) -> Vec<String> {
        self.messages(comparison, true)
    }

    /// Messages for the cells in which part of the interval is beyond both share and amount, and part is not.
    pub fn undecided(&self, comparison: &Comparison) -> Vec<String> {
        self.messages(comparison, false)
    }

    fn messages(&self, comparison: &Comparison, crossed: bool) -> Vec<String> {
        let judged = comparison.cells.iter().filter_map(|pair| self.judged(pair));
        judged.filter(|(is_crossed, _)| *is_crossed == crossed).map(|(_, message)| message).collect()
    }

    /// Whether the bound is crossed in a cell, and how; `None` if it is kept.
    fn judged(&self, pair: &Pair) -> Option<(bool, String)> {
        let place = if pair.cell.is_empty() { String::new() } else { format!(" in {}", pair.cell) };
        let found = pair.figures.iter().find(|found| found.figure == self.figure);
        let Some((ratio, a)) = found.and_then(|found| self.known(found)) else {
            return Some((true, format!("{self}: the change{place} is not known")));
        };
        let (change, low, high) = (ratio.change(), ratio.low - 1.0, ratio.high - 1.0);
        let is_beyond = |share: f64| {
            let percent = share * 100.0;
            let relative = if self.above { percent > self.percent } else { percent < self.percent };
            relative && self.amount.is_none_or(|amount| a * share.abs() > amount)
        };
        let (near, far) = match (self.amount, self.above) {
            (None, _) => (change, change),
            (_, true) => (low, high),
            (_, false) => (high, low),
        };
        if !is_beyond(far) {
            return None;
        }
        let shares = format!("{} ({})", ratio.change_text(), ratio.change_range());
        let amount = |share: f64| {
            let sign = if share < 0.0 { "-" } else { "+" };
            format!("{sign}{}", value(self.figure, Some(a * share.abs())))
        };
        let amounts = match self.amount {
            Some(_) => format!(", {} ({}..{})", amount(change), amount(low), amount(high)),
            None => String::new(),
        };
        Some((is_beyond(near), format!("{self}: it was {shares}{amounts}{place}")))
    }

    /// The ratio, and the figure of A, which matters for an amount only.
    fn known<'a>(&self, found: &'a MetricComparison) -> Option<(&'a Ratio, f64)> {
        let a = if self.amount.is_some() { found.a? } else { 0.0 };
        Some((found.ratio.as_ref()?, a))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::comparison::Verdict;
    use brunt_results::figure;
    use std::collections::BTreeMap;

    #[test]
    fn bounds_are_read_or_refused_with_what_would_do() {
        for text in
            ["rate<-5%", "p99 > 10 %", "cost>+3%", "p50<-0.5%", "p99>10%&1ms", "cost > 5 % & 0.5us", "rate<-3%&2k"]
        {
            text.parse::<Bound>().unwrap();
        }
        for text in
            ["rate", "rate<-5", "rat<-5%", "rate<five%", "rate<inf%", "", "p99>10%&", "p99>10%&1", "rate<-3%&1ms"]
        {
            let error = text.parse::<Bound>().unwrap_err();
            assert!(error.contains("rate<-5%") && error.starts_with(&format!("'{text}'")), "{error}");
        }
        for text in ["p99>-10%&1ms", "rate<3%&1k", "cost>0%&1us"] {
            assert!(text.parse::<Bound>().unwrap_err().contains("the other direction"), "{text}");
        }
    }

    /// The messages, crossed and undecided, on a figure of 1,000 us whose ratio is known to 2 % both ways.
    fn messages(text: &str, figure: &'static Figure, ratio: f64) -> [Option<String>; 2] {
        let finding = MetricComparison {
            figure,
            a: Some(1000.0),
            b: Some(1000.0 * ratio),
            ratio: Some(Ratio {
                figure,
                ratio,
                low: ratio - 0.02,
                high: ratio + 0.02,
                p: 0.001,
                p_adjusted: 0.001,
                samples: 50,
                starts: None,
                verdict: Verdict::Different,
            }),
        };
        let verdicts = [BTreeMap::new(), BTreeMap::new()];
        let pair = Pair {
            cell: "size=1B".to_owned(),
            repeats: [50, 50],
            in_pairs: true,
            by_slices: true,
            verdicts,
            figures: vec![finding],
        };
        let sides = ["a", "b"].map(str::to_owned);
        let comparison = Comparison { sides, margin: 0.03, cells: vec![pair], alone: Vec::new() };
        let bound: Bound = text.parse().unwrap();
        [bound.crossed(&comparison).pop(), bound.undecided(&comparison).pop()]
    }

    #[test]
    fn with_an_amount_the_whole_interval_is_beyond_both() {
        let crossed = |text: &str, ratio: f64| {
            let [crossed, undecided] = messages(text, &figure::P99, ratio);
            assert!(crossed.is_none() || undecided.is_none());
            (crossed.is_some(), undecided.is_some())
        };
        // A share alone: the estimate.
        assert_eq!(crossed("p99>10%", 1.11), (true, false));
        assert_eq!(crossed("p99>10%", 1.09), (false, false));
        // The interval is around the share; beyond it; below it.
        assert_eq!(crossed("p99>10%&50us", 1.11), (false, true));
        assert_eq!(crossed("p99>10%&50us", 1.13), (true, false));
        assert_eq!(crossed("p99>10%&50us", 1.07), (false, false));
        // It is beyond the share, but by too little.
        assert_eq!(crossed("p99>10%&200us", 1.13), (false, false));
        assert_eq!(crossed("p99>10%&200us", 1.21), (false, true));
        assert_eq!(crossed("p99>10%&200us", 1.23), (true, false));
        // The other direction.
        assert_eq!(crossed("p99<-10%&50us", 0.87), (true, false));
        assert_eq!(crossed("p99<-10%&50us", 0.89), (false, true));
        assert_eq!(crossed("p99<-10%&50us", 1.5), (false, false));
        let [said, _] = messages("p99>10%&50us", &figure::P99, 1.13);
        let expected = "p99>10%&50us: it was +13.0 % (+11.0..+15.0 %), +130 us (+110 us..+150 us) in size=1B";
        assert_eq!(said.as_deref(), Some(expected));
        let [unknown, _] = messages("cost>1%&1us", &figure::P99, 1.5);
        assert!(unknown.unwrap().contains("is not known"));
    }
}
