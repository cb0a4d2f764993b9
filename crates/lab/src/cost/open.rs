//! Opens the connections of all targets, and finds the rates if they are to be shares of a peak.

use super::{Rates, State, Target};
use crate::format::{significant, throughput};
use crate::slices::participant::Participant;
use crate::slices::{ConnectionSet, Generator, SliceSpec};
use brunt_results::{Error, Rate};
use brunt_slices::cost::length::warm_up_rate;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rates as shares of a peak.
const SHARES: [f64; 5] = [0.05, 0.10, 0.25, 0.50, 0.75];
/// The closed loop that finds it.
const CLOSED: SliceSpec = SliceSpec { lead: Duration::from_millis(500), window: Duration::from_millis(1500), seed: 1 };

/// Targets with their connections.
pub(super) struct Open<'a> {
    pub participants: Vec<Participant<'a>>,
    /// In ascending order.
    pub rates: Vec<f64>,
    /// Targets that do not answer, and why.
    pub absent: Vec<(String, String)>,
    /// What the rates are shares of.
    pub peaks: Vec<String>,
}

/// `None` if stopped meanwhile.
///
/// # Errors
/// No target can be loaded.
pub(super) fn open<'a>(
    targets: Vec<Target<'a>>,
    rates: &Rates,
    generator: &dyn Generator,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&State),
) -> Result<Option<Open<'a>>, Error> {
    let (mut absent, mut peaks) = (Vec::new(), Vec::new());
    let rates = match rates {
        Rates::List(rates) => rates.clone(),
        Rates::Auto => {
            observe(&State::Peaks);
            let mut lowest: Option<f64> = None;
            for target in &targets {
                match peak(target, generator) {
                    _ if stop.load(Ordering::Relaxed) => return Ok(None),
                    Ok(peak) => {
                        lowest = Some(lowest.map_or(peak, |lowest| lowest.min(peak)));
                        peaks.push(format!("{} answers {} in a closed loop", target.name, throughput(Some(peak))));
                    }
                    Err(why) => absent.push((target.name.clone(), why)),
                }
            }
            let Some(lowest) = lowest else { return Err(none(&absent)) };
            SHARES.iter().map(|share| significant(share * lowest, 2)).collect()
        }
    };
    let middle = warm_up_rate(&rates).ok_or_else(|| Error::Usage("--rates: there is no rate".to_owned()))?;
    let mut participants = Vec::new();
    for target in targets.into_iter() {
        if absent.iter().any(|(name, _)| *name == target.name) {
            continue;
        }
        let rate = ["-R".to_owned(), Rate(middle).to_string()];
        let words: Vec<String> = target.words.into_iter().chain(rate).collect();
        match generator.open(&words) {
            _ if stop.load(Ordering::Relaxed) => return Ok(None),
            Ok(connections) => participants.push(Participant {
                name: target.name,
                loader: Box::new(connections),
                process: target.process,
                server: target.server,
                freezable: None,
            }),
            Err(why) => absent.push((target.name, why)),
        }
    }
    if participants.is_empty() {
        return Err(none(&absent));
    }
    Ok(Some(Open { participants, rates, absent, peaks }))
}

fn none(absent: &[(String, String)]) -> Error {
    let each: Vec<String> = absent.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    Error::Failed(each.join("; "))
}

/// Replies a second of a closed loop.
fn peak(target: &Target, generator: &dyn Generator) -> Result<f64, String> {
    let mut connections: Box<dyn ConnectionSet> = generator.open(&target.closed_words)?;
    let measured = connections.slice(&CLOSED)?;
    let peak = measured.completed as f64 / measured.window.as_secs_f64();
    if peak > 0.0 { Ok(peak) } else { Err("it answers nothing".to_owned()) }
}
