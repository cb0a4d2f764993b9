//! Validation of request targets, in one of four forms (RFC 9112, 3.2), and of hosts.

use super::scan;
use crate::http1::{Method, ParseError};

/// Classes of bytes: what a byte may be part of.
const TARGET: u8 = 1;
const HOST: u8 = 2;
const LITERAL: u8 = 4;

/// The classes of each byte.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        // `"<>\^`{|}` should be %-encoded (RFC 3986); they are accepted because browsers send them and parsers agree on
        // them. A fragment is not allowed in a request (RFC 9112, 3.2), and some parsers cut it off.
        let in_target = byte != b'#';
        // RFC 3986, 3.2.2, reg-name, without the comma: in `Host` it shows that two fields were joined.
        let in_host = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'='
            );
        let in_literal = in_host || byte == b':';
        class[byte as usize] = (TARGET * in_target as u8) | (HOST * in_host as u8) | (LITERAL * in_literal as u8);
        byte += 1;
    }
    class
};

/// Whether all bytes are of a class; true if there are none.
#[inline]
fn all(bytes: &[u8], class: u8) -> bool {
    bytes.iter().fold(class, |common, byte| common & CLASS[usize::from(*byte)]) == class
}

/// The length of the prefix of `bytes` that can be part of a target.
#[inline]
pub(crate) fn run(bytes: &[u8]) -> usize {
    scan::run(bytes, 0, |byte| CLASS[usize::from(byte)] & TARGET != 0)
}

/// Whether `bytes` holds only characters of targets, whatever the form.
pub(crate) fn is_clean(bytes: &[u8]) -> bool {
    !bytes.is_empty() && all(bytes, TARGET)
}

/// Whether `bytes` is `host[:port]` with a host that is not empty (RFC 9110, 7.2; RFC 9112, 3.2).
#[inline]
pub(crate) fn is_host(bytes: &[u8]) -> bool {
    match bytes.split_at(scan::run(bytes, 0, |byte| CLASS[usize::from(byte)] & HOST != 0)) {
        ([], [b'[', literal @ ..]) => is_literal(literal),
        ([], _) => false,
        (_, []) => true,
        (_, [b':', port @ ..]) => is_port(port),
        _ => false,
    }
}

/// Whether `bytes` is an IP literal without its opening bracket, with or without a port.
fn is_literal(bytes: &[u8]) -> bool {
    let Some(end) = bytes.iter().position(|byte| *byte == b']') else { return false };
    let (literal, rest) = (&bytes[..end], &bytes[end + 1..]);
    let has_port = rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port);
    has_port && !literal.is_empty() && all(literal, LITERAL)
}

/// `*DIGIT`: an empty port is the default one (RFC 3986, 3.2.3).
#[inline]
fn is_port(bytes: &[u8]) -> bool {
    bytes.len() <= 5 && scan::run(bytes, 0, |byte| byte.is_ascii_digit()) == bytes.len()
}

/// Checks that the target is in a form that the method allows. Returns the authority, if the target names one.
#[inline]
pub(crate) fn check(method: Method, target: &[u8]) -> Result<Option<&[u8]>, ParseError> {
    match target {
        // RFC 9112, 3.2.1, origin-form: all methods except CONNECT.
        bytes @ [b'/', ..] if method != Method::Connect && all(bytes, TARGET) => Ok(None),
        // RFC 9112, 3.2.4, asterisk-form: OPTIONS only.
        b"*" if method == Method::Options => Ok(None),
        // RFC 9112, 3.2.3, authority-form: CONNECT only, with a port.
        bytes if method == Method::Connect && is_host(bytes) && !bytes.ends_with(b":") && has_port(bytes) => {
            Ok(Some(bytes))
        }
        // RFC 9112, 3.2.2, absolute-form: servers must accept it although only clients of proxies send it.
        bytes if method != Method::Connect && all(bytes, TARGET) => {
            let (authority, _) = split_absolute(target).ok_or(ParseError::Target)?;
            // RFC 9110, 4.2.1 and 4.2.4: an http URI has a host, and no user information.
            if is_host(authority) { Ok(Some(authority)) } else { Err(ParseError::Target) }
        }
        _ => Err(ParseError::Target),
    }
}

fn has_port(host: &[u8]) -> bool {
    let digits = host.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && host.len() > digits && host[host.len() - digits - 1] == b':'
}

/// Splits an absolute `http` or `https` target into authority and path with query.
pub(crate) fn split_absolute(target: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = target.iter().position(|byte| *byte == b':')?;
    let (scheme, rest) = (&target[..colon], target[colon..].strip_prefix(b"://")?);
    if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
        return None;
    }
    Some(rest.split_at(rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len())))
}
