//! Resolves the description of a load where the load runs: what runs follows from the description, the files that it names, the
//! addresses of its hosts, and the clock.
//!
//! Each error is one line that names the flags, their values and the remedy. Typed values are never adjusted; only
//! defaults depend on other flags.

use super::beside::Beside;
use super::stages::{self, Stages};
use super::{flags, replay, requests, target, usage};
use brunt_inputs::{address, replay::Replay};
use brunt_load::{Arrival, Options, Stage};
use brunt_results::stages::{ConnectionRange, Range, RateRange};
use brunt_results::{Cores, Count, Error, Rate, Span, drift};
use brunt_spec::LoadSpec;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Default number of connections, as in wrk.
const CONNECTIONS: u64 = 10;
/// Default measured window, as in wrk.
pub(super) const DURATION: Duration = Duration::from_secs(10);
/// Time limit of runs that end by request count.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);
const MOST_THREADS: u64 = 1024;
const MOST_CONNECTIONS: u64 = 100_000_000;
/// No machine sends or connects faster.
pub(in crate::cmd) const MOST_RATE: Rate = Rate(10e6);
/// Longest warm-up with --steady.
const STEADY_LIMIT: Duration = Duration::from_secs(60);

/// What the generator runs for a description, and notes for the user.
///
/// # Errors
/// Settings contradict each other, or what they name cannot be read or looked up.
pub(super) fn resolve(spec: &LoadSpec, beside: Beside<'_>) -> Result<(Options, Vec<String>), Error> {
    let urls = spec.urls.iter().map(|url| address::parse(url)).collect::<Result<Vec<_>, _>>()?;
    let threads = threads(spec, beside.allowed)?;
    let (fewest, connections) = connections(spec, threads.len() as u64)?;
    let requests = requests::count(spec)?;
    let replay = replay::of(spec, beside)?;
    let (duration, warmup) = times(spec, requests, replay.as_ref())?;
    let Stages { rate: stages, connections: connection_stages } = stages::of(spec, duration, beside.compare)?;
    let rate = match &replay {
        Some(replay) => Some(replay.rate(duration, warmup)?),
        None if stages.is_empty() => rate(spec, threads.len() as f64)?,
        None => rate(spec, threads.len() as f64)?.or_else(|| Some(Stage::mean(&stages))),
    };
    if requests == Some(Count(0)) {
        return usage("-n 0: at least 1 request is needed");
    }
    // The default differs from run to run so that repeats draw different arrivals; it is recorded in the result.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let seed = spec.seed.unwrap_or_else(clock);
    let (recorded_times, recorded) = replay.map(|replay| (replay.times, replay.requests)).unzip();
    spec.direct.check().map_err(Error::Usage)?;
    let (target, notes) =
        target::of(spec, &urls, recorded, &target::Context { is_open: rate.is_some(), seed, script: beside.script })?;
    let url = if urls.is_empty() {
        target::hosts(&target)
    } else {
        spec.urls.iter().map(|url| address::shown(url)).collect::<Vec<_>>().join(" ")
    };
    let hosts = target.addresses().len() as u64;
    if fewest < hosts {
        return usage(format!("-c {fewest} is less than the {hosts} hosts: each needs a connection; raise -c"));
    }
    let options = Options {
        url,
        target,
        connections: connections as usize,
        connection_stages,
        threads,
        backend: spec.backend,
        group: None,
        duration,
        warmup,
        steady: spec.steady,
        requests: requests.map(|count| count.0),
        rate,
        stages,
        replay: recorded_times,
        arrival: spec.arrival.unwrap_or(Arrival::Constant),
        timeout: spec.timeout(),
        connect_rate: spec.connect_rate.map(|rate| rate.0),
        sources: flags::parsed("--source", spec.source.as_ref())?,
        direct: spec.direct.clone(),
        seed,
        counts: None,
        percentiles: spec.percentiles.clone(),
    };
    Ok((options, notes))
}

/// The same for another process than that of the command line; the error is one line.
pub(in crate::cmd) fn resolved(spec: &LoadSpec) -> Result<Options, String> {
    resolve(spec, Beside::default()).map(|(options, _)| options).map_err(|error| error.to_string())
}

/// The same for this machine, of which it names cores; `script`: one takes the place of the requests.
#[cfg(feature = "fleet")]
pub(in crate::cmd) fn resolved_here(spec: &LoadSpec, script: bool) -> Result<Options, String> {
    let allowed = brunt_meter::environment::cpus_allowed();
    let beside = Beside { allowed: allowed.as_deref(), script, ..Beside::default() };
    resolve(spec, beside).map(|(options, _)| options).map_err(|error| error.to_string())
}

fn threads(spec: &LoadSpec, allowed: Option<&str>) -> Result<Vec<Option<usize>>, Error> {
    match (spec.threads, &spec.cores) {
        (Some(Count(0)), _) => usage("-t 0: at least 1 thread is needed"),
        (Some(count), _) if count.0 > MOST_THREADS => usage(format!("-t {count}: at most {MOST_THREADS} threads")),
        (Some(count), Some(cores)) if !count.0.is_multiple_of(cores.count() as u64) => usage(format!(
            "-t {count} and --cores {cores}, which names {}: each core gets as many threads; leave -t out for one",
            cores.count()
        )),
        (count, Some(cores)) => {
            let each = count.map_or(1, |count| count.0 as usize / cores.count());
            let allowed: Option<Cores> = allowed.and_then(|list| list.parse().ok());
            match allowed.filter(|allowed| cores.0.iter().any(|core| !allowed.0.contains(core))) {
                Some(allowed) => usage(format!("--cores {cores}: this process may run on {allowed} only")),
                None => Ok(cores.0.iter().copied().map(Some).collect::<Vec<_>>().repeat(each)),
            }
        }
        (Some(count), None) => Ok(vec![None; count.0 as usize]),
        (None, None) => Ok(vec![None]),
    }
}

/// The fewest and the most connections.
fn connections(spec: &LoadSpec, threads: u64) -> Result<(u64, u64), Error> {
    let of = |range: ConnectionRange, flag| (range.lowest().0, range.highest().0, flag);
    let staged = stages::connections(&spec.stages).map(|(range, _)| of(range, "--stages".to_owned()));
    let staged = staged.reduce(|(least, most, flag), (low, high, _)| (least.min(low), most.max(high), flag));
    let (least, most, flag) = match (spec.connections, spec.connections_per_core) {
        (Some(all), Some(each)) => {
            return usage(format!("-c {all} and --connections-per-core {each}: give one of them"));
        }
        (Some(all), None) => of(all, format!("-c {all}")),
        (None, Some(each)) => {
            let all = Count(each.0.saturating_mul(threads));
            of(Range { from: all, to: all }, format!("--connections-per-core {each}"))
        }
        (None, None) => staged.unwrap_or_else(|| (CONNECTIONS.max(threads), CONNECTIONS.max(threads), String::new())),
    };
    match most {
        _ if least == 0 => usage(format!("{flag}: at least 1 connection is needed")),
        n if n > MOST_CONNECTIONS => usage(format!("{flag}: at most {} connections", Count(MOST_CONNECTIONS))),
        n if n < threads => usage(format!(
            "{flag} is less than the {threads} threads: each thread needs a connection; raise -c or lower -t"
        )),
        n => Ok((least, n)),
    }
}

fn rate(spec: &LoadSpec, threads: f64) -> Result<Option<f64>, Error> {
    for (flag, rate, times) in [
        ("-R", spec.rate.map(RateRange::highest), 1.0),
        ("--stages", stages::highest(&spec.stages), 1.0),
        ("--rate-per-core", spec.rate_per_core, threads),
        ("--connect-rate", spec.connect_rate, 1.0),
    ] {
        if let Some(rate) = rate.filter(|rate| rate.0 * times > MOST_RATE.0) {
            return usage(format!("{flag} {rate}: at most {MOST_RATE} per second"));
        }
    }
    match (spec.rate, spec.rate_per_core) {
        (Some(all), Some(each)) => usage(format!("--rate {all} and --rate-per-core {each}: give one of them")),
        (None, None) if spec.arrival.is_some() && stages::highest(&spec.stages).is_none() => {
            usage("--arrival needs a rate: add -R or --rate-per-core, for a closed loop has no schedule")
        }
        (Some(all), None) => Ok(Some((all.from.0 + all.to.0) / 2.0)),
        (None, Some(Rate(each))) => Ok(Some(each * threads)),
        (None, None) => Ok(None),
    }
}

fn times(spec: &LoadSpec, requests: Option<Count>, replay: Option<&Replay>) -> Result<(Duration, Duration), Error> {
    let recorded = replay.map(|replay| replay::times(replay, spec, LONGEST)).transpose()?;
    let duration = match (stages::length(&spec.stages), spec.duration, requests) {
        _ if recorded.is_some() => recorded.unwrap_or_default().0,
        (Some(length), ..) => length,
        (None, Some(duration), _) => duration.0,
        (None, None, Some(_)) => LONGEST,
        (None, None, None) => DURATION,
    };
    let warmup = match spec.warmup {
        _ if recorded.is_some() => recorded.unwrap_or_default().1,
        Some(warmup) => warmup.0,
        None if spec.steady => STEADY_LIMIT,
        // A number of requests is what the target gets.
        None if requests.is_some() => Duration::ZERO,
        None => (duration / 5).min(Duration::from_secs(1)),
    };
    let (warmup_flag, least_warmup) =
        if spec.steady { ("--steady --warmup", drift::MIN_STEADY) } else { ("--warmup", Duration::ZERO) };
    let ms = Duration::from_millis;
    for (flag, time, least) in
        [("-d", duration, ms(10)), ("-T", spec.timeout(), ms(1)), (warmup_flag, warmup, least_warmup)]
    {
        let (time, least, most) = (Span(time), Span(least), Span(LONGEST));
        if time < least {
            return usage(format!("{flag} {time}: it must be at least {least}"));
        }
        if time > most {
            return usage(format!("{flag} {time}: it can be at most {most}"));
        }
    }
    Ok((duration, warmup))
}
