//! The files of a sliced load: its slices as they are made, and the result of each trial.

use crate::clock;
use crate::run::trial::{TrialGroup, TrialSpec};
use crate::testers::external;
use brunt_results::directory::Directory;
use brunt_results::env::Env;
use brunt_results::hlog::{Hlog, decode};
use brunt_results::latency::{add_censored, new_histogram};
use brunt_results::result::{CLOSED_LOOP_SENDS, Load, Responses, Server};
use brunt_results::{RunResult, figure, judge::judge};
use brunt_slices::{Slice, absolute, record};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `slices.jsonl`, written round by round.
pub(super) struct SliceFile {
    path: PathBuf,
    file: File,
    slices: Vec<Slice>,
    /// Number of slices of earlier starts.
    earlier: usize,
}

impl SliceFile {
    /// Opens the file of a load for the slices of `start`. What an interrupted attempt at that start left is removed.
    pub(super) fn open(path: &Path, start: u32) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut slices = if path.exists() { record::read(path).map_err(io::Error::other)? } else { Vec::new() };
        slices.retain(|slice| slice.start != start);
        let mut lines = Vec::new();
        slices.iter().for_each(|slice| lines.extend(slice.line()));
        Directory::open(folder).write(record::FILE, &lines)?;
        let file = File::options().append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, earlier: slices.len(), slices })
    }

    /// Adds the slices of a round, in one write.
    pub(super) fn add(&mut self, slices: Vec<Slice>) -> io::Result<()> {
        let lines: Vec<u8> = slices.iter().flat_map(Slice::line).collect();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        self.file.write_all(&lines).map_err(named)?;
        self.slices.extend(slices);
        Ok(())
    }

    /// Those of all starts so far.
    pub(super) fn all(&self) -> &[Slice] {
        &self.slices
    }

    /// Those of this start.
    pub(super) fn own(&self) -> &[Slice] {
        &self.slices[self.earlier..]
    }
}

/// Figures of a server and the reasons for absent ones, or why there are none.
type Metered = Option<Result<(Server, BTreeMap<String, String>), String>>;

/// Writes `env.json` and `result.json` of a trial from the slices of its start. `load` is what
/// the generator was asked for; the inner error says why there is no result.
pub(super) fn result(
    trial: &TrialSpec,
    group: &TrialGroup,
    slices: &[Slice],
    load: Load,
    metered: Metered,
    env: &mut Env,
) -> io::Result<Result<RunResult, String>> {
    let chosen = absolute::best(slices, &group.target.name);
    if chosen.is_empty() {
        return Ok(Err("there was no slice on the target".to_owned()));
    }
    let server = match metered {
        Some(Ok((server, absent))) => {
            env.absent.extend(absent);
            server
        }
        other => {
            let why = other.and_then(Result::err).unwrap_or_else(|| "the target was not metered".to_owned());
            env.absent.extend(brunt_meter::server::all_absent(&why));
            Server::default()
        }
    };
    let cell = trial.cell;
    let load = Load { warmup_s: cell.settings.warmup.0.as_secs_f64(), seed: group.seed, ..load };
    let mut result = match absolute::result(&chosen, load, server, &cell.placement.client.0) {
        Ok(result) => result,
        Err(why) => return Ok(Err(why)),
    };
    result.requests.offered_rate = cell.rate();
    result.connections.peak = cell.connections();
    let opened: u64 = chosen.iter().filter_map(|slice| slice.opened).sum();
    env.absent.extend(absent(&result));
    match cell.settings.tester.as_deref().and_then(external) {
        Some(external) => {
            result.tester = external.capabilities.name.to_owned();
            result.connections.opened = opened;
            env.absent.extend(external.absent(cell.rate().is_some(), result.bytes.received > 0));
        }
        // Those of the slices, beside the ones that stay open.
        None => result.connections.opened = opened + cell.connections(),
    }
    result.verdict = judge(&result, None);
    let directory = Directory::open(&trial.dir);
    if chosen.iter().all(|slice| slice.has_distribution()) {
        match hlog(&chosen, result.load.mode == "closed") {
            Ok(log) => {
                if let Err(why) = result.latency.add(&cell.settings.percentiles, &log) {
                    return Ok(Err(why));
                }
                directory.write_hlog(&log)?;
            }
            Err(why) => return Ok(Err(why)),
        }
    }
    directory.write_env(env)?;
    directory.write_result(&result)?;
    Ok(Ok(result))
}

/// The distributions of these slices, one interval for each, in the order they were made.
pub(in crate::run) fn hlog(slices: &[&Slice], closed: bool) -> Result<Vec<u8>, String> {
    let mut slices = slices.to_vec();
    slices.sort_by_key(|slice| slice.at_us);
    let begun = clock::system_now();
    let mut log = Hlog::new(begun);
    let (mut end, mut longest, mut censored) = (Duration::ZERO, 0, new_histogram());
    for slice in slices {
        let (at, length) = (Duration::from_micros(slice.at_us), Duration::from_micros(slice.window_us));
        let response = slice.response()?;
        let service = slice.service.as_deref().map(decode).transpose()?;
        log.add("response", &response, at, length);
        if let Some(waits) = slice.censored()? {
            log.add("censored", &waits, at, length);
            censored.add(&waits).map_err(|e| format!("slices do not add up: {e:?}"))?;
        }
        (end, longest) = (at + length, longest.max(response.max()));
        match (&service, closed) {
            (Some(service), _) => log.add("service", service, at, length),
            // In a closed loop both are the same.
            (None, true) => log.add("service", &response, at, length),
            (None, false) => {}
        }
        if let Some(lag) = slice.lag.as_deref().map(decode).transpose()? {
            log.add("lag", &lag, at, length);
        }
    }
    // How long these are at least is known when the longest answered is.
    let mut last = new_histogram();
    add_censored(&mut last, &censored, longest);
    log.add("response", &last, end, Duration::ZERO);
    Ok(log.bytes)
}

/// The reasons for figures that slices do not have.
pub(in crate::run) fn absent(result: &RunResult) -> BTreeMap<String, String> {
    let why = "not measured by slices";
    let mut absent = brunt_meter::host::all_absent("of all targets together in a sliced experiment");
    let generator = brunt_meter::generator::all_absent(why);
    absent.extend(generator.into_iter().filter(|(figure, _)| figure != "generator.run_queue_wait_percent"));
    let lacks = |what: fn(&Responses) -> bool| result.responses.as_ref().is_some_and(what);
    for (figure, is_absent) in [
        ("generator.spin_percent", result.generator.spin_percent.is_none()),
        ("generator.ceiling_rate", result.generator.ceiling_rate.is_none()),
        ("requests.due", result.requests.due.is_none() && result.load.mode == "open"),
        ("requests.waited", result.requests.waited.is_none() && result.load.mode == "open"),
        ("sends", result.sends.is_none() && result.load.mode == "open"),
        ("latency.first_byte", result.latency.first_byte.is_none()),
        ("connections.connect_rate_per_s", result.connections.connect_rate_per_s.is_none()),
        ("connections.served_percent", result.connections.served_percent.is_none()),
        ("connections.jain_index", result.connections.jain_index.is_none()),
        ("responses.body_bytes", lacks(|responses| responses.body_bytes.is_none())),
        ("responses.lenient", lacks(|responses| responses.lenient.is_none())),
        ("responses.lenient_rules", lacks(|responses| responses.lenient_rules.is_none())),
        ("responses.refused_rules", lacks(|responses| responses.refused_rules.is_none())),
        ("steal_percent", true),
    ] {
        if is_absent {
            absent.insert(figure.to_owned(), why.to_owned());
        }
    }
    if result.load.mode != "open" {
        absent.insert("sends".to_owned(), CLOSED_LOOP_SENDS.to_owned());
    }
    absent.extend(figure::absent(result));
    absent
}
