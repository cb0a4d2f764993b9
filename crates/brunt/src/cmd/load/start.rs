//! What a load is asked to do, for `load.json` and for the page so far.

use super::meter::Meter;
use brunt_load::Options;
use brunt_results::{env::Env, start::LoadStart};

pub(super) fn start(options: &Options, env: &Env, server: Option<&Meter>, no_server: Option<&str>) -> LoadStart {
    LoadStart {
        pid: std::process::id(),
        started_unix_s: env.started_unix_s,
        url: options.url.clone(),
        connections: options.connections as u64,
        threads: options.threads.len() as u64,
        rate: options.rate,
        rate_changes: options.is_changing(),
        warmup_s: options.warmup.as_secs_f64(),
        steady: options.steady,
        duration_s: options.duration.as_secs_f64(),
        requests: options.requests,
        server_pid: server.map(Meter::pid),
        no_server: no_server.map(str::to_owned),
    }
}
