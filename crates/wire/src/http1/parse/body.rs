//! Where a body ends: by length, by chunks, or with the connection. Body bytes are passed on, never kept.

use super::chunked::{Chunks, Piece, take};
use crate::http1::{Limits, ParseError};

/// The body that a head announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// None, or one of length 0.
    Empty,
    /// As many bytes, more than 0.
    Sized(u64),
    /// Chunks.
    Chunked,
    /// All until the peer closes: responses only.
    UntilClose,
}

/// Finds the end of one body.
#[derive(Debug)]
pub(crate) enum Decoder {
    /// So many bytes to come.
    Sized(u64),
    /// Chunks to come.
    Chunked(Chunks),
    /// Who knows.
    UntilClose,
}

impl Decoder {
    /// For a body as announced.
    #[inline]
    pub fn new(body: Body) -> Self {
        match body {
            Body::Empty => Self::Sized(0),
            Body::Sized(length) => Self::Sized(length),
            Body::Chunked => Self::Chunked(Chunks::default()),
            Body::UntilClose => Self::UntilClose,
        }
    }

    /// The body is over, and its trailer section is not.
    #[inline]
    pub fn is_in_trailers(&self) -> bool {
        matches!(self, Self::Chunked(chunks) if chunks.is_over())
    }

    /// Takes from `input` what belongs to the body.
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
