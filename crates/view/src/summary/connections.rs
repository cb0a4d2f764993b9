//! The connections of a result: how many, how evenly they were served, and when none could be opened.

use super::Rows;
use crate::format::amount;
use brunt_results::RunResult;
use brunt_results::result::Connections;

/// Minimum number of connections for a meaningful connect rate.
const ENOUGH_CONNECTIONS: u64 = 1000;
/// Most outages that are told, each in a row.
const OUTAGES: usize = 5;

/// Adds the rows of connections.
pub(super) fn rows(rows: &mut Rows, result: &RunResult) {
    let Connections { opened, peak, connect_rate_per_s, served_percent, jain_index, kept_open, .. } =
        result.connections;
    // With few connections the rate only measures thread start-up.
    let rate = connect_rate_per_s.filter(|_| peak >= ENOUGH_CONNECTIONS);
    let rate = rate.map_or(String::new(), |rate| format!(", {} per second at first", amount(rate)));
    let kept = kept_open
        .map_or(String::new(), |count| format!(", {count} reset that the target kept open when it was to close"));
    rows.row("connections", &format!("{opened} opened, {peak} at most at a time{rate}{kept}"));
    for outage in result.connections.outages.iter().flatten().take(OUTAGES) {
        rows.row("down", &outage.to_string());
    }
    if let Some((served, jain)) = served_percent.zip(jain_index).filter(|_| peak >= ENOUGH_CONNECTIONS) {
        rows.row("evenness", &format!("{served:.1} % of the connections served in the window, Jain's index {jain:.3}"));
    }
}
