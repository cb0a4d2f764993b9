//! `--fail-if 'rate<-5%'`: a bound on the change from A to B.

use super::{Comparison, Figure};
use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    text: String,
    figure: Figure,
    above: bool,
    percent: f64,
}

impl FromStr for Bound {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = Figure::ALL.map(Figure::name).join(", ");
        let wrong = |what: &str| {
            format!(
                "'{text}' {what}; write FIGURE<CHANGE or FIGURE>CHANGE, as rate<-5% or p99>10%, with one of {names}"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(|| wrong("has no < or >"))?;
        let (name, rest) = (text[..at].trim(), text[at + 1..].trim());
        let figure = Figure::ALL.into_iter().find(|figure| figure.name() == name);
        let percent =
            rest.strip_suffix('%').and_then(|number| number.trim().parse().ok()).filter(|p: &f64| p.is_finite());
        Ok(Self {
            text: text.to_owned(),
            figure: figure.ok_or_else(|| wrong("names no known figure"))?,
            above: text.as_bytes()[at] == b'>',
            percent: percent.ok_or_else(|| wrong("has no change in percent"))?,
        })
    }
}

impl Bound {
    /// Messages for the cells whose change is beyond the bound. An unknown change counts as beyond it.
    pub fn crossed(&self, comparison: &Comparison) -> Vec<String> {
        let of = |cell: &str| if cell.is_empty() { String::new() } else { format!(" in {cell}") };
        let cells = comparison.cells.iter().filter_map(|pair| {
            let place = of(&pair.cell);
            let finding = pair.figures.iter().find(|finding| finding.figure == self.figure);
            let Some((change, [low, high])) = finding.and_then(|found| Some((found.change()?, found.interval?))) else {
                return Some(format!("{self}: the change{place} is not known"));
            };
            let percent = change * 100.0;
            let beyond = if self.above { percent > self.percent } else { percent < self.percent };
            beyond.then(|| {
                let (low, high) = ((low - 1.0) * 100.0, (high - 1.0) * 100.0);
                format!("{self}: it was {percent:+.1} % ({low:+.1}..{high:+.1} %){place}")
            })
        });
        cells.collect()
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

    #[test]
    fn bounds_are_read_or_refused_with_what_would_do() {
        for text in ["rate<-5%", "p99 > 10 %", "cost>+3%", "p50<-0.5%"] {
            text.parse::<Bound>().unwrap();
        }
        for text in ["rate", "rate<-5", "rat<-5%", "rate<five%", "rate<inf%", ""] {
            let error = text.parse::<Bound>().unwrap_err();
            assert!(error.contains("rate<-5%") && error.starts_with(&format!("'{text}'")), "{error}");
        }
    }
}
