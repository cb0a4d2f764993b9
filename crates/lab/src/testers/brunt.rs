//! The load of a cell as `brunt load` takes it.

use crate::schedule::Cell;
use brunt_results::stages::{Quantity, Range};
use brunt_results::{Count, Rate};
use brunt_spec::{Arrival, Backend, CountOrFile, Direct, Factor, LoadSpec, Written};
use std::ffi::OsStr;
use std::net::SocketAddr;

fn constant<T: Quantity>(value: T) -> Range<T> {
    Range { from: value, to: value }
}

/// A word that the plan holds in normal form.
fn word<T: Written>(text: &Option<String>) -> Result<Option<T>, String> {
    text.as_ref().map(|text| T::read(OsStr::new(text))).transpose()
}

/// The load on a target at this address.
pub(super) fn spec(cell: &Cell, target: SocketAddr, seed: u64) -> Result<LoadSpec, String> {
    let settings = &cell.settings;
    let is_http = settings.path.is_some();
    let stages = settings.stages.iter().map(|stage| stage.parse()).collect::<Result<Vec<_>, _>>()?;
    let is_constant = stages.is_empty();
    let rate = cell.rate().map(|rate| constant(Rate(rate)));
    Ok(LoadSpec {
        urls: cell.urls(target)?,
        connections: (is_constant || rate.is_some()).then(|| constant(Count(cell.connections()))),
        cores: Some(cell.placement.client.clone()),
        threads: settings.client_threads.map(Count),
        backend: word::<Backend>(&settings.client_backend)?,
        duration: is_constant.then_some(settings.duration),
        stages,
        names: settings.names.clone(),
        requests_or_file: settings.request_file.as_ref().map(|file| CountOrFile::File(file.into())),
        replay: settings.replay.as_ref().map(Into::into),
        speed: settings.speed.map(Factor),
        requests: settings.requests.map(Count),
        warmup: Some(settings.warmup),
        size: (!is_http).then_some(settings.size),
        rate: rate.filter(|_| is_constant),
        arrival: word::<Arrival>(&settings.arrival)?.filter(|_| rate.is_some()),
        timeout: settings.timeout,
        percentiles: settings.percentiles.clone(),
        vary: settings.vary.map(Count),
        seed: Some(seed),
        steady: settings.steady == Some(true),
        no_keepalive: is_http && !settings.keeps_alive(),
        insecure: settings.uses_tls(),
        direct: match rate {
            Some(_) => settings.load.direct.clone(),
            None => Direct { spread: None, send_tick: None, ..settings.load.direct.clone() },
        },
        ..settings.load.clone()
    })
}
