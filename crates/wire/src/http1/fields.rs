//! Header fields: a validated block of lines, parsed again on access. Nothing is stored per field, so passing on a
//! head costs the same with 3 fields as with 90.

use std::fmt;

use httparse::Header;

/// The fields of a head or of a trailer section: a block of bytes in which every line is known to be well-formed.
#[derive(Clone, Copy, Default)]
pub struct Fields<'a> {
    block: &'a [u8],
}

/// One field line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// A token, in the sender's case: compare with `eq_ignore_ascii_case`.
    pub name: &'a str,
    /// Without the white space around it; may hold bytes outside ASCII, never a control character but HTAB.
    pub value: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields that `headers`, cut from `message` by the parser, stand for; they reach to the end of `message`.
    #[inline]
    pub(super) fn of(message: &'a [u8], headers: &[Header<'_>]) -> Self {
        let block = headers.first().and_then(|first| message.get(offset(message, first.name.as_bytes())..));
        Self { block: block.unwrap_or_default() }
    }

    /// The fields at the beginning of `block`, known to be well-formed down to their empty line.
    pub(super) fn from_first_line(block: &'a [u8]) -> Self {
        Self { block }
    }

    /// The lines as received, including the final empty line.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.block
    }

    /// The fields of a copy of [`Self::as_bytes`]. In other bytes it finds what looks like fields, and no more.
    pub fn from_copy(block: &'a [u8]) -> Self {
        Self { block }
    }

    /// The value of the first field of that name, in whatever case.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of all fields of that name, in order.
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

/// Walks over [`Fields`].
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        // The parser has seen this block: every line is `name ":" OWS value OWS CRLF`, and CR stands only at its end. What
        // has no colon is the empty line; there may be other bytes behind it.
        let block = std::mem::take(&mut self.rest);
        let (line, rest) = block.split_at(block.iter().position(|byte| *byte == b'\r')?);
        let colon = line.iter().position(|byte| *byte == b':')?;
        self.rest = rest.get(2..).unwrap_or_default();
        let name = str::from_utf8(&line[..colon]).ok()?;
        Some(Field { name, value: line[colon + 1..].trim_ascii() })
    }
}

/// ASCII bytes, converted to text only on access, because checking them again costs more than most uses need.
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

/// Where `part`, a slice of `whole`, begins in it.
#[inline]
pub(super) fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr())
}

/// Whether each line of `message`, which ends with its empty line, ends in CRLF. The parser takes a bare LF for a line
/// end, as RFC 9112, section 2.2 permits; two parsers that differ in this make a smuggler's gap, so it is not taken here.
/// The line of a field ends right before the name of the next, which is why looking there is enough.
#[inline]
pub(super) fn ends_lines_in_crlf(message: &[u8], headers: &[Header<'_>]) -> bool {
    let preceded = |header: &Header<'_>| {
        let at = offset(message, header.name.as_bytes());
        at == 0 || message.get(at.wrapping_sub(2)) == Some(&b'\r')
    };
    message.ends_with(b"\r\n\r\n") && headers.iter().all(preceded)
}

/// Whether `name`, a token, is `lower` in whatever case.
#[inline]
pub(super) fn is<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    // In a token, setting bit 5 makes equal only what differs in case: CR is to `-` what `H` is to `h`, and is no token.
    let Ok(name) = <&[u8; N]>::try_from(name) else { return false };
    name.iter().zip(lower).fold(0, |differs, (byte, lower)| differs | (byte | 0x20) ^ lower) == 0
}

/// The elements of a comma-separated list, empty ones included.
pub(super) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether `byte` may stand in a token (RFC 9110, section 5.6.2).
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
    fn fields_end_at_the_empty_line_and_stay_ended() {
        let fields = Fields::from_first_line(b"A: b\r\nC:\r\n\r\nX: not a field\r\n\r\n");
        let mut iter = fields.iter();
        assert_eq!(iter.next(), Some(Field { name: "A", value: b"b" }));
        assert_eq!(iter.next(), Some(Field { name: "C", value: b"" }));
        assert_eq!((iter.next(), iter.next()), (None, None));
        assert_eq!((fields.get("c"), fields.get("x")), (Some(&b""[..]), None));
        let copy = fields.as_bytes().to_vec();
        assert!(Fields::from_copy(&copy).iter().eq(fields));
        assert!(Fields::from_copy(b"\xff: a\r\n").is_empty() && Fields::from_copy(b"a: b").is_empty());
    }
}
