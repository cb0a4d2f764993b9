//! What makes the comparisons of a sliced experiment doubtful, and which targets do not idle, in words.

use super::{Report, Row, answers};
use crate::group::distinct;
use crate::slices::text::alarm_words;
use brunt_slices::LoadComparison;

/// One line for each alarm, with the load if there are several.
pub fn alarms(report: &Report) -> Vec<String> {
    let is_only = report.comparisons.len() == 1;
    let of_load = |load: &LoadComparison| {
        let prefix = if is_only { String::new() } else { format!("{}: ", answers::load(report, load)) };
        load.alarms.iter().map(|alarm| format!("{prefix}{}", alarm_words(alarm, &load.baseline))).collect::<Vec<_>>()
    };
    report.comparisons.iter().flat_map(of_load).collect()
}

/// One line for each target that spins, and for each that was frozen between its slices: of the cell in which it used most CPU.
pub fn idling(report: &Report) -> Vec<String> {
    let of_target = |target: &String| {
        let rows = report.rows.iter().filter(|row: &&Row| row.cell.target == *target);
        let idle = rows.filter_map(|row| row.figures.idle.as_ref());
        let idle = idle.max_by(|a, b| a.cpu_percent.total_cmp(&b.cpu_percent))?;
        let used = format!("{target} uses {:.1} % of a core while it has no load", idle.cpu_percent);
        let frozen = idle.frozen_by.as_ref().map(|by| format!("frozen: {used}: {by} stops it between its slices"));
        let polls =
            idle.polls().then(|| format!("polls: {used}: its CPU time a request is that of the core, not a cost"));
        Some([polls, frozen].into_iter().flatten().collect::<Vec<_>>())
    };
    distinct(report.rows.iter().map(|row| &row.cell.target)).into_iter().filter_map(of_target).flatten().collect()
}
