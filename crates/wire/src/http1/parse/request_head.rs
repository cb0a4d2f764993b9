//! The head of a request: parsed, validated, and returned as a view of the received bytes.

use std::mem::MaybeUninit;

use httparse::{Error, Request, Status};

use super::fast_path::{self, RequestLine};
use super::{framing_headers::FramingHeaders, from_httparse, scan, target};
use crate::http1::fields::{self, Ascii};
use crate::http1::{Body, Fields, Limits, MAX_FIELDS, Method, ParseError, Version};

/// The head of a request. Borrows from the received bytes.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The method.
    pub method: Method,
    /// The method as received.
    pub method_name: &'a str,
    /// The version.
    pub version: Version,
    /// All fields, those that frame the message included.
    pub fields: Fields<'a>,
    /// The body that follows: never [`Body::UntilClose`] in a request.
    pub body: Body,
    /// Whether the client waits for `100 Continue` or a final status before it sends the body (RFC 9110, 10.1.1).
    pub expects_continue: bool,
    /// `Connection: upgrade`: the client offers the protocols in `Upgrade`.
    pub wants_upgrade: bool,
    target: Ascii<'a>,
    authority: Option<Ascii<'a>>,
    keep_alive: bool,
}

/// What a response depends on in its request. Outlives the [`Head`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestMeta {
    pub(crate) version: Version,
    pub(crate) method: Method,
    pub(crate) keep_alive: bool,
}

impl RequestMeta {
    /// For a request that was not parsed: the response closes, and reads the same in every version.
    pub const UNPARSED: Self = Self { version: Version::Http11, method: Method::Other, keep_alive: false };

    /// The same with `Connection: close`.
    pub fn closing(self) -> Self {
        Self { keep_alive: false, ..self }
    }
}

impl<'a> Head<'a> {
    /// What a response depends on.
    #[inline]
    pub fn meta(&self) -> RequestMeta {
        RequestMeta { version: self.version, method: self.method, keep_alive: self.keep_alive }
    }

    /// Whether the client wants to keep the connection.
    pub fn keeps_alive(&self) -> bool {
        self.keep_alive
    }

    /// The target as received, in one of the four forms of RFC 9112, section 3.2.
    pub fn target(&self) -> &'a str {
        self.target.text()
    }

    /// The `host[:port]` of the target if it has one, else of `Host` (RFC 9112, 3.3). `None` only in HTTP/1.0.
    pub fn authority(&self) -> Option<&'a str> {
        self.authority.map(Ascii::text)
    }

    /// The target without authority and query; `*` for the whole server, empty for CONNECT.
    pub fn path(&self) -> &'a str {
        Ascii(self.path_bytes()).text()
    }

    /// [`Self::path`] as bytes.
    #[inline]
    pub fn path_bytes(&self) -> &'a [u8] {
        let whole = self.path_and_query();
        match &whole[..scan::run(whole, 0, |byte| byte != b'?')] {
            // RFC 9110, 4.2.3: an empty path of an http URI is "/".
            b"" if self.method != Method::Connect => b"/",
            path => path,
        }
    }

    /// The part of the target after the first `?`.
    pub fn query(&self) -> Option<&'a str> {
        let whole = self.path_and_query();
        let path = scan::run(whole, 0, |byte| byte != b'?');
        whole.get(path + 1..).map(|query| Ascii(query).text())
    }

    #[inline]
    fn path_and_query(&self) -> &'a [u8] {
        let Ascii(target) = self.target;
        if target.starts_with(b"/") || target == b"*" {
            return target;
        }
        target::split_absolute(target).map_or(b"", |(_, rest)| rest)
    }
}

pub(crate) enum Parsed<'a> {
    /// A head and its length.
    Head(Head<'a>, usize),
    /// The head is incomplete.
    More,
    /// The head has version HTTP/1.2 or later: replace the digit at this offset by 1 and parse again.
    LaterMinor(usize),
}

/// Parses a head at the beginning of `bytes`. Considers only the first [`Limits::head`] bytes, so that the result does not
/// depend on how many have arrived.
#[inline(always)]
pub(crate) fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parsed<'a>, ParseError> {
    let window = bytes.get(..limits.head).unwrap_or(bytes);
    let mut framing = FramingHeaders::default();
    match fast_path::request(window, limits, &mut framing) {
        Some((line, fields, end)) => Ok(Parsed::Head(decide(line, fields, &framing, limits)?, end)),
        None => parse_any(window, limits),
    }
}

/// The full parser.
#[inline(never)]
pub(crate) fn parse_any<'a>(window: &'a [u8], limits: &Limits) -> Result<Parsed<'a>, ParseError> {
    let mut slots = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let slots = &mut slots[..limits.fields.min(MAX_FIELDS)];
    let mut request = Request::new(&mut []);
    match request.parse_with_uninit_headers(window, slots) {
        Ok(Status::Complete(end)) => Ok(Parsed::Head(check(&window[..end], &request, limits)?, end)),
        Ok(Status::Partial) => more(window, &request, limits),
        Err(Error::Version) => version(window, &request, limits),
        Err(error) => Err(from_httparse(error)),
    }
}

/// The head is incomplete: an error if it has reached the limit.
#[cold]
fn more<'a>(window: &[u8], request: &Request<'_, '_>, limits: &Limits) -> Result<Parsed<'a>, ParseError> {
    if window.len() < limits.head {
        return Ok(Parsed::More);
    }
    Err(match (request.method, request.path) {
        (None, _) => ParseError::RequestLine,
        // RFC 9110, 15.5.15.
        (Some(_), None) => ParseError::TargetTooLong,
        // RFC 6585, 5.
        (Some(_), Some(_)) => ParseError::HeadTooLong,
    })
}

/// Handles versions that httparse rejects: a later minor version is treated as 1.1 (RFC 9110, 2.5), another major version
/// is 505 (RFC 9110, 15.6.6).
#[cold]
fn version<'a>(window: &[u8], request: &Request<'_, '_>, limits: &Limits) -> Result<Parsed<'a>, ParseError> {
    let path = request.path.ok_or(ParseError::RequestLine)?.as_bytes();
    let start = fields::offset(window, path) + path.len() + 1;
    let text = window.get(start..).unwrap_or_default();
    let text = text.get(..8).unwrap_or(text);
    let fits = |(byte, form): (&u8, &u8)| byte == form || *form == b'0' && byte.is_ascii_digit();
    if !text.iter().zip(b"HTTP/0.0").all(fits) {
        return Err(ParseError::VersionSyntax);
    }
    match text {
        [_, _, _, _, _, b'1', _, _] => Ok(Parsed::LaterMinor(start + 7)),
        [_, _, _, _, _, _, _, _] => Err(ParseError::VersionUnknown),
        _ => more(window, request, limits),
    }
}

/// Validates what httparse does not.
#[inline]
fn check<'a>(bytes: &'a [u8], request: &Request<'_, 'a>, limits: &Limits) -> Result<Head<'a>, ParseError> {
    let (Some(method_name), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(ParseError::RequestLine);
    };
    let headers = &*request.headers;
    // RFC 9112, 2.2: empty lines before the request line are ignored; httparse accepts bare LF there.
    // (Counted back from the target: the method may be a constant of httparse instead of a part of `bytes`.)
    let before = fields::offset(bytes, target.as_bytes()).saturating_sub(method_name.len() + 1);
    let empty_lines = bytes.get(..before).unwrap_or_default();
    let clean = empty_lines.is_empty() || empty_lines.chunks(2).all(|line| line == b"\r\n");
    if !clean || !fields::ends_lines_in_crlf(bytes, headers) {
        return Err(ParseError::LineEnding);
    }
    if target.len() > limits.target {
        return Err(ParseError::TargetTooLong);
    }
    let method = Method::named(method_name);
    let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
    let target = target.as_bytes();
    let authority = target::check(method, target)?;
    let line = RequestLine { method, method_name, target, version, authority };
    decide(line, Fields::of(bytes, headers), &FramingHeaders::gather(headers)?, limits)
}

/// Determines framing, routing and persistence of a well-formed head.
#[inline(always)]
pub(crate) fn decide<'a>(
    line: RequestLine<'a>,
    fields: Fields<'a>,
    framing: &FramingHeaders<'a>,
    limits: &Limits,
) -> Result<Head<'a>, ParseError> {
    let RequestLine { method, method_name, target, version, authority } = line;
    let host = host(framing, version)?;
    let body = framing.body(version)?.unwrap_or(Body::Empty);
    if matches!(body, Body::Sized(length) if length > limits.body) {
        // RFC 9110, 15.5.14.
        return Err(ParseError::BodyTooLong);
    }
    if method == Method::Trace && body != Body::Empty {
        // RFC 9110, 9.3.8.
        return Err(ParseError::TraceWithBody);
    }
    // RFC 9110, 10.1.1: a 1.0 client's expectation is ignored; an unknown one may be answered with 417.
    let is_modern = version >= Version::Http11;
    if framing.expects_other && is_modern {
        return Err(ParseError::Expectation);
    }
    Ok(Head {
        method,
        method_name,
        target: Ascii(target),
        version,
        fields,
        body,
        // RFC 9112, 3.2.2: the authority of an absolute target replaces `Host`.
        authority: authority.or(host).map(Ascii),
        expects_continue: framing.expects_continue && is_modern && body != Body::Empty,
        // RFC 9110, 7.8: `Upgrade` in HTTP/1.0 is ignored.
        wants_upgrade: framing.upgrade && is_modern,
        keep_alive: framing.persists(version),
    })
}

/// RFC 9112, 3.2: a 1.1 request has one valid `Host`, a 1.0 request at most one.
#[inline]
fn host<'a>(framing: &FramingHeaders<'a>, version: Version) -> Result<Option<&'a [u8]>, ParseError> {
    if framing.host_repeated {
        return Err(ParseError::HostRepeated);
    }
    match framing.host {
        Some(host) if target::is_host(host) => Ok(Some(host)),
        Some(_) => Err(ParseError::HostInvalid),
        None if version == Version::Http10 => Ok(None),
        None => Err(ParseError::HostMissing),
    }
}
