//! The fields that frame a message or control its connection, collected in one pass over a head.

use httparse::Header;

use crate::http1::{Body, ParseError, Version, fields};

/// The framing, routing and connection fields of one head.
#[derive(Default, PartialEq)]
pub(crate) struct FramingHeaders<'a> {
    /// The first `Host`.
    pub host: Option<&'a [u8]>,
    pub host_repeated: bool,
    pub length: Option<u64>,
    pub chunked: bool,
    pub close: bool,
    pub keep_alive: bool,
    pub upgrade: bool,
    pub expects_continue: bool,
    /// `Expect` with any other value.
    pub expects_other: bool,
}

impl<'a> FramingHeaders<'a> {
    #[inline]
    pub fn gather(headers: &[Header<'a>]) -> Result<Self, ParseError> {
        let mut found = Self::default();
        for header in headers {
            found.add(header.name.as_bytes(), header.value)?;
        }
        Ok(found)
    }

    #[inline(always)]
    pub fn add(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), ParseError> {
        match name.len() {
            4 if fields::is(name, b"host") => self.host_repeated |= self.host.replace(value).is_some(),
            6 if fields::is(name, b"expect") => self.expect(value),
            10 if fields::is(name, b"connection") => self.connection(value),
            14 if fields::is(name, b"content-length") => self.length(value)?,
            17 if fields::is(name, b"transfer-encoding") => self.coding(value)?,
            _ => {}
        }
        Ok(())
    }

    /// Whether any of them is present, which a trailer section must not have.
    pub fn is_any_set(&self) -> bool {
        *self != Self::default()
    }

    /// The body they announce, if any (RFC 9112, 6.3, rules 3 to 5).
    #[inline]
    pub fn body(&self, version: Version) -> Result<Option<Body>, ParseError> {
        match (self.chunked, self.length) {
            (false, None) => Ok(None),
            (false, Some(0)) => Ok(Some(Body::Empty)),
            (false, Some(length)) => Ok(Some(Body::Sized(length))),
            // RFC 9112, 6.1: the message has been forwarded by a hop that does not know transfer codings.
            (true, _) if version == Version::Http10 => Err(ParseError::CodingInHttp10),
            // Rule 3: "ought to be handled as an error".
            (true, Some(_)) => Err(ParseError::LengthAndCoding),
            (true, None) => Ok(Some(Body::Chunked)),
        }
    }

    /// Whether the connection is kept after the message (RFC 9112, 9.3).
    #[inline]
    pub fn persists(&self, version: Version) -> bool {
        !self.close && (version >= Version::Http11 || self.keep_alive)
    }

    /// RFC 9112, 6.3, rule 5, allows repeated equal values; they are rejected as a possible attack.
    fn length(&mut self, value: &[u8]) -> Result<(), ParseError> {
        match self.length.replace(decimal(value)?) {
            Some(_) => Err(ParseError::LengthRepeated),
            None => Ok(()),
        }
    }

    /// Accepts `chunked` alone and once, the only coding known here (RFC 9112, 6.1); two fields are two codings.
    fn coding(&mut self, value: &[u8]) -> Result<(), ParseError> {
        if std::mem::replace(&mut self.chunked, true) {
            return Err(ParseError::CodingInvalid);
        }
        if value.eq_ignore_ascii_case(b"chunked") {
            return Ok(());
        }
        let (mut chunked, mut last_is_chunked, mut empty, mut other) = (0, false, false, false);
        for name in fields::elements(value) {
            last_is_chunked = name.eq_ignore_ascii_case(b"chunked");
            chunked += u32::from(last_is_chunked);
            empty |= name.is_empty();
            other |= !last_is_chunked && !name.is_empty();
        }
        // RFC 9112, 6.1: 501 for an unknown coding; 6.3, rule 4: 400 if the length of the body cannot be determined.
        let framed = chunked == 0 || (chunked == 1 && last_is_chunked);
        if other && framed && !empty { Err(ParseError::CodingUnknown) } else { Err(ParseError::CodingInvalid) }
    }

    /// RFC 9110, 7.6.1: a list of case-insensitive options, in one or several fields.
    pub fn connection(&mut self, value: &[u8]) {
        for option in fields::elements(value) {
            match option.len() {
                5 if option.eq_ignore_ascii_case(b"close") => self.close = true,
                7 if option.eq_ignore_ascii_case(b"upgrade") => self.upgrade = true,
                10 if option.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                _ => {}
            }
        }
    }

    /// RFC 9110, 10.1.1.
    fn expect(&mut self, value: &[u8]) {
        for expectation in fields::elements(value) {
            match expectation.eq_ignore_ascii_case(b"100-continue") {
                true => self.expects_continue = true,
                false => self.expects_other = true,
            }
        }
    }
}

/// `1*DIGIT` (RFC 9110, 8.6) of at most 64 bits: no sign, list, `0x` or `_`. Leading zeros are allowed.
pub(super) fn decimal(value: &[u8]) -> Result<u64, ParseError> {
    if value.is_empty() {
        return Err(ParseError::LengthInvalid);
    }
    value.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(ParseError::LengthInvalid);
        }
        number.checked_mul(10).and_then(|tens| tens.checked_add(digit.into())).ok_or(ParseError::LengthInvalid)
    })
}
