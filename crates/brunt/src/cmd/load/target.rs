//! The target of a load: from URLs, from a file of requests, or from a log.

use super::http::{self, Flags};
use super::{first_given, requests, tls, usage};
use brunt_inputs::address::{Protocol, Url};
use brunt_inputs::requests::{RequestFile, read};
use brunt_load::Target;
use brunt_load::http::Host;
use brunt_results::{Error, Size};
use brunt_spec::LoadSpec;

const MESSAGE: Size = Size(100);
const LARGEST_MESSAGE: Size = Size(1 << 30);
/// Settings of tcp:// and unix:// targets.
const OF_ECHO: [&str; 2] = ["size", "no_verify"];
/// Settings that say what a file of requests says.
pub(super) const OF_REQUESTS: [&str; 3] = ["method", "weight", "names"];

/// What the requests follow from beside the settings of their protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// The load is an open loop.
    pub is_open: bool,
    pub seed: u64,
    /// A script takes the place of the requests.
    pub script: bool,
}

/// Builds the target from the URLs and the settings of their protocol, or from requests of a file; and notes for the user.
pub(super) fn of(
    spec: &LoadSpec,
    urls: &[Url],
    recorded: Option<RequestFile>,
    context: &Context,
) -> Result<(Target, Vec<String>), Error> {
    let Context { is_open, seed, script } = *context;
    let path = requests::file(spec);
    if recorded.is_none() && path.is_none() {
        return of_urls(spec, urls, is_open, seed).map(|target| (target, Vec::new()));
    }
    let flag = if recorded.is_some() { "--replay" } else { "--requests" };
    if let Some(other) = urls.iter().find(|url| !matches!(url.protocol, Protocol::Http { .. })) {
        return usage(format!("{flag} means nothing with {}://: load an http:// URL", other.scheme()));
    }
    if let Some(other) = spec.first_set(&OF_ECHO).or_else(|| spec.first_set(&OF_REQUESTS)) {
        return usage(format!("{other} and {flag}: requests come from the file; leave {other} out"));
    }
    let file = match (recorded, path, urls) {
        (Some(file), ..) => file,
        (None, Some(path), [] | [_]) => {
            let given = [("--body", spec.body.is_some()), ("--script", script)];
            if let Some(other) = first_given(&given) {
                return usage(format!("{other} and --requests: requests come from the file; leave {other} out"));
            }
            read(path, urls.first())?
        }
        _ => return usage("--requests takes one URL at most, whose host takes the place of those of the file"),
    };
    let over = urls.first();
    Flags(spec).recorded_target(file, &http::Context { is_open, seed, over })
}

fn of_urls(spec: &LoadSpec, urls: &[Url], is_open: bool, seed: u64) -> Result<Target, Error> {
    match urls {
        [] => usage("there is no URL: name what to load, as http://127.0.0.1:8080/"),
        [Url { protocol: Protocol::Http { .. }, .. }, ..] => match spec.first_set(&OF_ECHO) {
            Some(flag) => usage(format!("{flag} means nothing with http://: leave it out")),
            None => Flags(spec).target(urls, is_open, seed),
        },
        [url, others @ ..] => {
            let scheme = url.scheme();
            if !others.is_empty() {
                return usage(format!("{scheme}:// takes one URL alone"));
            }
            if let Some(flag) = Flags(spec).given().or_else(|| tls::given(spec)) {
                return usage(format!("{flag} means nothing with {scheme}://: leave it out, or load an http:// URL"));
            }
            let size = match spec.size.unwrap_or(MESSAGE) {
                Size(0) => return usage("--size 0B: a message has at least 1B"),
                size if size > LARGEST_MESSAGE => {
                    return usage(format!("--size {size}: the largest message is {LARGEST_MESSAGE}"));
                }
                Size(size) => size as usize,
            };
            Ok(Target::Echo { address: url.address(spec.timeout())?, size, reuse: Flags(spec).reuse()? })
        }
    }
}

/// The hosts that a file of requests names.
pub(super) fn hosts(target: &Target) -> String {
    let Target::Http(http) = target else { return String::new() };
    let url = |host: &Host| format!("{}://{}/", if host.tls.is_some() { "https" } else { "http" }, host.address);
    http.hosts.iter().map(url).collect::<Vec<_>>().join(" ")
}
