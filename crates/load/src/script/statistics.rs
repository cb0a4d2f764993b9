//! Arguments of `done`: a summary, and two distributions with wrk's methods. Times are in microseconds.

use brunt_luau::mlua::{Lua, MetaMethod, Result, Table, UserData, UserDataFields, UserDataMethods};
use brunt_results::{RunResult, result::Errors};
use hdrhistogram::Histogram;
use std::time::Duration;

/// The table `summary` of a result.
pub(super) fn summary(lua: &Lua, result: &RunResult) -> Result<Table> {
    let Errors { connect, timeout, reset, closed, truncated, protocol, status, mismatch } = result.errors;
    // A connection lost while a request is sent counts as one lost while waiting for the reply.
    let (read, write) = (reset + closed + truncated + protocol + mismatch, 0);
    let counts = [("connect", connect), ("read", read), ("write", write), ("status", status), ("timeout", timeout)];
    // wrk counts every reply.
    let requests = (result.requests.completed + status) as f64;
    let duration = Duration::try_from_secs_f64(result.load.measured_s).unwrap_or_default();
    let (micros, bytes) = (duration.as_micros() as f64, result.bytes.received as f64);
    let summary = lua.create_table_from([("duration", micros), ("requests", requests), ("bytes", bytes)])?;
    summary.set("errors", lua.create_table_from(counts.map(|(name, count)| (name, count as f64)))?)?;
    Ok(summary)
}

/// A distribution: values in ascending order with their counts, and its moments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    values: Vec<(f64, u64)>,
    min: f64,
    max: f64,
    mean: f64,
    stdev: f64,
}

impl Numbers {
    pub fn of_times(nanos: &Histogram<u64>) -> Self {
        let us = |nanos: u64| nanos as f64 / 1e3;
        if nanos.is_empty() {
            return Self::default();
        }
        let values = nanos.iter_recorded().map(|v| (us(v.value_iterated_to()), v.count_at_value())).collect();
        let (min, max, mean, stdev) = (us(nanos.min()), us(nanos.max()), nanos.mean() / 1e3, nanos.stdev() / 1e3);
        Self { values, min, max, mean, stdev }
    }

    /// Requests per second of load threads, one value for each thread and second.
    pub fn of_rates(rates: impl IntoIterator<Item = u64>) -> Self {
        let mut rates: Vec<u64> = rates.into_iter().collect();
        rates.sort_unstable();
        let (Some(&min), Some(&max)) = (rates.first(), rates.last()) else { return Self::default() };
        let count = rates.len() as f64;
        let mean = rates.iter().map(|rate| *rate as f64).sum::<f64>() / count;
        let squares = rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum::<f64>();
        let values = rates.chunk_by(|a, b| a == b).map(|same| (same[0] as f64, same.len() as u64)).collect();
        Self { values, min: min as f64, max: max as f64, mean, stdev: (squares / count).sqrt() }
    }

    /// The least value that `percent` of all values do not exceed; 0 if there are none.
    fn percentile(&self, percent: f64) -> f64 {
        let count: u64 = self.values.iter().map(|(_, count)| count).sum();
        let rank = ((percent / 100.0 * count as f64).ceil()).max(1.0);
        let mut seen = 0;
        let value = self.values.iter().find(|(_, count)| {
            seen += count;
            seen as f64 >= rank
        });
        value.or(self.values.last()).map_or(0.0, |(value, _)| *value).min(self.max)
    }
}

impl UserData for Numbers {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, numbers| Ok(numbers.min));
        fields.add_field_method_get("max", |_, numbers| Ok(numbers.max));
        fields.add_field_method_get("mean", |_, numbers| Ok(numbers.mean));
        fields.add_field_method_get("stdev", |_, numbers| Ok(numbers.stdev));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, numbers, percent: f64| Ok(numbers.percentile(percent)));
        methods.add_meta_method(MetaMethod::Len, |_, numbers, ()| Ok(numbers.values.len()));
        // A value and its count; zeros beyond the last one.
        methods.add_meta_method(MetaMethod::Call, |_, numbers, place: f64| {
            let entry = (place >= 1.0).then(|| numbers.values.get(place as usize - 1)).flatten();
            Ok(entry.map_or((0.0, 0.0), |(value, count)| (*value, *count as f64)))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_percentiles_are_those_of_the_values() {
        let numbers = Numbers::of_rates([30, 10, 20, 10]);
        assert_eq!(numbers.values, [(10.0, 2), (20.0, 1), (30.0, 1)]);
        assert_eq!((numbers.min, numbers.max, numbers.mean), (10.0, 30.0, 17.5));
        assert!((numbers.stdev - 8.2916).abs() < 1e-3);
        let at = |percent| numbers.percentile(percent);
        assert_eq!((at(0.0), at(50.0), at(51.0), at(75.0), at(99.9), at(100.0)), (10.0, 10.0, 20.0, 20.0, 30.0, 30.0));
        assert_eq!(Numbers::of_rates([]).percentile(50.0), 0.0);
    }

    #[test]
    fn times_are_microseconds() {
        let mut nanos = brunt_results::latency::new_histogram();
        for value in [1_000, 2_000, 2_000, 50_000_000] {
            nanos.record(value).expect("it is within the bounds");
        }
        let numbers = Numbers::of_times(&nanos);
        assert_eq!(numbers.values.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert!((numbers.percentile(75.0) - 2.0).abs() < 0.01, "{}", numbers.percentile(75.0));
        assert!((numbers.max / 50_000.0 - 1.0).abs() < 1e-3 && (numbers.min - 1.0).abs() < 0.01);
        assert_eq!(Numbers::of_times(&brunt_results::latency::new_histogram()), Numbers::default());
    }
}
