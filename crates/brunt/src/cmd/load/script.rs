//! `brunt load --script`: requests made by a wrk Lua script.

use super::{Args, http::Flags, usage};
use brunt_inputs::address::{self, Protocol};
use brunt_load::http::Requests;
use brunt_load::script::{Facts, Numbers, Wrk};
use brunt_load::{Options, Target};
use brunt_results::{Error, RunResult, series::Second};
use hdrhistogram::Histogram;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Scripting {
    /// Lua script with wrk's interface that makes the requests and may inspect replies (docs/guide/scripts.md)
    #[arg(short, long, value_name = "FILE", help_heading = "HTTP")]
    script: Option<PathBuf>,
    /// Arguments for the script's init(), after --
    #[arg(last = true, value_name = "ARGUMENT", help_heading = "HTTP")]
    script_arguments: Vec<String>,
}

impl Scripting {
    pub(super) fn is_given(&self) -> bool {
        self.script.is_some()
    }

    /// Replaces the requests described by other flags with the script's. Their values are the initial contents of the
    /// table `wrk`.
    pub(super) fn install(&self, args: &Args, options: &mut Options) -> Result<Option<Wrk>, Error> {
        let Some(path) = &self.script else {
            return match self.script_arguments.first() {
                Some(first) => usage(format!("-- {first}: arguments after -- are for a script; add --script FILE")),
                None => Ok(None),
            };
        };
        let name = path.display();
        let protocol = options.target.protocol();
        let no_http = format!("--script {name} means nothing with {protocol}://: load an http:// URL");
        let Target::Http(http) = &mut options.target else { return usage(no_http) };
        if let Some(flag) = Flags(&args.spec).shaping() {
            return usage(format!("{flag} and --script {name}: the script makes the requests; leave {flag} out"));
        }
        let [url] = &args.spec.urls[..] else {
            return usage(format!("--script {name} takes one URL: let the script choose among paths"));
        };
        let parsed = address::parse(url)?;
        let [host] = &mut http.hosts[..] else { return usage(format!("--script {name} takes one host")) };
        let Some(address) = host.address.tcp() else {
            return usage(format!("--script {name} and --connect-to unix:...: a script knows only IP addresses"));
        };
        let (method, headers, body) = Flags(&args.spec).typed(&parsed)?;
        let Protocol::Http { authority, target, tls } = parsed.protocol else { return usage(no_http) };
        let facts = Facts {
            url: address::shown(url),
            scheme: if tls { "https" } else { "http" }.to_owned(),
            host: parsed.host,
            port: authority.ends_with(&format!(":{}", parsed.port)).then_some(parsed.port),
            path: target,
            method,
            headers,
            body,
            addresses: vec![address],
            arguments: self.script_arguments.clone(),
        };
        let wrk = Wrk::open(path, facts, options.threads.len()).map_err(|error| Error::Usage(error.to_string()))?;
        if let Some(other) = wrk.addresses().iter().find(|other| **other != address) {
            let message =
                format!("the script {name} sends a thread to {other}: all threads go to the address of the URL");
            return usage(format!("{message}, {address}"));
        }
        host.requests = Requests::Script(wrk.script());
        Ok(Some(wrk))
    }
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
