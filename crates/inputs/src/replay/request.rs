//! The request of a line of a log: when it came, method and target as they can be sent.

use super::stamp::Stamp;

/// What is replayed of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub stamp: Stamp,
    pub method: String,
    /// Path and query.
    pub target: String,
}

/// Method and target of `GET /path HTTP/1.1`.
pub(super) fn request_line(text: &[u8]) -> Option<(String, String)> {
    let at = text.iter().position(|byte| *byte == b' ')?;
    let end = text.iter().rposition(|byte| *byte == b' ')?;
    let version = &text[end + 1..];
    if end <= at || !version.starts_with(b"HTTP/") {
        return None;
    }
    Some((method(&text[..at])?, target(&text[at + 1..end])?))
}

/// A method that can be sent.
pub(super) fn method(word: &[u8]) -> Option<String> {
    let is_valid = !word.is_empty() && word.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte));
    // A tunnel, and the preface of HTTP/2.
    let is_request = is_valid && word != b"CONNECT" && word != b"PRI";
    is_request.then(|| String::from_utf8_lossy(word).into_owned())
}

/// Path and query, also of a whole URL, with other bytes %-encoded.
pub(super) fn target(text: &[u8]) -> Option<String> {
    let path = match text {
        [b'/', ..] => text,
        _ => {
            let rest = text.strip_prefix(b"http://").or_else(|| text.strip_prefix(b"https://"))?;
            rest.iter().position(|byte| *byte == b'/').map_or(&b"/"[..], |at| &rest[at..])
        }
    };
    let mut target = String::new();
    for byte in path {
        match byte {
            b'!'..=b'~' if *byte != b'#' => target.push(char::from(*byte)),
            byte => target += &format!("%{byte:02X}"),
        }
    }
    Some(target)
}
