//! The end of a body: by length, by chunks, or with the connection. Bytes are passed on, never buffered.

use super::chunked::{Chunks, Piece, take};
use crate::http1::{Limits, ParseError};

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

    /// Takes the next part of the body from `input`.
    #[inline]
    pub fn next<'i>(&mut self, input: &mut &'i [u8], limits: &Limits) -> Result<Piece<'i>, ParseError> {
        match self {
            Self::Sized(0) => Ok(Piece::End),
            _ if input.is_empty() => Ok(Piece::More),
            Self::Sized(left) => Ok(Piece::Data(take(input, left))),
            Self::Chunked(chunks) => chunks.next(input, limits),
            Self::UntilClose => Ok(Piece::Data(std::mem::take(input))),
        }
    }
}
