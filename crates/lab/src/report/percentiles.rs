//! Percentiles over repeats that a plan asks for beside the usual ones.

use brunt_results::{Percentile, RunResult};
use brunt_statistics::{percentile_median, supported};
use std::collections::BTreeMap;

/// In microseconds; `None` where too few requests support it.
pub type Percentiles = BTreeMap<Percentile, Option<f64>>;

/// The medians over results, of each percentile that any of them has.
pub fn medians(results: &[Box<RunResult>]) -> Percentiles {
    let response = || results.iter().map(|result| &result.latency.response);
    let value = |(name, of): (&String, Percentile)| {
        let values = response().map(|times| supported(times, of.quantile(), times.percentiles_us.get(name).copied()));
        (of, percentile_median(values))
    };
    let names = response().flat_map(|times| times.percentiles_us.keys());
    names.filter_map(|name| Some(value((name, name.parse().ok()?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_median_of_the_results_and_absent_where_few_values_lie_beyond() {
        let result = |us: f64| {
            let mut result = Box::new(RunResult::new("brunt"));
            let response = &mut result.latency.response;
            response.count = 10_000;
            response.percentiles_us = [("p97.5".to_owned(), us), ("p99.99".to_owned(), us * 2.0)].into();
            result
        };
        let medians = medians(&[result(3.0), result(1.0), result(2.0)]);
        let expected = [("97.5", Some(2.0)), ("99.99", None)].map(|(text, us)| (text.parse().unwrap(), us));
        assert_eq!(medians, Percentiles::from(expected));
        assert_eq!(super::medians(&[]), Percentiles::new());
    }
}
