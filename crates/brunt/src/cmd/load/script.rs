//! `brunt load --script`: requests made by a wrk Lua script.

use super::{http::Flags, usage};
use brunt_inputs::address::{self, Protocol};
use brunt_load::http::{Requests, Script};
use brunt_load::script::{Facts, Numbers, Wrk};
use brunt_load::{Options, Target};
use brunt_results::{Error, RunResult, series::Second};
use brunt_spec::LoadSpec;
use hdrhistogram::Histogram;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Scripting {
    /// Lua script with wrk's interface that makes the requests and may inspect replies (docs/guide/scripts.md)
    #[arg(short, long, value_name = "FILE", help_heading = "HTTP")]
    script: Option<PathBuf>,
    /// Arguments for the script's init(), after --
    #[arg(last = true, value_name = "ARGUMENT", help_heading = "HTTP")]
    script_arguments: Vec<String>,
}

/// Where the requests of a script are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makers {
    /// Threads of this process.
    Here,
    Agents,
}

impl Scripting {
    pub(super) fn is_given(&self) -> bool {
        self.script.is_some()
    }

    /// The file, and what is behind --.
    #[cfg(feature = "fleet")]
    pub(super) fn typed(&self) -> Option<(&Path, &[String])> {
        Some((self.script.as_deref()?, &self.script_arguments))
    }

    /// Replaces the requests of `spec` with the script's. What other flags describe are the initial contents of the table `wrk`.
    pub(super) fn install(&self, spec: &LoadSpec, options: &mut Options, makers: Makers) -> Result<Option<Wrk>, Error> {
        let Some(path) = &self.script else {
            return match self.script_arguments.first() {
                Some(first) => usage(format!("-- {first}: arguments after -- are for a script; add --script FILE")),
                None => Ok(None),
            };
        };
        let name = path.display();
        let facts = facts(spec, options, path, &self.script_arguments)?;
        let (address, threads) = (facts.addresses[0], options.threads.len());
        let wrk = match makers {
            Makers::Here => Wrk::open(path, facts, threads),
            Makers::Agents => Wrk::open_shared(path, facts, threads),
        };
        let wrk = wrk.map_err(|error| Error::Usage(error.to_string()))?;
        if let Some(other) = wrk.addresses().iter().find(|other| **other != address) {
            let message =
                format!("the script {name} sends a thread to {other}: all threads go to the address of the URL");
            return usage(format!("{message}, {address}"));
        }
        replace(options, &wrk.script());
        Ok(Some(wrk))
    }
}

/// Lets a script make the requests.
pub(super) fn replace(options: &mut Options, script: &Script) {
    if let Target::Http(http) = &mut options.target {
        http.hosts.iter_mut().for_each(|host| host.requests = Requests::Script(script.clone()));
    }
}

/// What a script sees of the command line.
pub(super) fn facts(spec: &LoadSpec, options: &Options, path: &Path, arguments: &[String]) -> Result<Facts, Error> {
    let name = path.display();
    let protocol = options.target.protocol();
    let no_http = format!("--script {name} means nothing with {protocol}://: load an http:// URL");
    let Target::Http(http) = &options.target else { return usage(no_http) };
    if let Some(flag) = Flags(spec).shaping() {
        return usage(format!("{flag} and --script {name}: the script makes the requests; leave {flag} out"));
    }
    let [url] = &spec.urls[..] else {
        return usage(format!("--script {name} takes one URL: let the script choose among paths"));
    };
    let parsed = address::parse(url)?;
    let [host] = &http.hosts[..] else { return usage(format!("--script {name} takes one host")) };
    let Some(address) = host.address.tcp() else {
        return usage(format!("--script {name} and --connect-to unix:...: a script knows only IP addresses"));
    };
    let (method, headers, body) = Flags(spec).typed(&parsed)?;
    let Protocol::Http { authority, target, tls } = parsed.protocol else { return usage(no_http) };
    Ok(Facts {
        url: address::shown(url),
        scheme: if tls { "https" } else { "http" }.to_owned(),
        host: parsed.host,
        port: authority.ends_with(&format!(":{}", parsed.port)).then_some(parsed.port),
        path: target,
        method,
        headers,
        body,
        addresses: vec![address],
        arguments: arguments.to_vec(),
    })
}

pub(super) fn done(
    wrk: &Wrk,
    result: &RunResult,
    response: &Histogram<u64>,
    seconds: &[Second],
    threads: u64,
) -> Result<(), String> {
    let measured = seconds.iter().filter(|second| !second.warmup);
    let rates = Numbers::of_rates(measured.map(|second| second.completed / threads.max(1)));
    wrk.done(result, &Numbers::of_times(response), &rates).map_err(|error| error.to_string())
}
