//! The chunked coding (RFC 9112, section 7.1), one byte of a size line at a time and one slice of data at a time.
//!
//! Sizes are hexadecimal digits and nothing else; lines end in CRLF and nothing else. Extensions are checked, bounded and
//! thrown away. This is the favourite place of request smugglers: nothing is forgiven here that others read differently.

use crate::http1::{Limits, ParseError, fields::is_token};

/// What comes next.
pub(crate) enum Piece<'i> {
    /// Bytes of the body, at least one.
    Data(&'i [u8]),
    /// The body is over; its trailer section follows.
    Trailers,
    /// The body is over.
    End,
    /// The input is used up.
    More,
}

/// Follows one chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// The size as read so far; then bytes of the chunk still to come.
    left: u64,
    /// Body bytes in all chunks announced so far.
    total: u64,
    /// Bytes of extensions so far.
    extensions: u32,
    /// Digits of the size so far.
    digits: u8,
    at: At,
}

/// What the next byte is part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// White space before the `;` of an extension: nobody sends it, but RFC 9112 says that it "MUST" be understood.
    Gap,
    NameStart,
    Name,
    NameGap,
    ValueStart,
    Value,
    Quoted,
    Escaped,
    QuotedEnd,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Over,
}

impl Chunks {
    /// Takes from `input` until there is data to hand out, or the last chunk has been read.
    pub fn next<'i>(&mut self, input: &mut &'i [u8], limits: &Limits) -> Result<Piece<'i>, ParseError> {
        loop {
            if self.is_over() {
                return Ok(Piece::Trailers);
            }
            if input.is_empty() {
                return Ok(Piece::More);
            }
            if self.at == At::Data {
                let data = take(input, &mut self.left);
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                return Ok(Piece::Data(data));
            }
            if let Some((byte, rest)) = input.split_first() {
                *input = rest;
                self.step(*byte, limits)?;
            }
        }
    }

    /// The last chunk has been read.
    pub fn is_over(&self) -> bool {
        self.at == At::Over
    }

    /// Reads one byte that is not data.
    fn step(&mut self, byte: u8, limits: &Limits) -> Result<(), ParseError> {
        self.at = match self.at {
            At::Size => match byte {
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => return self.digit(byte),
                _ if self.digits == 0 => return Err(ParseError::ChunkSize),
                b'\r' => At::SizeLf,
                b';' => At::NameStart,
                b' ' | b'\t' => At::Gap,
                _ => return Err(ParseError::ChunkSize),
            },
            At::SizeLf if byte == b'\n' => return self.size(limits),
            At::SizeLf => return Err(ParseError::LineEnding),
            At::DataCr if byte == b'\r' => At::DataLf,
            At::DataLf if byte == b'\n' => At::Size,
            At::DataCr | At::DataLf => return Err(ParseError::ChunkEnd),
            in_extension => extension(in_extension, byte)?,
        };
        if !matches!(self.at, At::Size | At::SizeLf | At::DataLf) {
            self.extensions += 1;
            if self.extensions > limits.chunk_extensions {
                return Err(ParseError::ChunkExtensionsTooLong);
            }
        }
        Ok(())
    }

    /// One more digit of a size. Sixteen are enough for 64 bits; more would be zeros sent to keep us busy.
    fn digit(&mut self, byte: u8) -> Result<(), ParseError> {
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.digits += 1;
        if self.digits > 16 {
            return Err(ParseError::ChunkSize);
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(())
    }

    /// The size line is over.
    fn size(&mut self, limits: &Limits) -> Result<(), ParseError> {
        self.digits = 0;
        self.at = if self.left == 0 { At::Over } else { At::Data };
        match self.total.checked_add(self.left) {
            Some(total) if total <= limits.body => self.total = total,
            // RFC 9110, 15.5.14.
            _ => return Err(ParseError::BodyTooLong),
        }
        Ok(())
    }
}

/// `chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )` (RFC 9112, section 7.1.1).
fn extension(at: At, byte: u8) -> Result<At, ParseError> {
    let blank = byte == b' ' || byte == b'\t';
    Ok(match (at, byte) {
        (At::Gap, b';') => At::NameStart,
        (At::Gap, _) if blank => At::Gap,
        (At::NameStart, _) if blank => At::NameStart,
        (At::NameStart | At::Name, _) if is_token(byte) => At::Name,
        (At::Name | At::NameGap, b'=') => At::ValueStart,
        (At::Name | At::NameGap | At::Value | At::QuotedEnd, b';') => At::NameStart,
        (At::Name | At::Value | At::QuotedEnd, b'\r') => At::SizeLf,
        (At::Name | At::NameGap, _) if blank => At::NameGap,
        (At::ValueStart, _) if blank => At::ValueStart,
        (At::ValueStart, b'"') => At::Quoted,
        (At::ValueStart | At::Value, _) if is_token(byte) => At::Value,
        (At::Value | At::QuotedEnd, _) if blank => At::Gap,
        (At::Quoted, b'"') => At::QuotedEnd,
        (At::Quoted, b'\\') => At::Escaped,
        (At::Quoted | At::Escaped, b'\t' | b' '..=b'~' | 0x80..) => At::Quoted,
        _ => return Err(ParseError::ChunkExtension),
    })
}

/// Takes at most `left` bytes and counts them off.
#[inline]
pub(crate) fn take<'i>(input: &mut &'i [u8], left: &mut u64) -> &'i [u8] {
    let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    let (taken, rest) = input.split_at(length);
    *input = rest;
    *left -= length as u64;
    taken
}
