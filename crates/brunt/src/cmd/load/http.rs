//! Flags for HTTP targets and their translation into generator options.

mod recorded;

pub(super) use recorded::Context;

use super::{flags::parsed, names, tls, usage};
use brunt_inputs::address::{self, ConnectTo, Protocol, Url};
use brunt_inputs::{credentials, proxy::Proxy};
use brunt_load::Target;
use brunt_load::http::{
    Expect, Filled, Host, Http, Pipeline, Rendered, RequestTarget, Requests, Statuses, Template, Tunnel, Vary,
};
use brunt_results::{Count, Error, Size, named};
use brunt_spec::{Heading, LoadSpec, Setting};
use std::{fs, ops::Deref, sync::Arc};

/// Largest request body; each pipeline slot holds its own copy.
const LARGEST_BODY: u64 = 64 << 20;

/// Method, headers and body, as far as given.
type Typed = (Option<String>, Vec<Field>, Option<Vec<u8>>);

type Field = (String, String);

/// The settings of http:// and https:// targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flags<'a>(pub &'a LoadSpec);

impl Deref for Flags<'_> {
    type Target = LoadSpec;

    fn deref(&self) -> &LoadSpec {
        self.0
    }
}

/// Name or address, port, TLS.
type HostName = (String, u16, bool);

/// Requests for one host.
struct HostRequests {
    host: HostName,
    targets: Vec<RequestTarget>,
}

/// The same, ready to be sent.
struct Prepared {
    host: HostName,
    requests: Requests,
    weight: u64,
}

impl Flags<'_> {
    /// The first given setting of HTTP. A number of requests is one of every protocol.
    pub(super) fn given(&self) -> Option<String> {
        let of_http = |setting: &&Setting| setting.heading == Heading::Http && setting.name != "requests_or_file";
        self.settings().find(of_http).map(Setting::named)
    }

    /// The first given setting that a script makes meaningless, or that limits the requests on a connection.
    pub(super) fn shaping(&self) -> Option<String> {
        self.first_set(&["weight", "names", "pipeline", "vary", "http10", "no_keepalive", "reuse"])
    }

    /// Requests on a connection; `None` without a limit.
    pub(super) fn reuse(&self) -> Result<Option<u64>, Error> {
        match (self.no_keepalive, self.reuse) {
            (true, Some(reuse)) => usage(format!("--no-keepalive and --reuse {reuse}: give one of them")),
            (false, Some(Count(0))) => usage("--reuse 0: a connection carries at least 1 request"),
            (true, None) => Ok(Some(1)),
            (false, reuse) => Ok(reuse.map(|count| count.0)),
        }
    }

    /// The proxy as a URL.
    pub(super) fn proxy_url(&self) -> Option<String> {
        self.proxy().ok().flatten().map(|proxy| proxy.to_string())
    }

    fn proxy(&self) -> Result<Option<Proxy>, Error> {
        parsed("--proxy", self.proxy.as_ref())
    }

    /// Method, headers and body as typed, as initial values for a script.
    pub(super) fn typed(&self, url: &Url) -> Result<Typed, Error> {
        let (host, mut fields) = self.fields_for(Some(url))?;
        fields.extend(host.map(|host| ("Host".to_owned(), host)));
        let body = self.body.as_deref().map(body).transpose()?;
        let method = self.method.clone().or_else(|| body.is_some().then(|| "POST".to_owned()));
        Ok((method, fields, body))
    }

    /// Builds the generator's target. Name lookups come after all other checks.
    pub(super) fn target(&self, urls: &[Url], is_open: bool, seed: u64) -> Result<Target, Error> {
        let reuse = self.reuse()?;
        let (host, fields) = self.fields()?;
        let (names, numbers) = names::of(&self.names, urls)?;
        let authorizes = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let hosts = self.by_host(urls, host.as_deref(), &numbers, !authorizes)?;
        let body = self.body.as_deref().map(body).transpose()?;
        let default = if body.is_some() { "POST" } else { "GET" };
        let method = self.method.clone().unwrap_or_else(|| default.to_owned());
        if method == "HEAD" && self.expects_body() {
            return usage("-X HEAD: its replies have no body; remove --expect-length and --expect-body");
        }
        let template = Template { method, fields, body, http10: self.http10 };
        let (pipeline, vary) = (self.pipeline(is_open), self.vary(seed));
        let prepare =
            |HostRequests { targets, .. }: &HostRequests| match Filled::new(&template, targets, pipeline, reuse, seed)?
            {
                Some(_) if vary.is_some() => {
                    Err("--vary and placeholders: requests differ already; leave --vary out".to_owned())
                }
                Some(filled) => Ok(Requests::Filled(Arc::new(filled))),
                None => Ok(Requests::Rendered(Arc::new(Rendered::render(&template, targets, vary, pipeline, reuse)?))),
            };
        let prepared = hosts.iter().map(|requests| {
            let weight = requests.targets.iter().map(|target| u64::from(target.weight)).sum();
            let host = requests.host.clone();
            Ok(Prepared { host, requests: prepare(requests).map_err(Error::Usage)?, weight })
        });
        self.on_hosts(prepared.collect::<Result<_, Error>>()?, names)
    }

    /// The target of requests for these hosts, whose names are looked up.
    fn on_hosts(&self, prepared: Vec<Prepared>, names: Vec<String>) -> Result<Target, Error> {
        let expect = Expect {
            statuses: parsed::<Statuses>("--expect-status", self.expect_status.as_ref())?.unwrap_or_default(),
            length: self.expect_length.map(|size| size.0),
            body: self.expect_body.clone().map(String::into_bytes),
        };
        let timeout = self.timeout();
        let clients = tls::clients(self, prepared.iter().any(|prepared| prepared.host.2))?;
        let credentials =
            self.proxy_auth.as_deref().map(|file| credentials::basic("--proxy-auth", file)).transpose()?;
        let proxy = self.proxy()?.map(|proxy| proxy.resolve(timeout)).transpose()?;
        let connect_to = parsed::<ConnectTo>("--connect-to", self.connect_to.as_ref())?;
        let host = |Prepared { host: (name, port, tls), requests, weight }| {
            let tls = clients.as_ref().filter(|_| tls).map(|clients| clients.connector(&name));
            Ok(Host {
                tls: tls.transpose().map_err(Error::Usage)?,
                address: match (&proxy, &connect_to) {
                    (Some(proxy), _) => proxy.clone(),
                    (None, Some(to)) => to.resolve(timeout)?,
                    (None, None) => address::resolve(&name, port, timeout)?.into(),
                },
                tunnel: proxy.as_ref().map(|_| Tunnel::to(&name, port, credentials.as_deref())),
                requests,
                weight,
            })
        };
        let hosts = prepared.into_iter().map(host).collect::<Result<_, Error>>()?;
        Ok(Target::Http(Http { hosts, reuse: self.reuse()?, expect, names }))
    }

    fn pipeline(&self, is_open: bool) -> Pipeline {
        match (self.pipeline, is_open) {
            (None, _) => Pipeline::NONE,
            (Some(depth), true) => Pipeline::Single(depth),
            (Some(depth), false) => Pipeline::Batches(depth),
        }
    }

    fn vary(&self, seed: u64) -> Option<Vary> {
        self.vary.map(|Count(count)| Vary { variants: u32::try_from(count).unwrap_or(u32::MAX), seed })
    }

    /// Whether replies need a body, which those to HEAD do not have.
    fn expects_body(&self) -> bool {
        self.expect_length.is_some() || self.expect_body.is_some()
    }

    /// As [`Self::fields`], and the user of this URL unless another is given.
    fn fields_for(&self, url: Option<&Url>) -> Result<(Option<String>, Vec<Field>), Error> {
        let (host, mut fields) = self.fields()?;
        if let Some(user) = url.and_then(|url| url.user.as_ref())
            && !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        {
            fields.push(("Authorization".to_owned(), user.value().to_owned()));
        }
        Ok((host, fields))
    }

    /// Values of -H: that of Host, and all other fields.
    fn fields(&self) -> Result<(Option<String>, Vec<Field>), Error> {
        let (mut host, mut others) = (None, Vec::new());
        for header in &self.header {
            let Some((name, value)) = header.split_once(':') else {
                return usage(format!("-H '{}' is not of the form 'Name: value'", header.escape_debug()));
            };
            let value = value.trim_matches([' ', '\t']).to_owned();
            if !name.eq_ignore_ascii_case("host") {
                others.push((name.to_owned(), value));
            } else if host.replace(value).is_some() {
                return usage("-H gives Host more than once");
            }
        }
        if let Some(value) = credentials::authorization(self.basic_auth.as_deref(), self.bearer.as_deref())? {
            others.push(("Authorization".to_owned(), value));
        }
        Ok((host, others))
    }

    /// Groups the requests by host, in order of first mention. `numbers` are those of the URLs' names; `as_users` sends the users
    /// of the URLs.
    fn by_host(
        &self,
        urls: &[Url],
        host: Option<&str>,
        numbers: &[u16],
        as_users: bool,
    ) -> Result<Vec<HostRequests>, Error> {
        if !self.weight.is_empty() && self.weight.len() != urls.len() {
            let (weights, urls) = (self.weight.len(), urls.len());
            return usage(format!("--weight has {weights} numbers for {urls} URLs: give one for each"));
        }
        let mut all: Vec<HostRequests> = Vec::new();
        for (number, url) in urls.iter().enumerate() {
            let Protocol::Http { authority, target, tls } = &url.protocol else {
                return usage("http:// and other protocols cannot be loaded together");
            };
            let target = RequestTarget {
                host: host.unwrap_or(authority).to_owned(),
                target: target.clone(),
                weight: self.weight.get(number).copied().unwrap_or(1),
                name: numbers.get(number).copied().unwrap_or_default(),
                authorization: url.user.as_ref().filter(|_| as_users).map(|user| user.value().to_owned()),
            };
            let host = (url.host.clone(), url.port, *tls);
            match all.iter_mut().find(|requests| requests.host == host) {
                Some(requests) => requests.targets.push(target),
                None => all.push(HostRequests { host, targets: vec![target] }),
            }
        }
        Ok(all)
    }
}

/// The body as typed, or the contents of its file.
fn body(text: &str) -> Result<Vec<u8>, Error> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.as_bytes().to_vec()) };
    let failed = |error| Error::Failed(format!("cannot read the body from {path}: {error}"));
    let place = named::place(path).map_err(failed)?;
    let length = fs::metadata(&place).map_err(failed)?.len();
    if length > LARGEST_BODY {
        return usage(format!("--body @{path} is {} long; at most {} is allowed", Size(length), Size(LARGEST_BODY)));
    }
    fs::read(place).map_err(failed)
}
