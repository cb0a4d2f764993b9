//! Answers of comparisons, counted against the truth.

use serde_json::Value;

/// What the two targets are to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pair {
    Twins,
    /// The cost of the second is this multiple of that of the first, before they are swapped.
    Slower(f64),
}

impl Pair {
    /// The true ratio of the second target to the first.
    fn truth(self, figure: &str, swapped: bool) -> f64 {
        let Self::Slower(times) = self else { return 1.0 };
        // The rate is bounded by the server's core.
        if swapped == (figure == "rate") { times } else { times.recip() }
    }
}

/// Answers on one figure.
#[derive(Debug, Default, Clone)]
struct Count {
    right: u32,
    /// Twins called different, or a slower server called the same or faster.
    wrong: u32,
    cannot_tell: u32,
    covered: u32,
    /// Of the intervals, as shares.
    half_widths: Vec<f64>,
}

const FIGURES: [&str; 2] = ["rate", "cost"];

#[derive(Debug, Default)]
pub struct Answers {
    counts: [Count; 2],
    /// Runs without a comparison.
    failed: u32,
}

impl Answers {
    pub const HEADER: &str = "| noise | servers | figure | runs | right | wrong | cannot tell | failed | covered | half width, median | largest |\n\
        | :-- | :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: |";

    /// Adds the output of `brunt compare --json`.
    pub fn add(&mut self, json: &str, pair: Pair, swapped: bool) -> Result<(), String> {
        let json: Value = serde_json::from_str(json).map_err(|e| format!("the comparison is not JSON: {e}"))?;
        for (count, figure) in self.counts.iter_mut().zip(FIGURES) {
            let ratio = find(&json, figure).ok_or_else(|| format!("the comparison has no {figure}: {json}"))?;
            count.add(ratio, pair, pair.truth(figure, swapped));
        }
        Ok(())
    }

    /// Counts a run without a comparison.
    pub fn failed(&mut self) {
        self.failed += 1;
    }

    pub fn print(&self, noise: &str, pair: Pair) {
        let servers = match pair {
            Pair::Twins => "twins".to_owned(),
            Pair::Slower(times) => format!("{:.0} % slower", (times - 1.0) * 100.0),
        };
        for (count, figure) in self.counts.iter().zip(FIGURES) {
            let mut widths = count.half_widths.clone();
            widths.sort_by(f64::total_cmp);
            let percent = |width: Option<&f64>| width.map_or("-".to_owned(), |width| format!("{:.1} %", width * 100.0));
            let (median, largest) = (percent(widths.get(widths.len() / 2)), percent(widths.last()));
            let failed = self.failed;
            let runs = count.right + count.wrong + count.cannot_tell + failed;
            let Count { right, wrong, cannot_tell, covered, .. } = count;
            println!(
                "| {noise} | {servers} | {figure} | {runs} | {right} | {wrong} | {cannot_tell} | {failed} | {covered} | {median} | {largest} |"
            );
        }
    }
}

impl Count {
    fn add(&mut self, ratio: &Value, pair: Pair, truth: f64) {
        let verdict = ratio.get("verdict").or_else(|| ratio.get("answer")).and_then(Value::as_str);
        let estimate = ratio["ratio"].as_f64().unwrap_or(1.0);
        match (verdict, pair) {
            (Some("no-difference"), Pair::Twins) => self.right += 1,
            (Some("different"), Pair::Slower(_)) if (estimate > 1.0) == (truth > 1.0) => self.right += 1,
            (Some("no-difference" | "different"), _) => self.wrong += 1,
            _ => self.cannot_tell += 1,
        }
        let bound = |name: &str, index: usize| ratio.get(name).or_else(|| ratio["interval"].get(index))?.as_f64();
        if let (Some(low), Some(high)) = (bound("low", 0), bound("high", 1)) {
            self.covered += u32::from((low..=high).contains(&truth));
            self.half_widths.push((high / low).sqrt() - 1.0);
        }
    }
}

/// The object with this figure, anywhere in the JSON: comparisons of slices and of trials differ in what is around it.
fn find<'a>(json: &'a Value, figure: &str) -> Option<&'a Value> {
    match json {
        Value::Object(own) if own.get("figure").is_some_and(|name| name == figure) && own.contains_key("ratio") => {
            Some(json)
        }
        Value::Object(own) => own.values().find_map(|value| find(value, figure)),
        Value::Array(all) => all.iter().find_map(|value| find(value, figure)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_against_the_truth_of_either_order() {
        let mut answers = Answers::default();
        let json = |rate: &str, cost: &str| {
            format!(r#"{{"cells": [{{"figures": [{{"figure": "rate", {rate}}}, {{"figure": "cost", {cost}}}]}}]}}"#)
        };
        let faster = r#""ratio": 0.971, "interval": [0.96, 0.98], "answer": "different""#;
        let slower = r#""ratio": 1.03, "low": 1.02, "high": 1.04, "verdict": "different""#;
        let unknown = r#""ratio": 1.03, "low": 0.9, "high": 1.01, "verdict": {"cannot-tell": {"rounds": 9}}"#;
        let pair = Pair::Slower(1.03);
        answers.add(&json(faster, slower), pair, false).unwrap();
        answers.add(&json(slower, faster), pair, true).unwrap();
        answers.add(&json(faster, slower), pair, true).unwrap();
        answers.add(&json(unknown, unknown), pair, false).unwrap();
        for (count, covered) in answers.counts.iter().zip([3, 2]) {
            assert_eq!((count.right, count.wrong, count.cannot_tell, count.covered), (2, 1, 1, covered), "{count:?}");
        }
        assert!(answers.add("{}", pair, false).is_err());
    }
}
