//! The parts of a URL as typed: what of them is sent, and what they stand for.
//!
//! Fragment, zone and placeholders are cut out first: the parser of the WHATWG URL standard would change or refuse them. It reads
//! user, host and port. Path and query stay as typed, but for the encoding of [`target`].

use crate::credentials::Secret;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What is encoded in paths and queries, beside all that is not ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ');

/// User, host and port.
pub(super) struct Authority {
    /// Without the brackets of IPv6, with its zone.
    pub host: String,
    pub port: Option<u16>,
    /// For the `Host` header.
    pub text: String,
    pub user: Option<Secret>,
}

impl Authority {
    /// `form` is the error of what is none at all.
    pub(super) fn read(typed: &str, form: impl Fn() -> String) -> Result<Self, String> {
        let (user, place) = typed.rsplit_once('@').map_or((None, typed), |(user, place)| (Some(user), place));
        if user.is_some_and(|user| {
            user.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '\'' | '"' | '\\'))
        }) {
            return Err("has a blank, a quote or a backslash in its user: write %20, %27, %22, %5C".to_owned());
        }
        if placeholder(place).is_some() {
            return Err("has a placeholder in its host: placeholders stand in path, query, -H and --body".to_owned());
        }
        let port = place.rsplit(':').next().unwrap_or_default();
        let wrong_port = || format!("has the port '{}'; a port is a number from 1 to 65535", port.escape_debug());
        if place.contains('/') && place.contains(':') {
            return Err(wrong_port());
        }
        // The parser takes a backslash for a slash, and leaves blanks out.
        if place.is_empty() || place.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '/' | '\\'))
        {
            return Err(form());
        }
        let (bare, zone) = without_zone(place);
        // As of the scheme that is known to have hosts of the internet; its usual port is written nowhere.
        let parsed = url::Url::parse(&format!("ftp://{}{bare}", user.map_or(String::new(), |user| format!("{user}@"))));
        let parsed = parsed.map_err(|error| match error {
            url::ParseError::InvalidPort => wrong_port(),
            url::ParseError::IdnaError => "has a host that is no name of the internet (IDNA)".to_owned(),
            _ => form(),
        })?;
        let has_port = bare.rsplit(']').next().unwrap_or_default().contains(':');
        let port = parsed.port_or_known_default().filter(|_| has_port);
        if port == Some(0) || bare.ends_with(':') {
            return Err(wrong_port());
        }
        let name = bare.split(':').next().unwrap_or_default();
        let (host, mut text) = match parsed.host().ok_or_else(&form)? {
            url::Host::Domain(domain) if name.eq_ignore_ascii_case(domain) => (name.to_owned(), name.to_owned()),
            url::Host::Domain(domain) => (domain.to_owned(), domain.to_owned()),
            url::Host::Ipv4(address) => (address.to_string(), address.to_string()),
            url::Host::Ipv6(address) => (format!("{address}{zone}"), format!("[{address}]")),
        };
        text.extend(port.map(|port| format!(":{port}")));
        let user = user.filter(|user| !user.is_empty()).map(|_| credentials(&parsed));
        Ok(Self { host, port, text, user })
    }
}

fn credentials(parsed: &url::Url) -> Secret {
    let (name, password) = (parsed.username(), parsed.password().unwrap_or_default());
    let [name, password] = [name, password].map(|text| percent_decode_str(text).collect::<Vec<u8>>());
    Secret::basic([name, password].join(&b':'))
}

/// An authority without the zone of an IPv6 address (RFC 4007), which is a matter of this machine, and the zone as `%lo`. In
/// URLs it is typed as `%25lo` (RFC 6874) or as `%lo`.
fn without_zone(authority: &str) -> (String, String) {
    let place = authority.find(']').and_then(|end| Some((authority[..end].find('%')?, end)));
    let Some((at, end)) = place else { return (authority.to_owned(), String::new()) };
    let zone = authority[at + 1..end].strip_prefix("25").filter(|zone| !zone.is_empty());
    let zone = zone.unwrap_or(&authority[at + 1..end]);
    (format!("{}{}", &authority[..at], &authority[end..]), format!("%{zone}"))
}

/// Path and query as they are sent, from what is behind the authority.
pub(super) fn target(typed: &str) -> Result<String, String> {
    let (mut sent, mut rest) = (String::new(), typed);
    if !typed.starts_with('/') {
        sent.push('/');
    }
    while !rest.is_empty() {
        let (at, placeholder) = placeholder(rest).unwrap_or((rest.len(), ""));
        let (plain, fragment) = rest[..at].split_once('#').map_or((&rest[..at], false), |(plain, _)| (plain, true));
        if let Some(byte) = plain.bytes().find(u8::is_ascii_control) {
            return Err(format!("has the byte 0x{byte:02x} in its path or query: write it as %{byte:02X}"));
        }
        sent.extend(utf8_percent_encode(plain, ENCODED));
        if fragment {
            break;
        }
        sent += placeholder;
        rest = &rest[at + placeholder.len()..];
    }
    Ok(sent)
}

/// The first placeholder of a text, and where it begins.
fn placeholder(text: &str) -> Option<(usize, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let end = at + 1 + text[at..].find('}')?;
        let inner = &text[at + 1..end - 1];
        let is_one =
            ["seq", "uuid", "vary"].contains(&inner) || inner.starts_with("rand:") || inner.starts_with("line:");
        (is_one && !inner.contains('{')).then(|| (at, &text[at..end]))
    })
}
