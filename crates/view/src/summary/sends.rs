//! The row on the shape of an open loop.

use crate::format::{percent, three_digits, time};
use brunt_results::RunResult;
use brunt_results::result::{Rest, Sends};

/// How requests were sent, and what is to be done about clumps.
pub(super) fn rows(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(sends) = &result.sends else { return Vec::new() };
    let Sends { per_wakeup_mean, per_wakeup_p99, close_percent, scheduled_close_percent, rest, .. } = sends;
    let rest = rest.map_or(String::new(), |Rest { mean_us, p50_us, max_us }| {
        let [mean, p50, max] = [mean_us, p50_us, max_us].map(time);
        format!("; a connection rests {mean} in the mean, p50 {p50}, max {max}")
    });
    let row = format!(
        "{} a wake-up, p99 {per_wakeup_p99}; {} within 10 us of the one before, {} by the schedule{rest}",
        three_digits(*per_wakeup_mean),
        percent(*close_percent),
        percent(*scheduled_close_percent),
    );
    let remedy = match result.load.send_tick_us {
        Some(_) => "leave --send-tick out",
        None => "give the generator a core of its own (--cores), more threads (-t), or a lower rate",
    };
    let note = sends.clumped.then(|| format!("clumped: requests of a clump queue behind each other; {remedy}"));
    [("sends", row)].into_iter().chain(note.map(|note| ("", note))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_has_the_remedy_of_its_cause() {
        let mut result = RunResult::new("brunt");
        assert!(rows(&result).is_empty());
        let rest = Some(Rest { mean_us: 50_000.0, p50_us: 49_000.0, max_us: 51_000.0 });
        let sends = Sends { per_wakeup_mean: 1.0, per_wakeup_p99: 1.0, close_percent: 2.5, rest, ..Sends::default() };
        result.sends = Some(sends);
        let row = "1.00 a wake-up, p99 1; 2.5 % within 10 us of the one before, 0.0 % by the schedule; \
                   a connection rests 50.0 ms in the mean, p50 49.0 ms, max 51.0 ms";
        assert_eq!(rows(&result), [("sends", row.to_owned())]);
        result.sends.as_mut().unwrap().clumped = true;
        let note = |result: &RunResult| rows(result)[1].1.clone();
        assert!(note(&result).ends_with("or a lower rate"));
        result.load.send_tick_us = Some(1000.0);
        assert!(note(&result).ends_with("leave --send-tick out"));
    }
}
