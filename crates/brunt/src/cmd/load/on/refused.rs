//! Loads that agents cannot make, each with the reason and what to do instead.

use super::super::{Args, usage};
use brunt_inputs::{address, requests};
use brunt_results::{Error, secrets};
use brunt_spec::{CountOrFile, LoadSpec};

/// Refuses what cannot be split or sent.
pub(super) fn check(args: &Args) -> Result<(), Error> {
    let spec = &args.spec;
    let all = [
        ("--steady", spec.steady, "agents agree on all times before the load; use --warmup"),
        ("--calibrate", args.calibrate, "a calibration is that of one machine"),
    ];
    if let Some((flag, _, why)) = all.into_iter().find(|(_, given, _)| *given) {
        return usage(format!("{flag} and --on: {why}"));
    }
    secret(spec)?;
    recorded(spec)
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
