//! `--replay`: the requests of an access log at its own times, or faster or slower.

use super::beside::Beside;
use super::{first_given, http::Flags, requests, target, usage};
use brunt_inputs::replay::{self, Replay};
use brunt_results::{Error, Span};
use brunt_spec::LoadSpec;
use std::time::Duration;

/// The replay that the description asks for.
pub(super) fn of(spec: &LoadSpec, beside: Beside<'_>) -> Result<Option<Replay>, Error> {
    let Some(path) = &spec.replay else { return Ok(None) };
    let conflicts = [
        ("-R", spec.rate.is_some()),
        ("--rate-per-core", spec.rate_per_core.is_some()),
        ("--stages", !spec.stages.is_empty()),
        ("-c A:B", spec.connections.is_some_and(|range| !range.is_constant())),
        ("--arrival", spec.arrival.is_some()),
        ("-n", requests::count(spec)?.is_some()),
        ("--requests", requests::file(spec).is_some()),
        ("--steady", spec.steady),
        ("--compare", beside.compare),
        ("--script", beside.script),
        ("--vary", spec.vary.is_some()),
    ];
    let given = first_given(&conflicts).map(str::to_owned);
    if let Some(flag) = given.or_else(|| spec.first_set(&target::OF_REQUESTS)) {
        return usage(format!(
            "{flag} and --replay {}: the log says what is sent and when; leave {flag} out",
            path.display()
        ));
    }
    let [_] = &spec.urls[..] else {
        return usage(format!(
            "--replay {} needs one URL: a log names paths, and http://HOST:PORT/ where they are",
            path.display()
        ));
    };
    let mut replay = replay::read(path, spec.speed.map_or(1.0, |speed| speed.0))?;
    replay.add_bodies(Flags(spec).typed_body()?);
    Ok(Some(replay))
}

/// Lengths of window and warm-up: the whole replay, unless the flags cut it.
pub(super) fn times(replay: &Replay, spec: &LoadSpec, longest: Duration) -> Result<(Duration, Duration), Error> {
    let (length, speed) = (Span(replay.length), replay.speed);
    let warmup = spec.warmup.map_or(Duration::ZERO, |warmup| warmup.0);
    let whole = replay.length.saturating_sub(warmup);
    if whole.is_zero() {
        return usage(format!("--warmup {}: the replay takes {length}, and no window is left; lower it", Span(warmup)));
    }
    let duration = spec.duration.map_or(whole, |duration| duration.0);
    if duration > whole {
        let left = Span(whole);
        return usage(format!("-d {}: the replay has a window of {left}; leave -d out", Span(duration)));
    }
    if spec.duration.is_none() && whole > longest {
        let longest = Span(longest);
        return usage(format!(
            "--replay at --speed {speed} takes {length} and may take {longest}: raise --speed, or cut it with -d"
        ));
    }
    if spec.duration.is_none() && whole < Duration::from_millis(10) {
        return usage(format!("--replay at --speed {speed} takes {length} and must take 10ms: lower --speed"));
    }
    Ok((duration, warmup))
}
