//! Values of settings that describe the requests of a load and their times.

use super::{Amount, Settings};
use crate::plan::template;
use brunt_results::stages::TimedStage;
use brunt_results::{Count, Span, UnitError};
use std::time::Duration;

/// Connections that the addresses and ports of one machine allow.
pub(super) const MOST_CONNECTIONS: Count = Count(1_000_000_000);

/// Checks what may follow the port in an address. Its placeholders are checked where the plan's axes are known.
pub(super) fn path(text: &str) -> Result<String, String> {
    let is_path = |path: &str| path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    let paths: Vec<&str> = text.split(' ').filter(|path| !path.is_empty()).collect();
    if paths.is_empty() || text.len() > 2000 || !paths.iter().all(|path| is_path(path)) {
        return Err(format!(
            "'{text}' is not a path: '/' and at most 2000 visible ASCII characters, blanks as %20; blanks separate several"
        ));
    }
    template::names(text).map(|_| paths.join(" "))
}

/// A name that `brunt load --names` takes.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '<' | '>');
    match (1..=64).contains(&name.chars().count()) && name.chars().all(is_plain) {
        true => Ok(name.to_owned()),
        false => Err(format!("'{text}' is not a name of 1 to 64 characters without : < > and blanks")),
    }
}

pub(super) fn file(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains('\0') {
        true => Err(format!("'{text}' is not a file")),
        false => Ok(text.to_owned()),
    }
}

pub(super) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (0.001..=1e6).contains(factor));
    factor.ok_or_else(|| format!("'{text}' is not a factor from 0.001 to 1000000: 2 is twice as fast"))
}

/// Sets stages, and what they imply.
pub(super) fn stages(settings: &mut Settings, text: &str) -> Result<String, String> {
    let stages = text.split(',').map(|stage| stage.trim().parse().map_err(|why| format!("'{stage}': {why}")));
    let stages: Vec<TimedStage> = stages.collect::<Result<_, _>>()?;
    let length = stages.iter().map(TimedStage::length).sum::<Duration>();
    let connections: Vec<Count> =
        stages.iter().filter_map(|stage| stage.connections()).flat_map(|(range, _)| [range.from, range.to]).collect();
    let rates = stages.iter().filter_map(|stage| stage.rate());
    let requests: f64 = rates.map(|(range, length)| (range.from.0 + range.to.0) / 2.0 * length.as_secs_f64()).sum();
    if !connections.is_empty() && requests > 0.0 {
        return Err(format!("'{text}' has stages of a rate and of connections: keep those of one"));
    }
    if connections.iter().any(|count| *count < Count(1) || *count > MOST_CONNECTIONS) {
        return Err(format!("'{text}': connections are from 1 to {MOST_CONNECTIONS}"));
    }
    match connections.iter().max() {
        Some(most) => (settings.connections, settings.rate) = (Some(Amount::Total(most.0)), None),
        None => settings.rate = Some(Amount::Total(requests / length.as_secs_f64())),
    }
    settings.duration = span(&Span(length).to_string(), 1)?;
    settings.stages = stages.iter().map(TimedStage::to_string).collect();
    Ok(settings.stages.join(","))
}

/// Whether there are stages, all of which are of that kind.
pub(super) fn is_staged(settings: &Settings, kind: fn(&TimedStage) -> bool) -> bool {
    settings.stages.first().and_then(|stage| stage.parse().ok()).is_some_and(|stage| kind(&stage))
}

pub(super) fn span(text: &str, at_least_ms: u64) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: UnitError| e.to_string())?;
    let longest = Duration::from_secs(7 * 24 * 3600);
    if span.0 < Duration::from_millis(at_least_ms) || span.0 > longest {
        return Err(format!("'{text}' is not between {at_least_ms} ms and a week"));
    }
    Ok(span)
}
