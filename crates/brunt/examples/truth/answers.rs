//! Answers of comparisons, counted against the truth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Steps of work for a message, about 100 us, and those of the slower server.
pub const STEPS: u32 = 80_000;
pub const MORE_STEPS: u32 = 82_600;
/// Smaller differences do not matter.
pub const MARGIN: f64 = 0.02;
const FIGURES: [&str; 3] = ["cost", "rate", "p50"];

/// What the two servers are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    Twins,
    /// The second is slower, before they are swapped.
    Slower,
    /// The second has twice the work. The ratio of costs gives the share of the work in them, and with it the truth of the
    /// slower one: an error of 1 % here is one of 0.03 % there.
    Double,
}

impl Pair {
    pub const TESTED: [Self; 2] = [Self::Twins, Self::Slower];

    pub fn name(self) -> &'static str {
        match self {
            Self::Twins => "twins",
            Self::Slower => "slower",
            Self::Double => "twice the work",
        }
    }

    /// Steps of the second server, before they are swapped.
    pub fn steps(self) -> u32 {
        match self {
            Self::Twins => STEPS,
            Self::Slower => MORE_STEPS,
            Self::Double => 2 * STEPS,
        }
    }

    /// The true ratio of the second server to the first, where work is this share of a message's cost. The core of a server
    /// bounds its rate, and with it the p50.
    fn truth(self, work: f64, figure: &str, swapped: bool) -> f64 {
        let slower = 1.0 + (f64::from(self.steps()) / f64::from(STEPS) - 1.0) * work;
        if swapped == (figure == "rate") { slower } else { slower.recip() }
    }
}

/// What one run said: a line of the rows' file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub noise: String,
    pub servers: Pair,
    pub number: u32,
    /// Order and flags of the run; rows of one file have the same.
    pub settings: String,
    pub seconds: f64,
    /// Why there are no answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
}

/// What it said about one figure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    pub figure: String,
    pub verdict: String,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Row {
    /// Whether the second server has the place of the first.
    pub fn is_swapped(number: u32) -> bool {
        number % 2 == 1
    }

    /// In one line.
    pub fn words(&self) -> String {
        let answer = |a: &Answer| format!("{} x{:.3} [{:.3} {:.3}] {}", a.figure, a.ratio, a.low, a.high, a.verdict);
        let said = self.answers.iter().map(answer).collect::<Vec<_>>().join(", ");
        let said = self.failed.clone().unwrap_or(said);
        format!("{}, {}, run {}, {:.1} s: {said}", self.noise, self.servers.name(), self.number + 1, self.seconds)
    }
}

/// The answers in the output of `brunt compare --json`.
pub fn answers(json: &str) -> Result<Vec<Answer>, String> {
    let json: Value = serde_json::from_str(json).map_err(|e| format!("the comparison is not JSON: {e}"))?;
    let answer = |figure: &&str| {
        let of = json["cells"][0]["figures"].as_array()?.iter().find(|one| one["figure"] == **figure)?;
        // A verdict with a number of rounds is an object with one key.
        let verdict = of["answer"].as_str().or_else(|| of["answer"].as_object()?.keys().next().map(String::as_str))?;
        let bound = |index: usize| of["interval"][index].as_f64();
        let (figure, verdict) = ((*figure).to_owned(), verdict.to_owned());
        Some(Answer { figure, verdict, ratio: of["ratio"].as_f64()?, low: bound(0)?, high: bound(1)? })
    };
    let found: Vec<Answer> = FIGURES.iter().filter_map(answer).collect();
    if found.is_empty() { Err(format!("the comparison has no figures: {json}")) } else { Ok(found) }
}

/// Share of the work in the cost of a message, by the rows with twice the work.
pub fn work(rows: &[Row]) -> Option<f64> {
    let mut sum = (0.0, 0.0);
    for row in rows.iter().filter(|row| row.servers == Pair::Double) {
        if let Some(cost) = row.answers.iter().find(|answer| answer.figure == "cost") {
            let ratio = if Row::is_swapped(row.number) { cost.ratio.recip() } else { cost.ratio };
            sum = (sum.0 + ratio - 1.0, sum.1 + 1.0);
        }
    }
    (sum.1 > 0.0).then(|| sum.0 / sum.1)
}

/// A table of the rows: a line for each noise, pair of servers and figure.
pub fn table(rows: &[Row]) -> Result<String, String> {
    let work =
        work(rows).ok_or("the truth is unknown: no run with twice the work has an answer; --runs 1 makes one")?;
    let mut out = "| noise | servers | figure | runs | right | wrong | neither | failed | covered | half width, median | largest |\n\
                   | :-- | :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: |\n"
        .to_owned();
    let mut kinds: Vec<(&str, Pair)> = Vec::new();
    for row in rows.iter().filter(|row| row.servers != Pair::Double) {
        if !kinds.contains(&(&row.noise, row.servers)) {
            kinds.push((&row.noise, row.servers));
        }
    }
    for (noise, servers) in kinds {
        let own: Vec<&Row> = rows.iter().filter(|row| row.noise == noise && row.servers == servers).collect();
        for figure in FIGURES {
            out +=
                &format!("| {noise} | {} | {figure} | {} |\n", servers.name(), Count::of(&own, work, figure).words());
        }
    }
    let slower = Pair::Slower.truth(work, "cost", false);
    out +=
        &format!("\nWork is {:.1} % of the cost of a message: the slower server costs x{slower:.4}.\n", work * 100.0);
    Ok(out)
}

/// Answers on one figure.
#[derive(Debug, Default, PartialEq)]
struct Count {
    runs: usize,
    right: usize,
    /// Twins called different by more than the margin, or a slower server called the same or faster.
    wrong: usize,
    /// Runs without an answer on the figure.
    failed: usize,
    /// Intervals that hold the truth.
    covered: usize,
    /// Of the intervals, as shares, ascending.
    halves: Vec<f64>,
}

impl Count {
    fn of(rows: &[&Row], work: f64, figure: &str) -> Self {
        let mut count = Self { runs: rows.len(), ..Self::default() };
        for row in rows {
            let Some(answer) = row.answers.iter().find(|answer| answer.figure == figure) else {
                count.failed += 1;
                continue;
            };
            let truth = row.servers.truth(work, figure, Row::is_swapped(row.number));
            let is_beyond = answer.ratio.ln().abs() > MARGIN.ln_1p();
            match (answer.verdict.as_str(), row.servers) {
                ("no-difference", Pair::Twins) => count.right += 1,
                ("different", Pair::Slower) if (answer.ratio > 1.0) == (truth > 1.0) => count.right += 1,
                ("different", Pair::Twins) if is_beyond => count.wrong += 1,
                ("different" | "no-difference", Pair::Slower) => count.wrong += 1,
                _ => {}
            }
            count.covered += usize::from((answer.low..=answer.high).contains(&truth));
            count.halves.push((answer.high / answer.low).sqrt() - 1.0);
        }
        count.halves.sort_by(f64::total_cmp);
        count
    }

    fn words(&self) -> String {
        let Self { runs, right, wrong, failed, covered, halves } = self;
        let neither = runs - right - wrong - failed;
        let percent = |half: Option<&f64>| half.map_or("-".to_owned(), |half| format!("{:.2} %", half * 100.0));
        let (median, largest) = (percent(halves.get(halves.len() / 2)), percent(halves.last()));
        format!("{runs} | {right} | {wrong} | {neither} | {failed} | {covered} | {median} | {largest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32, servers: Pair, rate: &str, cost: &str) -> Row {
        let json = format!(
            r#"{{"cells": [{{"figures": [{{"figure": "rate", {rate}}}, {{"figure": "cost", {cost}}}, {{"figure": "p99"}}]}}]}}"#
        );
        let noise = "none".to_owned();
        Row {
            noise,
            servers,
            number,
            settings: String::new(),
            seconds: 30.0,
            failed: None,
            answers: answers(&json).unwrap(),
        }
    }

    #[test]
    fn answers_are_counted_against_the_truth_of_either_order() {
        let faster = r#""ratio": 0.971, "interval": [0.96, 0.98], "answer": "different""#;
        let slower = r#""ratio": 1.03, "interval": [1.02, 1.04], "answer": "different""#;
        let unknown = r#""ratio": 1.03, "interval": [0.9, 1.01], "answer": {"cannot-tell": {"repeats": 9}}"#;
        let near = r#""ratio": 1.015, "interval": [1.005, 1.025], "answer": "different""#;
        let mut rows = vec![
            row(0, Pair::Slower, faster, slower),
            row(1, Pair::Slower, slower, faster),
            row(3, Pair::Slower, faster, slower),
            row(2, Pair::Slower, unknown, unknown),
        ];
        rows.push(Row { failed: Some("it died".into()), answers: Vec::new(), ..rows[0].clone() });
        let all: Vec<&Row> = rows.iter().collect();
        for (figure, covered) in [("rate", 3), ("cost", 2)] {
            let count = Count::of(&all, 0.03 / 0.0325, figure);
            assert_eq!((count.runs, count.right, count.wrong, count.failed), (5, 2, 1, 1), "{count:?}");
            assert_eq!((count.covered, count.halves.len()), (covered, 4), "{count:?}");
        }
        let twins = [row(0, Pair::Twins, near, slower)];
        let of = |figure| Count::of(&twins.iter().collect::<Vec<_>>(), 1.0, figure).wrong;
        assert_eq!((of("rate"), of("cost"), of("p50")), (0, 1, 0));
        assert!(table(&rows).is_err());
        let twice = |ratio| format!(r#""ratio": {ratio}, "interval": [0.5, 2], "answer": "different""#);
        rows.push(row(0, Pair::Double, faster, &twice(1.9)));
        rows.push(row(1, Pair::Double, faster, &twice(1.0 / 1.946)));
        let table = table(&rows).unwrap();
        assert!(table.contains("| none | slower | rate | 5 | 2 | 1 | 1 | 1 | 3 | 1.04 % | 5.93 % |"), "{table}");
        assert!(table.contains("Work is 92.3 %") && table.contains("x1.0300") && !table.contains("twice"), "{table}");
        assert!(
            rows[3].words().contains("run 3, 30.0 s: cost x1.030 [0.900 1.010] cannot-tell"),
            "{}",
            rows[3].words()
        );
        assert!(answers("{}").is_err() && answers("no").is_err());
    }
}
