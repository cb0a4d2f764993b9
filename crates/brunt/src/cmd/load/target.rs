//! The target of a load: from URLs, from a file of requests, or from a log.

use super::http::Context;
use super::{Args, first_given, tls, usage};
use brunt_inputs::address::{Protocol, Url};
use brunt_inputs::requests::{self, RequestFile};
use brunt_load::Target;
use brunt_load::http::Host;
use brunt_results::{Error, Size};

const MESSAGE: Size = Size(100);
const LARGEST_MESSAGE: Size = Size(1 << 30);

/// Builds the target from the URLs and the flags of their protocol, or from requests of a file; and notes for the user.
pub(super) fn of(
    args: &Args,
    urls: &[Url],
    recorded: Option<RequestFile>,
    is_open: bool,
    seed: u64,
) -> Result<(Target, Vec<String>), Error> {
    let path = args.request_file();
    if recorded.is_none() && path.is_none() {
        return of_urls(args, urls, is_open, seed).map(|target| (target, Vec::new()));
    }
    let flag = if recorded.is_some() { "--replay" } else { "--requests" };
    if let Some(other) = urls.iter().find(|url| !matches!(url.protocol, Protocol::Http { .. })) {
        return usage(format!("{flag} means nothing with {}://: load an http:// URL", other.scheme()));
    }
    let of_echo = [("--size", args.spec.size.is_some()), ("--no-verify", args.spec.direct.no_verify)];
    if let Some(other) = first_given(&of_echo).or_else(|| args.http().described()) {
        return usage(format!("{other} and {flag}: requests come from the file; leave {other} out"));
    }
    let file = match (recorded, path, urls) {
        (Some(file), ..) => file,
        (None, Some(path), [] | [_]) => {
            let given = [("--body", args.http().has_body()), ("--script", args.script.is_given())];
            if let Some(other) = first_given(&given) {
                return usage(format!("{other} and --requests: requests come from the file; leave {other} out"));
            }
            requests::read(path, urls.first())?
        }
        _ => return usage("--requests takes one URL at most, whose host takes the place of those of the file"),
    };
    let over = urls.first();
    args.http().recorded_target(file, &Context { is_open, seed, over })
}

fn of_urls(args: &Args, urls: &[Url], is_open: bool, seed: u64) -> Result<Target, Error> {
    match urls {
        [] => usage("there is no URL: name what to load, as http://127.0.0.1:8080/"),
        [Url { protocol: Protocol::Http { .. }, .. }, ..] => {
            match first_given(&[("--size", args.spec.size.is_some()), ("--no-verify", args.spec.direct.no_verify)]) {
                Some(flag) => usage(format!("{flag} means nothing with http://: leave it out")),
                None => args.http().target(urls, is_open, seed),
            }
        }
        [url, others @ ..] => {
            let scheme = url.scheme();
            if !others.is_empty() {
                return usage(format!("{scheme}:// takes one URL alone"));
            }
            if let Some(flag) = args.http().given().or_else(|| tls::given(&args.spec)) {
                return usage(format!("{flag} means nothing with {scheme}://: leave it out, or load an http:// URL"));
            }
            let size = match args.spec.size.unwrap_or(MESSAGE) {
                Size(0) => return usage("--size 0B: a message has at least 1B"),
                size if size > LARGEST_MESSAGE => {
                    return usage(format!("--size {size}: the largest message is {LARGEST_MESSAGE}"));
                }
                Size(size) => size as usize,
            };
            Ok(Target::Echo { address: url.address(args.spec.timeout())?, size, reuse: args.http().reuse()? })
        }
    }
}

/// The hosts that a file of requests names.
pub(super) fn hosts(target: &Target) -> String {
    let Target::Http(http) = target else { return String::new() };
    let url = |host: &Host| format!("{}://{}/", if host.tls.is_some() { "https" } else { "http" }, host.address);
    http.hosts.iter().map(url).collect::<Vec<_>>().join(" ")
}
