//! Moves what a part reports from its own clock to another.

use crate::engine::message::Message;
use crate::measure::interval::{Interval, Usage};
use crate::processes::Report;

/// Adds `by` to the times of a report. What was before zero of the other clock becomes zero.
pub fn shift(report: &mut Report, by: i64) {
    let move_time = |time: &mut u64| *time = time.saturating_add_signed(by);
    match report {
        Report::Thread(_, Message::Interval(interval)) => {
            let Interval { start_ns, end_ns, usage_start, usage_end, .. } = &mut **interval;
            let Usage { at_ns: used_from_ns, .. } = usage_start;
            let Usage { at_ns: used_until_ns, .. } = usage_end;
            [start_ns, end_ns, used_from_ns, used_until_ns].into_iter().for_each(move_time);
        }
        Report::Thread(_, Message::Counts(part)) => move_time(&mut part.until_ns),
        Report::ShareDone(at) => move_time(at),
        Report::Connecting(progress) => progress.shift(by),
        // A time that is not known yet stays so.
        Report::Done { outages, .. } => outages.iter_mut().for_each(|outage| {
            move_time(&mut outage.from_ns);
            Some(&mut outage.until_ns).filter(|until| **until != u64::MAX).into_iter().for_each(move_time);
        }),
        Report::Thread(
            _,
            Message::Ready { .. }
            | Message::Served(_)
            | Message::FirstFailures(_)
            | Message::Parts(_)
            | Message::Reopened
            | Message::Drained(_)
            | Message::Failed(_)
            | Message::Exited,
        )
        | Report::Refused { .. }
        | Report::Names(_)
        | Report::Failed(_) => (),
    }
}
