//! Limits of the server's control groups that were reached.

use crate::result::RunResult;
use crate::verdict::ValidityIssue;

/// From this share of the periods on in which a quota stops the server, in percent, it is the limit.
const THROTTLED_PERCENT: f64 = 1.0;

/// Whether a CPU quota stopped the server often enough to be seen in its p99.
pub(super) fn throttled(result: &RunResult) -> Option<ValidityIssue> {
    let quota = result.server.throttled.as_ref().filter(|quota| quota.percent() >= THROTTLED_PERCENT)?;
    Some(ValidityIssue::Throttled {
        throttled: quota.throttled_periods,
        periods: quota.periods,
        percent: quota.percent(),
        quota_cores: quota.quota_cores,
        group: quota.group.clone(),
    })
}

/// Whether a memory limit made the server wait. At the limit that version 1 knows, page cache is given up first, which is no wait.
pub(super) fn memory(result: &RunResult) -> Option<ValidityIssue> {
    let limit = result.server.memory_limit.as_ref().filter(|limit| limit.high_events + limit.killed > 0)?;
    Some(ValidityIssue::MemoryLimit { group: limit.group.clone(), waits: limit.high_events, killed: limit.killed })
}
