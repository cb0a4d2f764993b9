//! Why a client has refused a response: the rule, with the field line or the bytes that break it.

use super::fields::{elements, is_token};
use super::{Limits, ParseError};
use std::fmt;

/// Most bytes of a line that are shown.
const SHOWN: usize = 60;

/// Why a response was refused.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    error: ParseError,
    bytes: &'a [u8],
    limits: &'a Limits,
}

impl<'a> Refusal<'a> {
    pub(crate) fn new(error: ParseError, bytes: &'a [u8], limits: &'a Limits) -> Self {
        Self { error, bytes, limits }
    }

    /// The head as far as received, or the bytes at fault of a body.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The field lines, or the beginning of one, without their ends.
    fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.skip_while(|line| line.is_empty()).skip(1).take_while(|line| !line.is_empty())
    }

    /// The values of all fields with this name.
    fn values(&self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.lines().filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            line[..colon].trim_ascii().eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
        })
    }

    /// The first field line of which this is true.
    fn line(&self, is_wrong: impl Fn(&[u8]) -> bool) -> Option<String> {
        self.lines().find(|line| is_wrong(line)).map(quoted)
    }

    /// The field or the line that breaks the rule.
    fn part(&self) -> Option<String> {
        match self.error {
            ParseError::FieldName => self.line(|line| !has_name(line)),
            ParseError::FieldValue => {
                self.line(|line| line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t'))
            }
            ParseError::LengthInvalid | ParseError::LengthRepeated => self.field("Content-Length"),
            ParseError::CodingInvalid | ParseError::CodingUnknown | ParseError::CodingInHttp10 => {
                self.field("Transfer-Encoding")
            }
            ParseError::LengthAndCoding => {
                let both = [self.field("Content-Length"), self.field("Transfer-Encoding")];
                Some(both.into_iter().flatten().collect::<Vec<_>>().join(" and "))
            }
            ParseError::TrailerForbidden => Some(quoted(self.bytes)),
            ParseError::HeadTooLong => Some(format!("more than {} B", self.limits.head)),
            ParseError::TooManyFields => Some(format!("more than {}", self.limits.fields)),
            ParseError::BodyTooLong => Some(format!("more than {} B", self.limits.body)),
            ParseError::ChunkExtensionsTooLong => Some(format!("more than {} B", self.limits.chunk_extensions)),
            ParseError::TrailersTooLong => Some(format!("more than {} B", self.limits.trailers)),
            _ => None,
        }
    }

    /// A field with all its values.
    fn field(&self, name: &'a str) -> Option<String> {
        let values: Vec<String> = self.values(name).map(quoted).collect();
        (!values.is_empty()).then(|| format!("{name} {}", values.join(" and ")))
    }

    /// Two lengths that differ.
    fn lengths(&self) -> Option<(String, String)> {
        let mut all = self.values("content-length").flat_map(elements).filter(|member| !member.is_empty());
        let first = all.next()?;
        let other = all.find(|member| *member != first)?;
        Some((String::from_utf8_lossy(first).into_owned(), String::from_utf8_lossy(other).into_owned()))
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.error == ParseError::LengthsDiffer
            && let Some((one, other)) = self.lengths()
        {
            return write!(f, "Content-Length {one} and {other} differ (RFC 9110 8.6)");
        }
        f.write_str(self.error.rule())?;
        self.part().map_or(Ok(()), |part| write!(f, ": {part}"))
    }
}

/// Whether a field line has a valid name, directly before its colon.
fn has_name(line: &[u8]) -> bool {
    let length = line.iter().take_while(|byte| is_token(**byte)).count();
    length > 0 && line.get(length) == Some(&b':')
}

fn quoted(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    format!("'{}{}'", shown.escape_ascii(), if bytes.len() > SHOWN { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use crate::http1::Limits;
    use crate::http1::client::{Connection, Event, SentRequest};

    /// The text for a response to GET.
    fn text(bytes: &str, limits: &Limits) -> String {
        let (mut connection, mut input) = (Connection::default(), bytes.as_bytes());
        connection.sent(SentRequest::new("GET")).unwrap();
        loop {
            let event = connection.next(&mut input, limits).expect("an error");
            if let Event::Error(error) = event {
                return connection.refusal(error, limits).to_string();
            }
        }
    }

    const OK: &str = "HTTP/1.1 200 OK\r\n";

    #[test]
    fn refusals_name_the_rule_and_the_field() {
        for (fields, expected) in [
            (
                "Content-Length: 2\r\nA: b\r\nContent-Length: 3\r\n\r\nhi!",
                "Content-Length 2 and 3 differ (RFC 9110 8.6)",
            ),
            (
                "Content-Length: 5x\r\n\r\n",
                "Content-Length is not a decimal number of 64 bits (RFC 9110 8.6): Content-Length '5x'",
            ),
            (
                "A: b\r\nX Y: c\r\n\r\n",
                "a field name is malformed, folded, or followed by white space (RFC 9112 5.1 and 5.2): 'X Y: c'",
            ),
            ("A: \0b\r\n\r\n", "a field value holds a control character (RFC 9110 5.5): 'A: \\x00b'"),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                "chunked must be the last transfer coding, once (RFC 9112 6.1): Transfer-Encoding 'chunked' and 'chunked'",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
                "a chunk size is not a hexadecimal number of 1 to 16 digits (RFC 9112 7.1)",
            ),
        ] {
            assert_eq!(text(&format!("{OK}{fields}"), &Limits::CLIENT), expected);
        }
        let strict = Limits { lenient: false, fields: 2, head: 90, ..Limits::CLIENT };
        for (fields, expected) in [
            (
                "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
                "Content-Length and Transfer-Encoding exclude each other (RFC 9112 6.3, rule 3): \
                 Content-Length '2' and Transfer-Encoding 'chunked'",
            ),
            ("A: b\r\nB: c\r\nC: d\r\n\r\n", "the head has too many fields (the limit `fields`): more than 2"),
        ] {
            assert_eq!(text(&format!("{OK}{fields}"), &strict), expected);
        }
        let long = format!("{OK}A: {}", "b".repeat(90));
        assert_eq!(text(&long, &strict), "the head is too long (the limit `head`): more than 90 B");
    }
}
