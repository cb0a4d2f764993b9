//! The targets of `brunt cost`: one description of a load, on each of several servers.

use super::beside::Beside;
use super::participants::{names, server};
use super::resolve::resolve;
use super::server::ServerFlags;
use super::service::MeteredServer;
use super::{first_given, usage};
use brunt_results::{Error, Rate, stages::Range};
use brunt_spec::LoadSpec;
use clap::Arg;
use std::sync::atomic::AtomicBool;

/// A server and the load for it.
pub(in crate::cmd) struct Costed {
    pub name: String,
    /// Arguments of `brunt load`, without a rate.
    pub words: Vec<String>,
    /// The same for a closed loop.
    pub closed_words: Vec<String>,
    pub server: MeteredServer,
}

/// Settings of a load that a measurement of cost makes itself, or that need a whole load.
const OWN: [&str; 10] =
    ["rate", "rate_per_core", "stages", "requests", "requests_or_file", "replay", "speed", "steady", "warmup", "names"];

/// Settings whose help is another one here.
const HELP: [(&str, &str); 3] = [
    ("duration", "Time for everything [default: 38s for each target at each rate]"),
    ("connections", "Connections over all threads [default: 10, or one per thread if there are more threads]"),
    ("seed", "Seed of the order of slices and of the arrivals [default: 1]"),
];

/// A flag of a load as help of a measurement of cost has it: with other words, or left out where it is refused.
pub(in crate::cmd) fn flag_of_cost(flag: Arg) -> Arg {
    let is = |name: &str| flag.get_id() == name;
    match HELP.into_iter().find(|(name, _)| is(name)) {
        Some((_, help)) => flag.help(help),
        None if OWN.into_iter().any(is) => flag.hide(true),
        None => flag,
    }
}

/// One for each URL.
///
/// # Errors
/// A setting means nothing here, or settings contradict each other.
pub(in crate::cmd) fn targets(spec: &LoadSpec, flags: &ServerFlags) -> Result<Vec<Costed>, Error> {
    flags.check()?;
    if let Some(flag) = spec.first_set(&OWN) {
        return usage(format!("{flag}: the rates are those of --rates, the time that of -d; leave {flag} out"));
    }
    if let Some(range) = spec.connections.filter(|range| !range.is_constant()) {
        return usage(format!("-c {range}: one number of connections, as their number changes the cost of a request"));
    }
    if let Some(flag) = first_given(&[("--no-meter", flags.no_meter)]) {
        return usage(format!("{flag}: a cost is CPU time; leave it out"));
    }
    if flags.there.has_probe() {
        return usage("--probe: a cost is no time of an answer; leave it out");
    }
    if let Some(path) = &flags.service.server_cgroup {
        return usage(format!("--server-cgroup {path}: name a process of it with --server-pid"));
    }
    if let (Some(pid), [_, _, ..]) = (flags.service.pid, spec.urls.as_slice()) {
        return usage(format!("--server-pid {pid}: with several URLs each server is found by its address"));
    }
    let allowed = brunt_meter::environment::cpus_allowed();
    let beside = Beside { allowed: allowed.as_deref(), ..Beside::default() };
    let names = names(&spec.urls);
    let costed = |(url, name): (&String, String)| {
        let open = LoadSpec { urls: vec![url.clone()], duration: None, ..spec.clone() };
        // Some settings are for loads with a rate only.
        let any = Range { from: Rate(1e3), to: Rate(1e3) };
        let (options, _) = resolve(&LoadSpec { rate: Some(any), ..open.clone() }, beside)?;
        flags.wait(&options, &AtomicBool::new(false), false)?;
        let server = server(&options.target, flags)?;
        let closed_words = LoadSpec { arrival: None, ..open.clone() }.words();
        Ok(Costed { name, words: open.words(), closed_words, server })
    };
    spec.urls.iter().zip(names).map(costed).collect()
}
