//! Histograms of response times in the text format of Prometheus: cumulative counters, each of the requests that took at most a
//! bound, `NAME_bucket{le="0.005",...} 1234`. Series with different labels add up.

use std::collections::BTreeMap;

/// How far a bound may be from the limit to be the same, as a share of it.
const SAME: f64 = 1e-6;

/// Counters of one series by bound, in the unit of the metric; the last bound is infinite.
type Series = Vec<(f64, f64)>;

/// All series of one histogram, by their other labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histograms(BTreeMap<String, Series>);

/// Requests between two looks, by bound and not cumulative.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delta(Vec<(f64, f64)>);

impl Histograms {
    /// Reads `NAME_bucket` lines; others are skipped.
    pub fn of_text(text: &str, name: &str) -> Self {
        let mut found = Self::default();
        for (bound, labels, value) in text.lines().filter_map(|line| bucket(line, name)) {
            found.0.entry(labels).or_default().push((bound, value));
        }
        for series in found.0.values_mut() {
            series.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bound that is the limit, in the unit of the metric.
    ///
    /// # Errors
    /// There is none: the nearest bounds below and above it.
    pub fn bound(&self, limit: f64) -> Result<f64, (Option<f64>, Option<f64>)> {
        let bounds = || self.0.values().flatten().map(|(bound, _)| *bound).filter(|bound| bound.is_finite());
        let below = bounds().filter(|bound| *bound <= limit * (1.0 + SAME)).reduce(f64::max);
        let above = bounds().filter(|bound| *bound > limit * (1.0 + SAME)).reduce(f64::min);
        below.filter(|bound| *bound >= limit * (1.0 - SAME)).ok_or((below, above))
    }

    /// Requests since `before`. A counter that fell began again at 0, as do those of new series.
    pub fn since(&self, before: &Self) -> Delta {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (labels, series) in &self.0 {
            let old = before.0.get(labels).map_or(&[][..], Vec::as_slice);
            let at = |bound: f64| old.iter().find(|(other, _)| *other == bound).map_or(0.0, |(_, value)| *value);
            let fell = series.iter().any(|(bound, value)| *value < at(*bound));
            let mut below = 0.0;
            for (bound, value) in series {
                let grown = if fell { *value } else { value - at(*bound) };
                // Bounds are not negative, so their bits are in their order.
                sums.entry(bound.to_bits()).or_insert((*bound, 0.0)).1 += (grown - below).max(0.0);
                below = grown.max(below);
            }
        }
        Delta(sums.into_values().collect())
    }
}

impl Delta {
    pub fn add(&mut self, other: &Self) {
        for (bound, count) in &other.0 {
            match self.0.iter_mut().find(|(own, _)| own == bound) {
                Some((_, sum)) => *sum += count,
                None => self.0.push((*bound, *count)),
            }
        }
        self.0.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| *count).sum::<f64>().round() as u64
    }

    /// Requests that took longer than a bound.
    pub fn above(&self, limit: f64) -> u64 {
        self.0.iter().filter(|(bound, _)| *bound > limit).map(|(_, count)| *count).sum::<f64>().round() as u64
    }

    /// The quantile, interpolated between the bounds of its bucket; the highest finite bound if it is beyond that. `None`
    /// without requests.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let rank = quantile * self.0.iter().map(|(_, count)| *count).sum::<f64>();
        let (mut below, mut lower) = (0.0, 0.0);
        for (bound, count) in &self.0 {
            if below + count >= rank && *count > 0.0 {
                let part = (rank - below) / count;
                return Some(if bound.is_finite() { lower + (bound - lower) * part } else { lower });
            }
            below += count;
            lower = if bound.is_finite() { *bound } else { lower };
        }
        None
    }
}

/// Bound, other labels and value of a line of `NAME_bucket`.
fn bucket(line: &str, name: &str) -> Option<(f64, String, f64)> {
    let rest = line.trim_start().strip_prefix(name)?.strip_prefix("_bucket{")?;
    let (mut labels, mut bound, mut rest) = (Vec::new(), None, rest.trim_start());
    while !rest.starts_with('}') {
        let (key, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
        match key.trim() {
            "le" => bound = Some(number(&value)?),
            key => labels.push(format!("{key}={value}")),
        }
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    labels.sort_unstable();
    let value = number(rest[1..].split_whitespace().next()?)?;
    Some((bound.filter(|bound| *bound >= 0.0)?, labels.join("\n"), Some(value).filter(|value| value.is_finite())?))
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        text => text.parse().ok(),
    }
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: [f64; 4] = [0.001, 0.006, 0.01, f64::INFINITY];

    /// Metrics of services, each with response times since it started.
    fn text(services: &[Vec<f64>]) -> String {
        let mut text = "# HELP t_bucket no line of it\nt_count 7\nother_bucket{le=\"1\"} 3\n".to_owned();
        for (number, times) in services.iter().enumerate() {
            for bound in BOUNDS {
                let count = times.iter().filter(|time| **time <= bound).count();
                let le = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
                text += &format!("t_bucket{{host=\"a,\\\"}}{number}\", le=\"{le}\"}} {count}.0 1700000000\n");
            }
        }
        text
    }

    proptest! {
        #[test]
        fn deltas_are_the_requests_between_two_looks_whichever_services_restart(
            services in proptest::collection::vec(
                (proptest::collection::vec(0.0..0.02f64, 0..20), proptest::collection::vec(0.0..0.02f64, 0..20), any::<bool>()),
                1..5,
            ),
        ) {
            let before: Vec<Vec<f64>> = services.iter().map(|(old, ..)| old.clone()).collect();
            // One that starts again and has answered as many as before cannot be told from one that goes on.
            let after = services.iter().map(|(old, new, restarts)| match *restarts && new.len() < old.len() {
                true => new.clone(),
                false => [&old[..], &new[..]].concat(),
            });
            let after: Vec<Vec<f64>> = after.collect();
            let delta = Histograms::of_text(&text(&after), "t").since(&Histograms::of_text(&text(&before), "t"));
            let new: Vec<f64> = services.iter().flat_map(|(_, new, _)| new.clone()).collect();
            prop_assert_eq!(delta.count(), new.len() as u64);
            for bound in BOUNDS {
                prop_assert_eq!(delta.above(bound), new.iter().filter(|time| **time > bound).count() as u64);
            }
            for quantile in [0.0, 0.5, 0.99, 1.0] {
                let Some(value) = delta.quantile(quantile) else { prop_assert!(new.is_empty()); continue };
                let rank = (quantile * new.len() as f64).ceil().max(1.0) as usize;
                let mut sorted = new.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let lower = BOUNDS.iter().rfind(|bound| **bound < sorted[rank - 1]).copied().unwrap_or(0.0);
                let upper = BOUNDS.iter().find(|bound| **bound >= sorted[rank - 1] && bound.is_finite()).copied();
                prop_assert!((lower..=upper.unwrap_or(0.01)).contains(&value), "{value} of {sorted:?}");
            }
        }
    }

    #[test]
    fn the_limit_must_be_a_bound() {
        let found = Histograms::of_text(&text(&[vec![0.1]]), "t");
        assert_eq!(found.bound(0.006 + 1e-10), Ok(0.006));
        assert_eq!(found.bound(0.007), Err((Some(0.006), Some(0.01))));
        assert_eq!(found.bound(0.0001), Err((None, Some(0.001))));
        assert_eq!(found.bound(1.0), Err((Some(0.01), None)));
    }
}
