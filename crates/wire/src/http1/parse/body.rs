//! The end of a body: by length, by chunks, or with the connection. Bytes are passed on, never buffered.
//!
//! The chunked coding (RFC 9112, 7.1) is read by size lines byte by byte, and by data in slices. It is strict, because
//! differences between parsers here allow request smuggling: sizes are hexadecimal digits only, lines end in CRLF only.
//! Extensions are validated, bounded and discarded. A lenient client reads a byte again that the grammar has not.

use crate::http1::{Leniencies, Leniency, Limits, ParseError, fields::is_token};

/// The body announced by a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// None, or one of length 0.
    Empty,
    /// A length in bytes, more than 0.
    Sized(u64),
    /// Chunked.
    Chunked,
    /// All until the peer closes: responses only.
    UntilClose,
}

/// Delimits one body.
#[derive(Debug)]
pub(crate) enum Decoder {
    /// Bytes left.
    Sized(u64),
    Chunked(Chunks),
    UntilClose,
}

impl Decoder {
    #[inline]
    pub fn new(body: Body) -> Self {
        match body {
            Body::Empty => Self::Sized(0),
            Body::Sized(length) => Self::Sized(length),
            Body::Chunked => Self::Chunked(Chunks::default()),
            Body::UntilClose => Self::UntilClose,
        }
    }

    /// Whether the body has ended and its trailer section has not.
    #[inline]
    pub fn is_in_trailers(&self) -> bool {
        matches!(self, Self::Chunked(chunks) if chunks.is_over())
    }

    /// Takes the next part of the body from `input`. What is accepted leniently is added to `accepted`; without, nothing is.
    #[inline]
    pub fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &Limits,
        accepted: Option<&mut Leniencies>,
    ) -> Result<Piece<'i>, ParseError> {
        match self {
            Self::Sized(0) => Ok(Piece::End),
            _ if input.is_empty() => Ok(Piece::More),
            Self::Sized(left) => Ok(Piece::Data(take(input, left))),
            Self::Chunked(chunks) => chunks.next(input, limits, accepted),
            Self::UntilClose => Ok(Piece::Data(std::mem::take(input))),
        }
    }
}

/// The next part of a body.
pub(crate) enum Piece<'i> {
    /// Bytes of the body, at least one.
    Data(&'i [u8]),
    /// The body has ended; its trailer section follows.
    Trailers,
    End,
    /// The input is used up.
    More,
}

#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// The size as parsed so far, then the bytes left of the chunk.
    left: u64,
    /// Sum of all chunk sizes so far.
    total: u64,
    /// Bytes of extensions so far, of all chunks.
    extensions: u32,
    digits: u8,
    at: At,
}

/// The element that the next byte belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// White space before the `;` of an extension, which RFC 9112, 7.1.1, requires to be parsed.
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
    /// Consumes `input` up to the next data or the end of the last chunk.
    pub fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &Limits,
        mut accepted: Option<&mut Leniencies>,
    ) -> Result<Piece<'i>, ParseError> {
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
                if let Err(error) = self.step(*byte, limits) {
                    self.step_leniently(*byte, limits, error, accepted.as_deref_mut())?;
                }
            }
        }
    }

    pub fn is_over(&self) -> bool {
        self.at == At::Over
    }

    /// Parses one byte that is not data.
    fn step(&mut self, byte: u8, limits: &Limits) -> Result<(), ParseError> {
        self.at = match self.at {
            At::Size => match byte {
                b'0'..=b'9' => return self.digit(byte - b'0'),
                b'a'..=b'f' | b'A'..=b'F' => return self.digit((byte | 0x20) - b'a' + 10),
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

    /// Parses a byte that [`Self::step`] has refused, which has changed nothing: a line may end in LF alone (RFC 9112, 2.2),
    /// white space or a semicolon may follow a size.
    #[cold]
    fn step_leniently(
        &mut self,
        byte: u8,
        limits: &Limits,
        error: ParseError,
        accepted: Option<&mut Leniencies>,
    ) -> Result<(), ParseError> {
        let Some(accepted) = accepted else { return Err(error) };
        let at = self.at;
        let is_blank = matches!(at, At::Gap | At::NameGap | At::NameStart);
        let is_in_line = is_blank || matches!(at, At::Name | At::Value | At::QuotedEnd);
        match (at, byte) {
            (At::DataCr, b'\n') => self.at = At::Size,
            (_, b'\r') if is_blank => self.at = At::SizeLf,
            (At::Size, b'\n') if self.digits > 0 => self.size(limits)?,
            (_, b'\n') if is_in_line => self.size(limits)?,
            _ => return Err(error),
        }
        if is_blank {
            accepted.insert(Leniency::ChunkSpace);
        }
        if byte == b'\n' {
            accepted.insert(Leniency::BareLf);
        }
        Ok(())
    }

    /// Adds a digit to the size. Limited to 16, which are enough for 64 bits.
    fn digit(&mut self, value: u8) -> Result<(), ParseError> {
        self.digits += 1;
        if self.digits > 16 {
            return Err(ParseError::ChunkSize);
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(())
    }

    /// Ends the size line.
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

/// Takes at most `left` bytes of `input`, and subtracts their number from `left`.
#[inline]
pub(crate) fn take<'i>(input: &mut &'i [u8], left: &mut u64) -> &'i [u8] {
    let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    let (taken, rest) = input.split_at(length);
    *input = rest;
    *left -= length as u64;
    taken
}
