//! The figures of a step, from the counts of the loads, the audit log of the controller, and what was seen of the jobs' group.

use super::watch::Look;
use brunt_colocate::audit::Record;
use brunt_colocate::objective::Objective;
use brunt_colocate::policy::Reason;
use brunt_colocate::readings::Requests;
use brunt_results::counts::Counts;
use std::collections::HashMap;

/// Seconds after the step in which slow requests are counted.
pub const AFTER: f64 = 3.0;
/// The window, in seconds, whose share of slow requests is judged, and how far it slides each time.
pub const WINDOW: f64 = 0.5;
pub const SLIDE: f64 = 0.01;

/// Of a step. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Allotment just before the step; `None` without a controller, as in the figures below that are of its decisions.
    pub cores: Option<f64>,
    /// From the step to the tick that read the first window over the budget, and from the end of that window to the tick.
    pub over: Option<f64>,
    pub age: Option<f64>,
    /// CPU time of the jobs from the step to that tick, in cores.
    pub jobs: Option<f64>,
    /// From the step to the first decision with fewer cores.
    pub less: Option<f64>,
    pub reason: Option<Reason>,
    /// Longest time from the tick that decided on an emergency to the frozen group; infinite if it was not seen to freeze.
    pub freeze: Option<f64>,
    /// Most CPU time that the jobs used between such a tick and the end of the freeze.
    pub ran: Option<f64>,
    /// From the step until no window begins any more that is over the budget; infinite if the last one is.
    pub back: f64,
    /// Requests in the time after the step, and the slow ones of these.
    pub count: u64,
    pub slow: u64,
    /// Largest share of time that the machine took from all processes.
    pub lost: Option<f64>,
}

/// The controller's part: its decisions in order, and how its group was found.
#[derive(Debug, Default)]
pub struct Controller {
    pub records: Vec<Record>,
    pub looks: Vec<Look>,
    /// What it was given to read.
    pub given: Vec<Counts>,
}

/// The begin of the first window of the load that makes the step.
pub fn begin(high: &[Counts]) -> Option<f64> {
    high.first().and_then(|counts| Some(counts.end? - counts.seconds))
}

/// `until` is the end of the watched time.
pub fn figures(
    objective: Objective,
    loads: &[Vec<Counts>; 2],
    until: f64,
    controller: Option<&Controller>,
) -> Result<Figures, String> {
    let step = begin(&loads[1]).ok_or("the higher load has not begun")?;
    let mut windows: Vec<Counts> = loads.iter().flatten().copied().collect();
    windows.sort_by(|a, b| a.end.unwrap_or_default().total_cmp(&b.end.unwrap_or_default()));
    let (count, slow) = within(&windows, step, step + AFTER);
    let figures = Figures { back: back(objective, &windows, step, until), count, slow, ..Figures::default() };
    match controller {
        Some(controller) => decisions(objective, step, controller, figures),
        None => Ok(figures),
    }
}

/// Requests, and slow ones, of the windows that end in this time.
fn within(windows: &[Counts], from: f64, to: f64) -> (u64, u64) {
    let end = |counts: &Counts| counts.end.unwrap_or_default();
    let [from, to] = [from, to].map(|time| windows.partition_point(|counts| end(counts) <= time));
    windows[from..to.max(from)].iter().fold((0, 0), |(count, slow), one| (count + one.count, slow + one.slow))
}

fn back(objective: Objective, windows: &[Counts], step: f64, until: f64) -> f64 {
    let last = ((until - WINDOW - step) / SLIDE).max(0.0) as usize;
    let is_bad = |index: &usize| {
        let from = step + *index as f64 * SLIDE;
        let (count, slow) = within(windows, from, from + WINDOW);
        objective.is_missed(slow, count)
    };
    match (0..=last).rev().find(is_bad) {
        None => 0.0,
        Some(index) if index == last => f64::INFINITY,
        Some(index) => (index + 1) as f64 * SLIDE,
    }
}

/// The figures of the controller's decisions.
fn decisions(objective: Objective, step: f64, controller: &Controller, figures: Figures) -> Result<Figures, String> {
    let Controller { records, looks, given } = controller;
    let zero = zero(records, given).ok_or("the audit log has no window of the counts that were given")?;
    let from = records.partition_point(|record| record.now + zero < step);
    let before = from.checked_sub(1).ok_or("the audit log begins after the step")?;
    let since = |record: &Record| record.now + zero - step;
    let is_over = |record: &&Record| {
        let Some(requests) = record.readings.requests else { return false };
        let Requests { count, slow, .. } = requests.value;
        since(record) - requests.age > 0.0 && objective.is_missed(slow, count)
    };
    let over = records[from..].iter().find(is_over);
    let mut pairs = records[before..].windows(2);
    let less = pairs.find(|pair| pair[1].decision.allotment.cores < pair[0].decision.allotment.cores);
    let emergencies = records[before..].windows(2).filter(|pair| {
        let [last, next] = [pair[0].decision, pair[1].decision];
        next.begins_emergency(Some(last))
    });
    let stops: Vec<Stop> = emergencies.map(|pair| stop(&pair[1], records, zero, looks)).collect();
    let lost = records[from..].iter().filter(|record| since(record) <= AFTER);
    Ok(Figures {
        cores: Some(records[before].decision.allotment.cores),
        over: over.map(since),
        age: over.and_then(|record| record.readings.requests).map(|requests| requests.age),
        jobs: over.and_then(|record| Some(used(looks, step, record.now + zero)? / since(record))),
        less: less.map(|pair| since(&pair[1])),
        reason: less.map(|pair| pair[1].decision.reason),
        freeze: stops.iter().map(|stop| stop.took).reduce(f64::max),
        ran: stops.iter().filter_map(|stop| stop.ran).reduce(f64::max),
        lost: lost.filter_map(|record| record.readings.lost).map(|lost| lost.value).reduce(f64::max),
        ..figures
    })
}

/// How the jobs stopped in an emergency.
struct Stop {
    took: f64,
    ran: Option<f64>,
}

fn stop(emergency: &Record, records: &[Record], zero: f64, looks: &[Look]) -> Stop {
    let after = |record: &&Record| record.now > emergency.now && !record.decision.allotment.is_frozen();
    let end = records.iter().find(after).map_or(f64::INFINITY, |record| record.now + zero);
    let tick = emergency.now + zero;
    let seen = looks.iter().find(|look| look.frozen && (tick..end).contains(&look.at));
    Stop { took: seen.map_or(f64::INFINITY, |look| look.at - tick), ran: used(looks, tick, end) }
}

/// CPU time of the jobs between the last looks before these times.
fn used(looks: &[Look], from: f64, to: f64) -> Option<f64> {
    let cpu = |time| looks.iter().rfind(|look| look.at <= time).and_then(|look| look.cpu);
    Some(cpu(to)? - cpu(from)?)
}

/// The controller's start in seconds of CLOCK_MONOTONIC: the one at which most windows of its log end as those that it was given
/// with the same requests.
fn zero(records: &[Record], given: &[Counts]) -> Option<f64> {
    let mut votes: HashMap<i64, (u32, f64)> = HashMap::new();
    for (record, requests) in records.iter().filter_map(|record| Some((record, record.readings.requests?))) {
        let Requests { seconds, count, slow, .. } = requests.value;
        for same in given.iter().filter(|one| (one.seconds, one.count, one.slow) == (seconds, count, slow)) {
            let zero = same.end? - (record.now - requests.age);
            let (number, _) = votes.entry((zero * 1e3).round() as i64).or_insert((0, zero));
            *number += 1;
        }
    }
    votes.into_values().max_by_key(|(number, _)| *number).map(|(_, zero)| zero)
}
