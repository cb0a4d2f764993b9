//! Offered rates that change: `-R 1k:50k` and `--stages`; and the table of their steps.

use super::format::{or_dash, supported, three_digits, time};
use super::{Args, first_given, usage};
use brunt_lab::Error;
use brunt_load::Stage;
use brunt_results::{Rate, Span, result::Step};
use std::fmt::{self, Write};
use std::{str::FromStr, time::Duration};

/// A rate, or two between which it changes in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RateRange {
    pub from: Rate,
    pub to: Rate,
}

impl RateRange {
    pub fn is_constant(self) -> bool {
        self.from == self.to
    }

    pub fn highest(self) -> f64 {
        self.from.0.max(self.to.0)
    }

    fn over(self, length: Duration) -> Stage {
        Stage { from: self.from.0, to: self.to.0, length }
    }
}

impl FromStr for RateRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = |text: &str| text.parse::<Rate>().map_err(|error| format!("{error}, or two such as 1k:50k"));
        match text.split_once(':') {
            None => rate(text).map(|rate| Self { from: rate, to: rate }),
            Some((from, to)) => Ok(Self { from: rate(from)?, to: rate(to)? }),
        }
    }
}

impl fmt::Display for RateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_constant() { self.from.fmt(f) } else { write!(f, "{}:{}", self.from, self.to) }
    }
}

/// `1k@30s` or `1k:5k@1m`: a rate and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimedRate {
    rate: RateRange,
    length: Span,
}

impl FromStr for TimedRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rate, length) = text.split_once('@').ok_or("a stage is a rate and a time: 5k@1m or 1k:5k@30s")?;
        let length = length.parse::<Span>().map_err(|error| error.to_string())?;
        if length.0.is_zero() {
            return Err("a stage takes longer than 0s".to_owned());
        }
        Ok(Self { rate: rate.parse()?, length })
    }
}

/// The stages of the window; none of a constant rate and of a closed loop. `duration` is that of the window without
/// `--stages`.
pub(super) fn of(args: &Args, duration: Duration) -> Result<Vec<Stage>, Error> {
    let stages: Vec<Stage> = match args.rate.filter(|rate| !rate.is_constant()) {
        Some(ramp) => vec![ramp.over(duration)],
        None => args.stages.iter().map(|stage| stage.rate.over(stage.length.0)).collect(),
    };
    if stages.is_empty() {
        return Ok(stages);
    }
    let conflicts =
        [("--steady", args.steady), ("-n", args.count()?.is_some()), ("--compare", args.comparison.compare)];
    let of_stages = [
        ("-R", args.rate.is_some()),
        ("--rate-per-core", args.rate_per_core.is_some()),
        ("-d", args.duration.is_some()),
    ];
    let flag = if args.stages.is_empty() { "a rate that changes (-R A:B)" } else { "--stages" };
    let others = if args.stages.is_empty() { &of_stages[..0] } else { &of_stages };
    match first_given(&[others, &conflicts].concat()) {
        Some(other) => usage(format!("{flag} and {other}: give one of them")),
        None => Ok(stages),
    }
}

/// Length of all stages.
pub(super) fn length(stages: &[TimedRate]) -> Option<Duration> {
    (!stages.is_empty()).then(|| stages.iter().map(|stage| stage.length.0).sum())
}

/// The highest rate.
pub(super) fn highest(stages: &[TimedRate]) -> Option<f64> {
    stages.iter().map(|stage| stage.rate.highest()).reduce(f64::max)
}

/// One line for each step, ending in newlines; empty if the rate does not change.
pub(super) fn table(steps: &[Step]) -> String {
    let mut table = String::new();
    let mut line = |cells: [&str; 7]| {
        let cells = cells.map(|cell| format!("{cell:>9}")).join(" ");
        let _ = writeln!(table, "  {cells}");
    };
    if !steps.is_empty() {
        line(["from s", "offered/s", "per s", "failed", "p50", "p99", "max"]);
    }
    for Step { start_s, offered_rate, figures, .. } in steps {
        let figure = |name| or_dash(supported(&figures.response, name), time);
        let [p50, p99, max] = ["p50", "p99", "max"].map(figure);
        let (start, failed) = (format!("{start_s:.1}"), figures.failed.to_string());
        line([&start, &three_digits(*offered_rate), &three_digits(figures.rate), &failed, &p50, &p99, &max]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::LatencySummary;
    use brunt_results::result::PartFigures;

    #[test]
    fn rates_and_stages_parse_and_errors_name_the_forms() {
        let range: RateRange = "1k:50k".parse().unwrap();
        assert_eq!((range.from, range.to, range.to_string()), (Rate(1e3), Rate(5e4), "1k:50k".to_owned()));
        assert!("20k".parse::<RateRange>().unwrap().is_constant());
        let stage: TimedRate = "1k:5k@1m".parse().unwrap();
        assert_eq!((stage.rate.highest(), stage.length.0), (5e3, Duration::from_secs(60)));
        for (text, says) in
            [("5k", "5k@1m"), ("5k@", "''"), ("x@1s", "'x'"), ("1:2:3@1s", "'2:3'"), ("5k@0s", "0s"), ("0@1s", "'0'")]
        {
            assert!(text.parse::<TimedRate>().unwrap_err().contains(says), "{text}");
        }
    }

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
        let step = Step { start_s: 0.0, end_s: 1.0, offered_rate: 2001.0, figures };
        let expected = "     from s offered/s     per s    failed       p50       p99       max\n        \
                        0.0      2001      2000         1   80.0 us    900 us   1.50 ms\n";
        assert_eq!(table(&[step]), expected);
        assert_eq!(table(&[]), "");
    }
}
