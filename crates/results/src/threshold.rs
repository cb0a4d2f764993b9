//! Bounds on figures, as in `--fail-if 'p99>5ms'`.

use crate::figure::{self, Better, Figure, Unit, supports_quantile};
use crate::judge::values_needed;
use crate::latency;
use crate::result::RunResult;
use crate::units::{Count, Rate, Size, Span, UnitError};
use crate::{LatencySummary, percentile::Percentile};
use std::{fmt, str::FromStr};

/// A figure of the result, a comparison and a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    /// The named part of the load that it is about; `None` is the whole.
    pub name: Option<String>,
    pub figure: String,
    pub is_above: bool,
    /// In the unit of the figure.
    pub bound: f64,
}

/// The bounds of a text, with commas between. Names may have commas: a bound ends at the first one behind its comparison.
pub fn bounds(text: &str) -> impl Iterator<Item = &str> {
    let mut is_compared = false;
    let ends = move |c: char| {
        let is_end = c == ',' && is_compared;
        is_compared = matches!(c, '<' | '>') || is_compared && !is_end;
        is_end
    };
    text.split(ends).map(str::trim)
}

/// What a bound can be about.
fn figures() -> String {
    let times = "mean, max, p50, p99.9 or another percentile (response time, with a unit as in p99>5ms)".to_owned();
    let others = figure::in_order(&["rate", "cost"], |one| one.bound.is_some() && !one.is_response());
    let word = |one: &Figure| match one.bound {
        None | Some("") => one.key.to_owned(),
        Some(words) => format!("{} ({words})", one.key),
    };
    std::iter::once(times).chain(others.into_iter().map(word)).collect::<Vec<_>>().join(", ")
}

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |reason: &str| format!("'{text}' {reason}; write FIGURE>BOUND or FIGURE<BOUND with one of {}", figures());
        let (name, bound) = split_name(text);
        let whole = Self::of_whole(bound, text, &wrong)?;
        match whole.entry().filter(|one| name.is_some() && !one.is_response()).map(|one| one.part) {
            Some(Err(why)) => Err(wrong(&format!("is about a part of the load, {why}"))),
            _ => Ok(Self { name, ..whole }),
        }
    }
}

/// The name before the figure, and the rest.
fn split_name(text: &str) -> (Option<String>, &str) {
    let end = text.find(['<', '>']).unwrap_or(text.len());
    match text[..end].rfind(':') {
        Some(at) => (Some(text[..at].trim().to_owned()), &text[at + 1..]),
        None => (None, text),
    }
}

impl Threshold {
    /// The bound `text` of the whole load, which is or ends `all`.
    fn of_whole(text: &str, all: &str, wrong: &impl Fn(&str) -> String) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or_else(|| wrong("has no < or >"))?;
        let (figure, rest) = (text[..at].trim(), text[at + 1..].trim());
        let unit = match bounded(figure) {
            Some(one) => one.unit,
            None if latency::named(figure).is_some() => Unit::Us,
            None => return Err(wrong("names no known figure")),
        };
        let bound = parsed(unit, rest);
        let bound = bound.map_err(|error| wrong(&format!("has a bad bound ({error})")))?;
        let is_above = text.as_bytes()[at] == b'>';
        Ok(Self { text: all.to_owned(), name: None, figure: figure.to_owned(), is_above, bound })
    }

    /// A message if the comparison is true of the result. An absent figure counts as true: a check that cannot be made must
    /// not pass.
    pub fn crossed(&self, result: &RunResult) -> Option<String> {
        self.message_unless(false, result)
    }

    /// A message if the comparison is not true of the result, for bounds that must hold. An absent figure counts as not
    /// true.
    pub fn missed(&self, result: &RunResult) -> Option<String> {
        self.message_unless(true, result)
    }

    /// The percentile that it bounds, if it bounds one.
    pub fn percentile(&self) -> Option<Percentile> {
        latency::named(&self.figure)
    }

    /// Whether it bounds a response time.
    pub fn is_time(&self) -> bool {
        self.entry().is_none_or(Figure::is_response)
    }

    /// Whether it says how many failures are too many, and so that fewer are acceptable.
    pub fn limits_failures(&self) -> bool {
        self.name.is_none() && self.is_above && self.counts_failures()
    }

    /// Whether it is about the failures.
    pub fn counts_failures(&self) -> bool {
        self.entry().is_some_and(|one| one.counts_failures)
    }

    /// The bound that fails a run whose figure is bad, if this one fails a run whose figure is good.
    pub fn turned(&self) -> Option<String> {
        let better = self.entry().map_or(Better::Lower, |one| one.better);
        let (sign, other) = match (better, self.is_above) {
            (Better::Lower, false) => ('<', ">"),
            (Better::Higher, true) => ('>', "<"),
            _ => return None,
        };
        Some(self.text.replacen(sign, other, 1))
    }

    /// What it is about; `None` for a percentile that is not in the table of figures.
    pub(crate) fn entry(&self) -> Option<&'static Figure> {
        bounded(&self.figure)
    }

    fn message_unless(&self, wanted: bool, result: &RunResult) -> Option<String> {
        let Some(value) = self.value(result) else {
            return Some(format!("{self}: no value was recorded"));
        };
        if let Some((needed, count)) = self.too_few(result) {
            return Some(format!("{self}: {} needs {needed} requests, {count} were recorded", self.figure));
        }
        // A request without a complete reply is above every limit.
        let is_least = self.is_least(result);
        let compared = if is_least { f64::INFINITY } else { value };
        let is_so = if self.is_above { compared > self.bound } else { compared < self.bound };
        let more = if is_least { "more than " } else { "" };
        let why = if is_least { ", the least that requests without a complete reply took" } else { "" };
        (is_so != wanted).then(|| match self.entry().map_or(Unit::Us, |one| one.unit) {
            Unit::Percent => format!("{self}: it was {value:.3} %"),
            Unit::Ratio => format!("{self}: it was {value:.3}"),
            Unit::Us if value >= 999.95 => format!("{self}: it was {more}{:.3} ms{why}", value / 1e3),
            unit => format!("{self}: it was {more}{}{why}", format!("{value:.1} {}", unit.word()).trim_end()),
        })
    }

    /// Whether the value is a response time that is a lower bound.
    fn is_least(&self, result: &RunResult) -> bool {
        self.is_time() && self.times(result).is_some_and(|times| times.is_bound(&self.figure))
    }

    /// How many response times the percentile needs, and how many there are, if these are too few: pages do not show it.
    fn too_few(&self, result: &RunResult) -> Option<(u64, u64)> {
        let beyond = self.percentile().filter(|_| self.is_time())?.share_beyond();
        let count = self.times(result)?.count;
        (!supports_quantile(count as f64, beyond)).then(|| (values_needed(beyond), count))
    }

    /// The response times of the part that it is about.
    fn times<'a>(&self, result: &'a RunResult) -> Option<&'a LatencySummary> {
        let part = |name: &String| result.names.iter().find(|part| part.name == *name);
        let Some(name) = &self.name else { return Some(&result.latency.response) };
        part(name).map(|part| &part.figures.response)
    }

    pub(crate) fn value(&self, result: &RunResult) -> Option<f64> {
        let time = |response: &LatencySummary| response.figure(&self.figure).flatten();
        let entry = self.entry().filter(|one| !one.is_response());
        match &self.name {
            None => entry.map_or_else(|| time(&result.latency.response), |one| (one.of)(result)),
            Some(name) => {
                let part = &result.names.iter().find(|part| part.name == *name)?.figures;
                entry.map_or_else(|| time(&part.response), |one| one.part.ok().and_then(|of| of(part)))
            }
        }
    }
}

/// The figure of this name, if bounds can be about it.
fn bounded(name: &str) -> Option<&'static Figure> {
    figure::find(name).filter(|one| one.bound.is_some())
}

/// A bound in this unit.
fn parsed(unit: Unit, text: &str) -> Result<f64, UnitError> {
    match unit {
        Unit::Rate => text.parse().map(|Rate(bound)| bound),
        Unit::Us => microseconds(text),
        Unit::Percent => percent(text),
        Unit::Requests => text.parse().map(|Count(bound)| bound as f64),
        Unit::Bytes => text.parse().map(|Size(bound)| bound as f64),
        Unit::CpuPercent | Unit::Count | Unit::Ratio => number(text),
    }
}

fn number(text: &str) -> Result<f64, UnitError> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| UnitError::new(text, "a number such as 1.5"))
}

fn microseconds(text: &str) -> Result<f64, UnitError> {
    text.parse().map(|Span(bound)| bound.as_nanos() as f64 / 1e3)
}

/// `0.1%` as 0.1.
fn percent(text: &str) -> Result<f64, UnitError> {
    // Zero needs no unit.
    let number = text.strip_suffix('%').or((text == "0").then_some(text));
    let value = number.and_then(|number| number.trim().parse().ok());
    let value = value.filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| UnitError::new(text, "a share such as 0.1%"))
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Slo;
    use crate::result::{Named, PartFigures, Requests};

    pub fn result(p99_us: Option<f64>, failed: u64) -> RunResult {
        let mut result = RunResult::new("test");
        result.latency.response = LatencySummary { count: 1000, p99_us, ..Default::default() };
        result.requests = Requests { completed: 10_000 - failed, failed, rate: 1000.0, ..Default::default() };
        result.errors.timeout = failed;
        result
    }

    #[test]
    fn a_bound_on_a_name_is_on_its_figures_alone() {
        let mut result = result(Some(9000.0), 0);
        let response = LatencySummary { count: 1000, p99_us: Some(4000.0), ..Default::default() };
        let figures = PartFigures { completed: 900, failed: 100, response, ..Default::default() };
        result.names = vec![Named { name: "cart".to_owned(), figures }];
        let crossed = |text: &str| text.parse::<Threshold>().unwrap().crossed(&result);
        assert_eq!((crossed("cart:p99>5ms"), crossed("p99>5ms").is_some()), (None, true));
        assert_eq!(crossed("cart:errors>5%").unwrap(), "cart:errors>5%: it was 10.000 %");
        assert_eq!(crossed("home:p99>5ms").unwrap(), "home:p99>5ms: no value was recorded");
        assert!(!"cart:errors>5%".parse::<Threshold>().unwrap().limits_failures());
    }

    /// As pages show a dash.
    #[test]
    fn a_percentile_of_too_few_requests_is_undecided() {
        let mut result = result(Some(9000.0), 0);
        result.latency.response = LatencySummary { count: 999, p50_us: Some(70.0), ..result.latency.response };
        let crossed = |text: &str| text.parse::<Threshold>().unwrap().crossed(&result);
        let why = |text: &str| Some(format!("{text}: p99 needs 1000 requests, 999 were recorded"));
        for text in ["p99>1s", "p99<1s"] {
            assert_eq!((crossed(text), text.parse::<Threshold>().unwrap().missed(&result)), (why(text), why(text)));
        }
        assert_eq!(crossed("p50>1ms"), None);
    }

    #[test]
    fn a_time_that_is_a_lower_bound_is_above_every_limit() {
        let mut result = result(Some(9000.0), 20);
        let crossed = |text: &str, result: &RunResult| text.parse::<Threshold>().unwrap().crossed(result);
        assert_eq!(crossed("p99>1s", &result), None);
        result.latency.response.censored = 20;
        assert_eq!(
            crossed("p99>1s", &result).unwrap(),
            "p99>1s: it was more than 9.000 ms, the least that requests without a complete reply took"
        );
        assert_eq!(crossed("p99<1s", &result), None);
        assert!("p99<1s,errors<50%".parse::<Slo>().unwrap().violations(&result)[0].contains("more than 9.000 ms"));
        result.latency.response.p50_us = Some(10.0);
        assert_eq!(crossed("p50>1s", &result), None);
    }

    #[test]
    fn a_text_has_several_bounds_whose_names_may_have_commas() {
        let of = |text| bounds(text).collect::<Vec<_>>();
        assert_eq!(of("p99>5ms"), ["p99>5ms"]);
        assert_eq!(of("p99>5ms, errors > 1%"), ["p99>5ms", "errors > 1%"]);
        assert_eq!(of("/a?b=1,2:p99>5ms,/c:p50<1s"), ["/a?b=1,2:p99>5ms", "/c:p50<1s"]);
        assert_eq!(of("p99>5ms,"), ["p99>5ms", ""]);
    }

    #[test]
    fn valid_bounds_parse_and_errors_name_the_accepted_forms() {
        for text in ["p99", "p100>5ms", "pace>5ms", "p99>5", "rate<x", "errors>0.1", "errors>101%", ">", ""] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(&format!("'{text}'")) && error.contains("FIGURE>BOUND"), "{error}");
        }
        for text in [
            "p99>5ms",
            "p97.5>5ms",
            "p99.99>5ms",
            "rate < 10k",
            "cost>20us",
            "failed>0",
            "errors>0",
            "p99.9>1s",
            "errors > 0.1%",
        ] {
            text.parse::<Threshold>().unwrap();
        }
        let named: Threshold = "127.0.0.1:80/a:p99>5ms".parse().unwrap();
        assert_eq!((named.name.as_deref(), &*named.figure, named.bound), (Some("127.0.0.1:80/a"), "p99", 5000.0));
        assert!("cart:cost>5us".parse::<Threshold>().unwrap_err().contains("'cart:cost>5us'"));
        assert!("cart:p99<5ms".parse::<Slo>().unwrap_err().contains("the whole"));
        // Inverted conditions of an SLO.
        for (text, remedy) in
            [("p99>6ms", "p99<BOUND"), ("rate<5k", "rate>BOUND"), ("p99<6", "FIGURE<BOUND"), ("", "FIGURE")]
        {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.contains(remedy), "{error}");
        }
    }
}
