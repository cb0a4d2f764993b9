//! What makes the comparisons of a sliced experiment doubtful, in words.

use super::{Report, answers};
use crate::slices::LoadComparison;
use crate::slices::text::alarm_words;

/// One line for each alarm, with the load if there are several.
pub fn alarms(report: &Report) -> Vec<String> {
    let is_only = report.comparisons.len() == 1;
    let of_load = |load: &LoadComparison| {
        let prefix = if is_only { String::new() } else { format!("{}: ", answers::load(report, load)) };
        load.alarms.iter().map(|alarm| format!("{prefix}{}", alarm_words(alarm, &load.baseline))).collect::<Vec<_>>()
    };
    report.comparisons.iter().flat_map(of_load).collect()
}
