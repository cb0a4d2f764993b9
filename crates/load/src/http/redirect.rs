//! Redirects: where a reply sends its client, and the request that follows (RFC 9110 15.4).

use super::Batch;
use brunt_results::WrongReply;
use std::fmt;
use url::{Origin, Url};

/// A request that follows a redirect, without a `Connection: close`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Following {
    pub bytes: Vec<u8>,
    pub batch: Batch,
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It leads to this URL, of a scheme, host or port that is not that of the connection.
    Elsewhere(String),
    /// Its `Location` is no URL.
    Unreadable(String),
    /// As many redirects were followed in a row.
    TooMany(u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(url) => write!(f, "{}{url}, on another scheme, host or port", WrongReply::REDIRECT),
            Self::Unreadable(location) => {
                write!(f, "a redirect whose Location is no URL: '{}'", location.escape_debug())
            }
            Self::TooMany(0) => f.write_str("a redirect, of which none is followed (--max-redirs allows some)"),
            Self::TooMany(most) => write!(f, "another redirect behind {most} in a row (--max-redirs allows more)"),
        }
    }
}

/// Where a reply leads that has this status and this `Location`, if it is a redirect.
pub fn leads_to(status: u16, location: Option<&[u8]>) -> Option<&[u8]> {
    location.filter(|location| matches!(status, 301 | 302 | 303 | 307 | 308) && !location.is_empty())
}

/// How redirects are followed on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Most of them in a row.
    pub most: u64,
    pub is_tls: bool,
}

impl Rule {
    /// As [`follow`], behind `followed` others.
    pub fn follow(self, followed: u64, request: &[u8], status: u16, location: &[u8]) -> Result<Following, Refusal> {
        match followed < self.most {
            true => follow(request, self.is_tls, status, location),
            false => Err(Refusal::TooMany(self.most)),
        }
    }
}

/// The request that follows `request`, whose reply had this status and `Location`. As clients do, a 303 makes it a GET without a
/// body, and so do 301 and 302 of a POST.
///
/// # Errors
/// The redirect leads elsewhere, or nowhere.
fn follow(request: &[u8], is_tls: bool, status: u16, location: &[u8]) -> Result<Following, Refusal> {
    let unreadable = || Refusal::Unreadable(String::from_utf8_lossy(location).into_owned());
    let Parts { method, target, version, fields, body } = Parts::of(request).ok_or_else(unreadable)?;
    let host = fields.iter().find(|field| is_named(field, "host")).map_or("", |field| value(field));
    let scheme = if is_tls { "https" } else { "http" };
    // Other forms of a target, as *, have no path.
    let path = if target.starts_with('/') { target } else { "/" };
    let base = Url::parse(&format!("{scheme}://{host}{path}")).map_err(|_| unreadable())?;
    let url = base.join(str::from_utf8(location).unwrap_or_default()).ok().filter(|_| !location.is_empty());
    let url = url.filter(|url| url.has_host()).ok_or_else(unreadable)?;
    if !is_same(&base.origin(), &url.origin()) {
        return Err(Refusal::Elsewhere(without_secrets(url)));
    }
    let becomes_get = match status {
        303 => method != "GET" && method != "HEAD",
        301 | 302 => method == "POST",
        _ => false,
    };
    let method = if becomes_get { "GET" } else { method };
    let query = url.query().map_or(String::new(), |query| format!("?{query}"));
    let mut bytes = format!("{method} {}{query} {version}\r\n", url.path()).into_bytes();
    let stays = |field: &&&str| {
        let closes = is_named(field, "connection") && value(field).eq_ignore_ascii_case("close");
        !(closes || becomes_get && is_of_body(field))
    };
    for field in fields.iter().filter(stays) {
        bytes.extend_from_slice(field.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    if !becomes_get {
        bytes.extend_from_slice(body);
    }
    Ok(Following { bytes, batch: Batch::of(method) })
}

impl Following {
    /// Asks the target to close the connection after the reply.
    pub fn close(&mut self) {
        if let Some(end) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            self.bytes.splice(end..end, *b"\r\nConnection: close");
        }
    }
}

/// The parts of a request.
struct Parts<'a> {
    method: &'a str,
    target: &'a str,
    version: &'a str,
    fields: Vec<&'a str>,
    body: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(request: &'a [u8]) -> Option<Self> {
        let end = request.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = str::from_utf8(&request[..end]).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        Some(Self { method, target, version, fields: lines.collect(), body: &request[end + 4..] })
    }
}

fn is_named(field: &str, name: &str) -> bool {
    field.split(':').next().is_some_and(|named| named.eq_ignore_ascii_case(name))
}

fn value(field: &str) -> &str {
    field.split_once(':').map_or("", |(_, value)| value.trim())
}

/// Whether a field describes the body.
fn is_of_body(field: &str) -> bool {
    let begin = field.get(..8).unwrap_or_default();
    begin.eq_ignore_ascii_case("content-") || is_named(field, "transfer-encoding") || is_named(field, "expect")
}

fn is_same(base: &Origin, other: &Origin) -> bool {
    base.is_tuple() && base == other
}

/// A URL that can be shown: its user, password and fragment do not matter for where it leads.
fn without_secrets(mut url: Url) -> String {
    // Fails only for URLs without a host.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests;
