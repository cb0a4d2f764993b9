//! Conditions on trials, translated to SQL with parameters.

use crate::plan::settings::{NAMES, Settings};
use brunt_results::{Percentile, Threshold, figure, verdict::Kind};
use rusqlite::types::Value;
use std::str::FromStr;

pub const FAILED: &str = "failed";

pub fn verdict_words() -> Vec<&'static str> {
    Kind::ALL.into_iter().map(Kind::word).chain([FAILED]).collect()
}

/// A conjunction of conditions; an empty filter matches everything.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Name of the plan; `find` or `load` without one.
    pub plan: Option<String>,
    /// Name of the target; its URL without a plan.
    pub target: Option<String>,
    /// One of [`verdict_words`].
    pub verdict: Option<String>,
    pub since_unix_s: Option<u64>,
    /// Bounds on figures; a missing figure matches none.
    pub bounds: Vec<Threshold>,
    pub values: Vec<NamedValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedValue {
    name: String,
    value: String,
}

impl FromStr for NamedValue {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
            return Err(format!("'{text}' is not NAME=VALUE, such as connections=80"));
        };
        // The index has totals.
        if name.ends_with("_per_core") {
            let whole = name.trim_end_matches("_per_core");
            return Err(format!("'{text}': give the total over all cores, as {whole}=VALUE"));
        }
        let value = match name {
            "rate" if value == "max" => value.to_owned(),
            name if NAMES.contains(&name) => {
                Settings::default().set(name, value).map_err(|error| format!("{name}: {error}"))?
            }
            _ => value.to_owned(),
        };
        Ok(Self { name: name.to_owned(), value })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub(super) sql: String,
    pub(super) parameters: Vec<Value>,
}

impl Filter {
    /// The condition on the joined tables `directory`, `cell` and `trial`.
    pub(super) fn clause(&self) -> Clause {
        let text = |value: &Option<String>| value.clone().map(Value::from);
        let since = self.since_unix_s.map(|unix_s| Value::from(i64::try_from(unix_s).unwrap_or(i64::MAX)));
        let (mut words, mut parameters) = (vec!["1".to_owned()], Vec::new());
        for (sql, value) in [
            ("directory.plan = ?", text(&self.plan)),
            ("directory.started_unix_s >= ?", since),
            ("cell.target = ?", text(&self.target)),
            ("trial.verdict = ?", text(&self.verdict)),
        ] {
            words.extend(value.is_some().then(|| sql.to_owned()));
            parameters.extend(value);
        }
        for bound in &self.bounds {
            let order = if bound.is_above { '>' } else { '<' };
            // A column that does not exist matches nothing, as a missing figure does.
            let own = column(&bound.figure).map_or("0 = ?".to_owned(), |column| format!("trial.{column} {order} ?"));
            parameters.push(bound.bound.into());
            let Some(censored) = column(figure::CENSORED.key).filter(|_| bound.is_time()) else {
                words.push(own);
                continue;
            };
            // A time that is a lower bound is above every limit.
            let is_least = format!("COALESCE(trial.{censored}, 0) > ?");
            words.push(match bound.is_above {
                true => format!("({own} OR {is_least})"),
                false => format!("{own} AND NOT {is_least}"),
            });
            parameters.push((bound.percentile().map_or(0.0, Percentile::share_beyond) * 100.0).into());
        }
        let exists = "EXISTS (SELECT 1 FROM value WHERE value.cell = cell.id AND value.name = ? AND value.value = ?)";
        for NamedValue { name, value } in &self.values {
            words.push(exists.to_owned());
            parameters.extend([name.clone().into(), value.clone().into()]);
        }
        Clause { sql: words.join(" AND "), parameters }
    }

    /// Whether it selects individual trials of a directory.
    pub(super) fn is_about_trials(&self) -> bool {
        self.target.is_some() || self.verdict.is_some() || !self.bounds.is_empty() || !self.values.is_empty()
    }
}

/// A bound on a figure that the index has.
///
/// # Errors
/// As [`Threshold`]'s; or the index lacks the figure.
pub fn bound(text: &str) -> Result<Threshold, String> {
    let bound: Threshold = text.parse()?;
    let lacks =
        format!("'{text}': the index has figures of whole loads, and of the percentiles p50, p90, p95, p99 and p99.9");
    (bound.name.is_none() && column(&bound.figure).is_some()).then_some(bound).ok_or(lacks)
}

fn column(name: &str) -> Option<&'static str> {
    Some(figure::find(name)?.indexed.as_ref()?.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_bounds_are_in_the_index_or_refused() {
        for (text, column_name) in [
            ("mean<1ms", "mean_us"),
            ("p50<1ms", "p50_us"),
            ("p90<1ms", "p90_us"),
            ("p95<1ms", "p95_us"),
            ("p99<1ms", "p99_us"),
            ("p99.9<1ms", "p999_us"),
            ("p999<1ms", "p999_us"),
            ("max<1ms", "max_us"),
            ("rate>1k", "rate"),
            ("cost<1ms", "cost_us"),
            ("failed<1", "failed"),
            ("errors<1%", "errors_percent"),
        ] {
            assert_eq!(column(&bound(text).unwrap().figure), Some(column_name));
        }
        assert!(bound("cart:p99<1ms").unwrap_err().contains("'cart:p99<1ms'"));
        assert!(bound("p97.5<1ms").unwrap_err().contains("'p97.5<1ms'"));
    }

    #[test]
    fn values_are_spelt_as_plans_spell_them() {
        let spelt = |text: &str| text.parse::<NamedValue>().map(|named| named.value);
        assert_eq!(spelt("connections=1000"), Ok("1k".to_owned()));
        assert_eq!(spelt("size = 1024"), Ok("1KiB".to_owned()));
        assert_eq!(spelt("rate=max"), Ok("max".to_owned()));
        assert_eq!(spelt("backlog=007"), Ok("007".to_owned()));
        assert!(spelt("connections").unwrap_err().contains("NAME=VALUE"));
        assert!(spelt("rate_per_core=5k").unwrap_err().contains("rate=VALUE"));
        assert!(spelt("connections=x").unwrap_err().starts_with("connections:"));
    }
}
