//! Loads that agents cannot make, each with the reason and what to do instead.

use super::super::{Args, usage};
use brunt_inputs::address;
use brunt_results::{Error, secrets};
use brunt_spec::{CountOrFile, LoadSpec};

/// Refuses what cannot be split or sent.
pub(super) fn check(args: &Args) -> Result<(), Error> {
    let spec = &args.spec;
    let files = "files are not sent to agents";
    let all = [
        ("--steady", spec.steady, "agents agree on all times before the load; use --warmup"),
        ("--script", args.script.is_given(), "a script is not a part of what agents get"),
        ("--calibrate", args.calibrate, "a calibration is that of one machine"),
        ("--requests", matches!(spec.requests_or_file, Some(CountOrFile::File(_))), files),
        ("--replay", spec.replay.is_some(), files),
        ("--cacert", spec.cacert.is_some(), files),
        ("--cert", spec.cert.is_some(), files),
        ("--key", spec.key.is_some(), files),
        ("--basic-auth", spec.basic_auth.is_some(), files),
        ("--bearer", spec.bearer.is_some(), files),
        ("--proxy-auth", spec.proxy_auth.is_some(), files),
        ("--body @FILE", spec.body.as_ref().is_some_and(|body| body.starts_with('@')), files),
    ];
    if let Some((flag, _, why)) = all.into_iter().find(|(_, given, _)| *given) {
        return usage(format!("{flag} and --on: {why}"));
    }
    secret(spec)
}

/// A secret must not leave this machine.
fn secret(spec: &LoadSpec) -> Result<(), Error> {
    let name = |header: &&String| secrets::is_secret(header.split(':').next().unwrap_or_default());
    if let Some(header) = spec.header.iter().find(name) {
        let name = header.split(':').next().unwrap_or_default();
        return usage(format!("-H {name} and --on: a secret is not sent to agents; leave it out"));
    }
    let urls = spec.urls.iter().chain(&spec.proxy);
    let has_user = |url: &&String| address::parse(url).is_ok_and(|url| url.user.is_some());
    match urls.clone().find(has_user) {
        Some(url) => {
            usage(format!("{} and --on: a user of a URL is a secret and not sent to agents", address::shown(url)))
        }
        None => Ok(()),
    }
}
