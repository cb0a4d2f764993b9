//! What follows a head, for both ends: the body, and after a chunked one its trailer section.

use super::body::Decoder;
use super::chunked::Piece;
use super::partial::Partial;
use super::trailers::{self, Section};
use crate::http1::{Body, Fields, Limits, ParseError};

/// The next part of a message.
pub(crate) enum Part<'a> {
    /// Bytes of the body, at least one.
    Data(&'a [u8]),
    /// A trailer section with at least one field.
    Trailers(Fields<'a>),
    End,
    /// The input is used up.
    More,
    /// The connection cannot be used any more; input and buffer are cleared.
    Error(ParseError),
}

/// Takes the next part from `input`. `partial` collects an incomplete trailer section; a head that it still holds has been
/// processed and is dropped.
#[inline]
pub(crate) fn next<'c, 'i: 'c>(
    body: &mut Decoder,
    partial: &'c mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
) -> Part<'c> {
    if !partial.is_none() && !body.is_in_trailers() {
        partial.clear();
    }
    let section = match body.next(input, limits) {
        Ok(Piece::Data(data)) => return Part::Data(data),
        Ok(Piece::End) => return Part::End,
        Ok(Piece::More) => return Part::More,
        Ok(Piece::Trailers) => trailers::read(partial, input, limits),
        Err(error) => Err(error),
    };
    let section = match section {
        Ok(Section::More) => return Part::More,
        Ok(section) => section,
        Err(error) => {
            partial.clear();
            *input = &[];
            return Part::Error(error);
        }
    };
    *body = Decoder::new(Body::Empty);
    match section {
        Section::Complete(fields) => Part::Trailers(fields),
        Section::InBuffer => Part::Trailers(Fields::from_bytes(partial.bytes())),
        Section::Empty | Section::More => {
            partial.clear();
            Part::End
        }
    }
}
