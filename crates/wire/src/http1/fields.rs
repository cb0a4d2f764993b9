//! Header fields: a validated block of lines, parsed again on access. Nothing is stored per field, so returning a head
//! costs the same with 3 fields as with 90.

use std::fmt;

use httparse::Header;

/// The fields of a head or of a trailer section: a block of bytes in which every line is well-formed.
#[derive(Clone, Copy, Default)]
pub struct Fields<'a> {
    block: &'a [u8],
}

/// One field line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// A token as sent: compare with `eq_ignore_ascii_case`.
    pub name: &'a str,
    /// Without surrounding white space. May hold bytes outside ASCII, and no control character except HTAB.
    pub value: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields from the first of `headers`, which are slices of `message`, to the end of `message`.
    #[inline]
    pub(super) fn of(message: &'a [u8], headers: &[Header<'_>]) -> Self {
        let block = headers.first().and_then(|first| message.get(offset(message, first.name.as_bytes())..));
        Self { block: block.unwrap_or_default() }
    }

    /// The fields at the start of `block`, up to the empty line. Nothing is validated: `block` should be a copy of
    /// [`Self::as_bytes`].
    pub fn from_bytes(block: &'a [u8]) -> Self {
        Self { block }
    }

    /// The lines as received, including the final empty line.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.block
    }

    /// The value of the first field with this name, which is not case-sensitive.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of all fields with this name, in order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// All fields, in order.
    pub fn iter(&self) -> Iter<'a> {
        Iter { rest: self.block }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl<'a> IntoIterator for Fields<'a> {
    type Item = Field<'a>;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|field| (field.name, String::from_utf8_lossy(field.value)))).finish()
    }
}

/// Iterator over [`Fields`].
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        // The block has been validated: every line is `name ":" OWS value OWS CRLF`, with CR only at its end. A line without
        // a colon is the empty one; other bytes may follow it.
        let block = std::mem::take(&mut self.rest);
        let (line, rest) = block.split_at(block.iter().position(|byte| *byte == b'\r')?);
        let colon = line.iter().position(|byte| *byte == b':')?;
        self.rest = rest.get(2..).unwrap_or_default();
        let name = str::from_utf8(&line[..colon]).ok()?;
        Some(Field { name, value: line[colon + 1..].trim_ascii() })
    }
}

/// ASCII bytes, converted to text only on access, because the conversion checks them again.
#[derive(Clone, Copy)]
pub(crate) struct Ascii<'a>(pub &'a [u8]);

impl<'a> Ascii<'a> {
    pub fn text(self) -> &'a str {
        str::from_utf8(self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Ascii<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), f)
    }
}

/// The offset of `part`, a slice of `whole`.
#[inline]
pub(super) fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr())
}

/// Whether each line of `message`, which ends with its empty line, ends in CRLF. httparse accepts a bare LF, as RFC 9112,
/// 2.2, permits; it is rejected here because parsers that differ in this allow request smuggling. A field line ends right
/// before the name of the next field, so only these places are checked.
#[inline]
pub(super) fn ends_lines_in_crlf(message: &[u8], headers: &[Header<'_>]) -> bool {
    let follows_crlf = |header: &Header<'_>| {
        let at = offset(message, header.name.as_bytes());
        at == 0 || message.get(at.wrapping_sub(2)) == Some(&b'\r')
    };
    message.ends_with(b"\r\n\r\n") && headers.iter().all(follows_crlf)
}

/// Whether the token `name` equals `lower`, ignoring case.
#[inline]
pub(super) fn is<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    // Among token characters, setting bit 5 equates only letters of different case (CR and `-` also, but CR is not one).
    let Ok(name) = <&[u8; N]>::try_from(name) else { return false };
    name.iter().zip(lower).fold(0, |differs, (byte, lower)| differs | (byte | 0x20) ^ lower) == 0
}

/// The elements of a comma-separated list, empty ones included.
pub(super) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether `byte` may be part of a token (RFC 9110, 5.6.2).
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_at_the_empty_line() {
        let fields = Fields::from_bytes(b"A: b\r\nC:\r\n\r\nX: not a field\r\n\r\n");
        let mut iter = fields.iter();
        assert_eq!(iter.next(), Some(Field { name: "A", value: b"b" }));
        assert_eq!(iter.next(), Some(Field { name: "C", value: b"" }));
        assert_eq!((iter.next(), iter.next()), (None, None));
        assert_eq!((fields.get("c"), fields.get("x")), (Some(&b""[..]), None));
        let copy = fields.as_bytes().to_vec();
        assert!(Fields::from_bytes(&copy).iter().eq(fields));
        assert!(Fields::from_bytes(b"\xff: a\r\n").is_empty() && Fields::from_bytes(b"a: b").is_empty());
    }
}
