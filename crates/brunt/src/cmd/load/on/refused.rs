//! Loads that agents cannot make, each with the reason and what to do instead.

use super::super::{Args, calibration, usage};
use brunt_inputs::{address, requests};
use brunt_load::Options;
use brunt_results::{Error, secrets};
use brunt_spec::{CountOrFile, LoadSpec};

/// Refuses what cannot be split or sent.
pub(super) fn check(args: &Args) -> Result<(), Error> {
    let spec = &args.spec;
    if spec.steady {
        return usage("--steady and --on: agents agree on all times before the load; use --warmup");
    }
    secret(spec)?;
    recorded(spec)
}

/// Refuses ceilings of agents for a load that they cannot make on a null server, or which reads files.
pub(super) fn check_ceilings(options: &Options, has_files: bool) -> Result<(), Error> {
    calibration::check(options)?;
    match has_files {
        true => usage("--calibrate and --on: agents have the files of a load for this alone: leave --calibrate out"),
        false => Ok(()),
    }
}

const REMEDY: &str = "name a file that each agent has with --bearer, --basic-auth or --proxy-auth";

/// A file of requests is sent as it is.
fn recorded(spec: &LoadSpec) -> Result<(), Error> {
    let Some(CountOrFile::File(path)) = &spec.requests_or_file else { return Ok(()) };
    // What cannot be read twice is refused where it is sent.
    if !path.is_file() {
        return Ok(());
    }
    let urls = spec.urls.iter().map(|url| address::parse(url)).collect::<Result<Vec<_>, _>>()?;
    let file = requests::read(path, urls.first())?;
    for request in &file.requests {
        let origin = file.origin(request.place);
        if let Some((name, _)) = request.fields.iter().find(|(name, _)| secrets::is_secret(name)) {
            return usage(format!(
                "{origin}{name} and --on: a secret is not sent to agents; leave it out, or {REMEDY}"
            ));
        }
        if address::parse(&request.url).is_ok_and(|url| url.user.is_some()) {
            return usage(format!("{origin}a user of a URL and --on: a secret is not sent to agents; {REMEDY}"));
        }
    }
    Ok(())
}

/// A secret must not leave this machine.
fn secret(spec: &LoadSpec) -> Result<(), Error> {
    let name = |header: &&String| secrets::is_secret(header.split(':').next().unwrap_or_default());
    if let Some(header) = spec.header.iter().find(name) {
        let name = header.split(':').next().unwrap_or_default();
        return usage(format!("-H {name} and --on: a secret is not sent to agents; {REMEDY}"));
    }
    let urls = spec.urls.iter().chain(&spec.proxy);
    let has_user = |url: &&String| address::parse(url).is_ok_and(|url| url.user.is_some());
    match urls.clone().find(has_user) {
        Some(url) => usage(format!(
            "{} and --on: a user of a URL is a secret and not sent to agents; {REMEDY}",
            address::shown(url)
        )),
        None => Ok(()),
    }
}
