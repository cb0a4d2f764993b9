//! `--calibrate`: measures the generator's own maximum rate and stores it for later runs.

use brunt_load::{Options, Target};
use brunt_results::calibration::{CalibrationKey, Calibrations, HttpKey};
use brunt_results::env::Env;
use brunt_results::{Error, RunResult, state_dir};
use std::io;

/// Key of the figure in `result.json`.
const FIGURE: &str = "generator.ceiling_rate";

/// Reasons why some loads cannot be calibrated.
const NO_TLS: &str = "the null target has no TLS";
const SCRIPTED: &str = "a script's requests cannot be repeated on the null target";

#[derive(Debug)]
pub(super) struct Calibration {
    calibrations: Result<Calibrations, String>,
    calibrate: bool,
}

impl Calibration {
    /// Prepares the calibration. Fails before the load if the result could not be stored after it.
    pub(super) fn new(options: &Options, calibrate: bool) -> Result<Self, Error> {
        let calibrations = state_dir::path().map(Calibrations);
        if calibrate {
            check(options)?;
            calibrations.as_ref().map_err(|error| Error::Failed(error.to_string()))?.check_writable()?;
        }
        Ok(Self { calibrations: calibrations.map_err(|error| error.to_string()), calibrate })
    }

    /// That of this machine for a load which others make: there is none.
    pub(super) fn none(why: &str) -> Self {
        Self { calibrations: Err(why.to_owned()), calibrate: false }
    }

    /// Adds the generator's maximum rate to the result, or the reason for its absence to `env`. Returns a calibration
    /// error, which does not affect the result.
    pub(super) fn fill_in(self, options: &Options, result: &mut RunResult, env: &mut Env) -> Option<io::Error> {
        let mut error = None;
        let ceiling = self.calibrations.and_then(|calibrations| {
            let key = calibration_key(options, result, env)?;
            if self.calibrate && !result.interrupted {
                let body = key.http.as_ref().map_or(0, |http| http.body_bytes);
                let measured = brunt_load::calibrate::ceiling(options, &key.target_cores, body);
                let measured = measured.map_err(io::Error::other);
                let stored = measured.and_then(|rate| calibrations.store(key.clone(), rate, env.started_unix_s));
                error = stored.err().map(|error| io::Error::new(error.kind(), format!("--calibrate: {error}")));
            }
            calibrations.get(&key).map_err(|error| error.to_string())
        });
        let rate = ceiling.and_then(|rate| {
            rate.ok_or_else(|| "not measured for this load on this machine; run with --calibrate".to_owned())
        });
        result.generator.ceiling_rate = rate.map_err(|why| env.absent.insert(FIGURE.to_owned(), why)).ok();
        error
    }
}

/// Whether the load can be made on a null server.
///
/// # Errors
/// It cannot.
pub(super) fn check(options: &Options) -> Result<(), Error> {
    if matches!(&options.target, Target::Http(http) if http.longest().is_none()) {
        return Err(Error::Usage(format!("--calibrate and --script: {SCRIPTED}: leave --calibrate out")));
    }
    if uses_tls(options) {
        return Err(Error::Usage(format!("--calibrate and https://: {NO_TLS}: leave --calibrate out")));
    }
    Ok(())
}

/// Calibration key of this run, or the reason why there is none.
fn calibration_key(options: &Options, result: &RunResult, env: &Env) -> Result<CalibrationKey, String> {
    let key = CalibrationKey::of(result, env, options.target.protocol(), !options.direct.no_verify);
    let Target::Http(http) = &options.target else { return Ok(key) };
    if uses_tls(options) {
        return Err(NO_TLS.to_owned());
    }
    let (_, rendered) = http.longest().ok_or(SCRIPTED)?;
    let body = result.responses.as_ref().and_then(HttpKey::mean_body_bytes);
    let http_key = HttpKey {
        body_bytes: body.ok_or("there was no reply to use as a model")?,
        pipeline: rendered.batch.requests(),
        reuse: http.reuse,
    };
    let request_bytes = Some(rendered.longest_bytes(false) as u64);
    Ok(CalibrationKey { request_bytes, verified: http.expect.body.is_some(), http: Some(http_key), ..key })
}

fn uses_tls(options: &Options) -> bool {
    matches!(&options.target, Target::Http(http) if http.hosts.iter().any(|host| host.tls.is_some()))
}
