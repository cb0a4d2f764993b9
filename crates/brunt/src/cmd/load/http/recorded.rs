//! Requests of a file as a target: each has a method, a URL, headers and a body of its own.

use super::{Flags, HostName, Prepared, body};
use crate::cmd::load::{names, usage};
use brunt_inputs::address::{self, Protocol, Url};
use brunt_inputs::requests::{Recorded, RequestFile};
use brunt_load::Target;
use brunt_load::http::{Rendered, RequestTarget, Requests, Sequence, Template};
use brunt_results::Error;
use brunt_view::format::{bytes, plural};
use std::sync::Arc;

/// What the flags say about all requests of a file.
pub(in crate::cmd::load) struct Context<'a> {
    pub is_open: bool,
    pub seed: u64,
    /// Scheme, host and port of all requests, instead of those of the file.
    pub over: Option<&'a Url>,
}

/// Requests of one host.
struct HostSequence {
    host: HostName,
    requests: Vec<(Template, RequestTarget)>,
    /// Their places in the file.
    places: Vec<usize>,
    order: Vec<usize>,
}

impl Flags<'_> {
    /// The body of --body, for requests that have none and may have one.
    pub(in crate::cmd::load) fn typed_body(&self) -> Result<Option<Vec<u8>>, Error> {
        self.body.as_deref().map(body).transpose()
    }

    /// Builds the generator's target, and notes for the user. Name lookups come after all other checks.
    pub(in crate::cmd::load) fn recorded_target(
        &self,
        file: RequestFile,
        context: &Context<'_>,
    ) -> Result<(Target, Vec<String>), Error> {
        if let Some(head) = file.requests.iter().find(|request| request.method == "HEAD" && self.expects_body()) {
            let origin = file.origin(head.place);
            return usage(format!("{origin}HEAD: its replies have no body; remove --expect-length and --expect-body"));
        }
        let (pipeline, vary, reuse) = (self.pipeline(context.is_open), self.vary(context.seed), self.reuse()?);
        let (hosts, names) = self.sequences(&file, context)?;
        let count = file.order.as_ref().map_or(file.requests.len(), Vec::len);
        let mut prepared = Vec::new();
        // A replay has the time of each request too.
        let mut memory = if file.replay { count * size_of::<u64>() } else { 0 };
        for HostSequence { host, requests, places, order } in hosts {
            let weight = order.len() as u64;
            let origin = |number: usize| places.get(number).map_or(String::new(), |place| file.origin(*place));
            let sequence = Sequence { requests, order, replay: file.replay, origin: &origin };
            let rendered = Rendered::sequence(sequence, vary, pipeline, reuse).map_err(Error::Usage)?;
            memory += rendered.memory();
            prepared.push(Prepared { host, requests: Requests::Rendered(Arc::new(rendered)), weight });
        }
        let size = bytes(memory as f64);
        let mut notes = vec![format!("{}: {}, {size} in memory", file.name, plural(count as u64, "request"))];
        notes.extend(file.notes);
        Ok((self.on_hosts(prepared, names)?, notes))
    }

    /// The requests by host, in order of first mention, and the names of their parts.
    fn sequences(&self, file: &RequestFile, context: &Context<'_>) -> Result<(Vec<HostSequence>, Vec<String>), Error> {
        let (host, fields) = self.fields_for(context.over)?;
        let urls = file.requests.iter().map(|request| url_of(request, file, context.over));
        let urls = urls.collect::<Result<Vec<Url>, Error>>()?;
        let (names, numbers) = names::of_requests(file.requests.iter().map(|request| &request.method[..]).zip(&urls));
        let mut all: Vec<HostSequence> = Vec::new();
        // By request: its host, and its number there.
        let mut numbered = Vec::with_capacity(urls.len());
        for (number, (request, url)) in file.requests.iter().zip(urls).enumerate() {
            let Protocol::Http { authority, target, tls } = url.protocol else { continue };
            let mut own = request.fields.clone();
            if let Some(user) = url.user.filter(|_| !request.has_field("authorization")) {
                own.push(("Authorization".to_owned(), user.value().to_owned()));
            }
            let recorded_host = request.host.clone().filter(|_| context.over.is_none());
            let target = RequestTarget {
                host: host.clone().or(recorded_host).unwrap_or(authority),
                target,
                weight: 1,
                name: numbers.get(number).copied().unwrap_or_default(),
                authorization: None,
            };
            let template = Template {
                method: request.method.clone(),
                fields: replaced(&own, &fields),
                body: request.body.clone(),
                http10: self.http10,
            };
            let name = (url.host, url.port, tls);
            let of_host = all.iter().position(|sequence| sequence.host == name).unwrap_or_else(|| {
                all.push(HostSequence { host: name, requests: Vec::new(), places: Vec::new(), order: Vec::new() });
                all.len() - 1
            });
            numbered.push((of_host, all[of_host].requests.len()));
            all[of_host].requests.push((template, target));
            all[of_host].places.push(request.place);
        }
        let in_order: Vec<usize> = file.order.clone().unwrap_or_else(|| (0..numbered.len()).collect());
        for (of_host, number) in in_order.into_iter().map(|request| numbered[request]) {
            all[of_host].order.push(number);
        }
        Ok((all, names))
    }
}

/// The URL of a request, on the host of `over` if that is given.
fn url_of(request: &Recorded, file: &RequestFile, over: Option<&Url>) -> Result<Url, Error> {
    let wrong = |why: String| Error::Usage(format!("{}{why}", file.origin(request.place)));
    if request.url.starts_with('/') {
        let Some(over) = over else {
            return Err(wrong(format!("'{}' names no host: give http://HOST:PORT/ with the file", request.url)));
        };
        // Checked as a URL; its host is replaced below.
        let parsed = address::parse(&format!("http://h{}", request.url)).map_err(|error| wrong(error.to_string()))?;
        return Ok(moved(parsed, over));
    }
    let parsed = address::parse(&request.url).map_err(|error| wrong(error.to_string()))?;
    match (&parsed.protocol, over) {
        (Protocol::Http { .. }, Some(over)) => Ok(moved(parsed, over)),
        (Protocol::Http { .. }, None) => Ok(parsed),
        _ => Err(wrong(format!("'{}' is neither http:// nor https://: leave it out", request.url.escape_debug()))),
    }
}

/// The path of one URL at the host of another.
fn moved(url: Url, over: &Url) -> Url {
    match (url.protocol, &over.protocol) {
        (Protocol::Http { target, .. }, Protocol::Http { authority, tls, .. }) => {
            let protocol = Protocol::Http { authority: authority.clone(), target, tls: *tls };
            Url { host: over.host.clone(), port: over.port, protocol, user: url.user }
        }
        (protocol, _) => Url { protocol, ..url },
    }
}

/// The fields of a request, where those typed take the place of ones of the same name.
fn replaced(fields: &[(String, String)], typed: &[(String, String)]) -> Vec<(String, String)> {
    let is_typed = |name: &str| typed.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(name));
    fields.iter().filter(|(name, _)| !is_typed(name)).chain(typed).cloned().collect()
}
