//! Rates and connections that change: `-R 1k:50k`, `-c 10:200` and `--stages`.

use super::{first_given, requests, usage};
use brunt_load::Stage;
use brunt_results::stages::{ConnectionRange, Quantity, Range, TimedStage};
use brunt_results::{Error, Rate};
use brunt_spec::LoadSpec;
use std::time::Duration;

/// The stages of a window: of the rate of an open loop, or of the connections of a closed one.
#[derive(Debug, Default)]
pub(super) struct Stages {
    pub rate: Vec<Stage>,
    pub connections: Vec<Stage>,
}

/// The stages of the window; none of a load that does not change. `duration` is that of the window without `--stages`.
pub(super) fn of(spec: &LoadSpec, duration: Duration, is_compared: bool) -> Result<Stages, Error> {
    let rising = spec.connections.filter(|range| !range.is_constant());
    let stages = Stages {
        rate: match spec.rate.filter(|rate| !rate.is_constant()) {
            Some(ramp) => vec![over((ramp, duration))],
            None => spec.stages.iter().filter_map(TimedStage::rate).map(over).collect(),
        },
        connections: match rising {
            Some(ramp) => vec![over((ramp, duration))],
            None => connections(&spec.stages).map(over).collect(),
        },
    };
    if stages.rate.is_empty() && stages.connections.is_empty() {
        return Ok(stages);
    }
    let with_rate = [
        ("-R", spec.rate.is_some()),
        ("--rate-per-core", spec.rate_per_core.is_some()),
        ("stages of a rate", !stages.rate.is_empty()),
        ("--arrival", spec.arrival.is_some()),
    ];
    if !stages.connections.is_empty()
        && let Some(other) = first_given(&with_rate)
    {
        let what = rising.map_or("--stages c=N@TIME".to_owned(), |range| format!("-c {range}"));
        return usage(format!(
            "{what} and {other}: connections change in a closed loop, which has no rate; leave one of them out"
        ));
    }
    let conflicts = [("--steady", spec.steady), ("-n", requests::count(spec)?.is_some()), ("--compare", is_compared)];
    let of_stages = [
        ("-R", spec.rate.is_some()),
        ("--rate-per-core", spec.rate_per_core.is_some()),
        ("-d", spec.duration.is_some()),
    ];
    let of_connections =
        [("-c", spec.connections.is_some()), ("--connections-per-core", spec.connections_per_core.is_some())];
    let flag = match (spec.stages.is_empty(), rising.is_some()) {
        (false, _) => "--stages",
        (true, true) => "connections that change (-c A:B)",
        (true, false) => "a rate that changes (-R A:B)",
    };
    let others = if spec.stages.is_empty() { &of_stages[..0] } else { &of_stages };
    let has_staged_connections = connections(&spec.stages).next().is_some();
    let both = if has_staged_connections { &of_connections[..] } else { &of_connections[..0] };
    match first_given(&[others, both, &conflicts].concat()) {
        Some(other) => usage(format!("{flag} and {other}: give one of them")),
        None => Ok(stages),
    }
}

fn over<T: Quantity>((range, length): (Range<T>, Duration)) -> Stage {
    Stage { from: range.from.number(), to: range.to.number(), length }
}

/// Length of all stages.
pub(super) fn length(stages: &[TimedStage]) -> Option<Duration> {
    (!stages.is_empty()).then(|| stages.iter().map(TimedStage::length).sum())
}

/// The highest rate.
pub(super) fn highest(stages: &[TimedStage]) -> Option<Rate> {
    stages
        .iter()
        .filter_map(TimedStage::rate)
        .map(|(rate, _)| rate.highest())
        .reduce(|a, b| if b.0 > a.0 { b } else { a })
}

/// The stages of connections.
pub(super) fn connections(stages: &[TimedStage]) -> impl Iterator<Item = (ConnectionRange, Duration)> {
    stages.iter().filter_map(TimedStage::connections)
}
