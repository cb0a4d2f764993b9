//! `--replay`: the requests of an access log at its own times, or faster or slower.

use super::{Args, LOAD, first_given, usage};
use brunt_inputs::replay::{self, Replay};
use brunt_results::{Error, Span};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Replaying {
    /// Open loop: the requests of this access log (common or combined format, or JSON lines) at the times of the log,
    /// instead of -R and -d
    #[arg(long, value_name = "FILE", help_heading = LOAD)]
    replay: Option<PathBuf>,
    /// With --replay: times as fast as the log, for example 2 or 0.5 [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor, requires = "replay", help_heading = LOAD)]
    speed: Option<f64>,
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let valid = number.filter(|factor| (0.001..=1e6).contains(factor));
    valid.ok_or_else(|| format!("'{text}' is no factor from 0.001 to 1000000: 2 is twice as fast, 0.5 half"))
}

/// The replay that the flags ask for.
pub(super) fn of(args: &Args) -> Result<Option<Replay>, Error> {
    let Some(path) = &args.replaying.replay else { return Ok(None) };
    let conflicts = [
        ("-R", args.rate.is_some()),
        ("--rate-per-core", args.rate_per_core.is_some()),
        ("--stages", !args.stages.is_empty()),
        ("-c A:B", args.connections.is_some_and(|range| !range.is_constant())),
        ("--arrival", args.arrival.is_some()),
        ("-n", args.count()?.is_some()),
        ("--requests", args.request_file().is_some()),
        ("--steady", args.steady),
        ("--compare", args.comparison.compare),
        ("--script", args.script.is_given()),
        ("--vary", args.http.has_variants()),
    ];
    if let Some(flag) = first_given(&conflicts).or_else(|| args.http.described()) {
        return usage(format!(
            "{flag} and --replay {}: the log says what is sent and when; leave {flag} out",
            path.display()
        ));
    }
    let [_] = &args.urls[..] else {
        return usage(format!(
            "--replay {} needs one URL: a log names paths, and http://HOST:PORT/ where they are",
            path.display()
        ));
    };
    let mut replay = replay::read(path, args.replaying.speed.unwrap_or(1.0))?;
    replay.add_bodies(args.http.typed_body()?);
    Ok(Some(replay))
}

/// Lengths of window and warm-up: the whole replay, unless the flags cut it.
pub(super) fn times(replay: &Replay, args: &Args, longest: Duration) -> Result<(Duration, Duration), Error> {
    let (length, speed) = (Span(replay.length), replay.speed);
    let warmup = args.warmup.map_or(Duration::ZERO, |warmup| warmup.0);
    let whole = replay.length.saturating_sub(warmup);
    if whole.is_zero() {
        return usage(format!("--warmup {}: the replay takes {length}, and no window is left; lower it", Span(warmup)));
    }
    let duration = args.duration.map_or(whole, |duration| duration.0);
    if duration > whole {
        let left = Span(whole);
        return usage(format!("-d {}: the replay has a window of {left}; leave -d out", Span(duration)));
    }
    if args.duration.is_none() && whole > longest {
        let longest = Span(longest);
        return usage(format!(
            "--replay at --speed {speed} takes {length} and may take {longest}: raise --speed, or cut it with -d"
        ));
    }
    if args.duration.is_none() && whole < Duration::from_millis(10) {
        return usage(format!("--replay at --speed {speed} takes {length} and must take 10ms: lower --speed"));
    }
    Ok((duration, warmup))
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn a_speed_is_a_factor() {
        for text in ["0", "-1", "x", "nan", "1e9"] {
            assert!(factor(text).is_err(), "{text}");
        }
        assert_eq!((factor("2"), factor("0.5x")), (Ok(2.0), Ok(0.5)));
    }
}
