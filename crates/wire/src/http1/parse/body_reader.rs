//! What follows a head, the same at both ends: the body, and behind a chunked one its trailer section.

use super::{
    body::Decoder,
    chunked::Piece,
    partial::Partial,
    trailers::{self, Section},
};
use crate::http1::{Body, Fields, Limits, ParseError};

/// The next part of it.
pub(crate) enum Part<'i> {
    /// Bytes of the body, at least one.
    Data(&'i [u8]),
    /// A trailer section that is not empty.
    Trailers(Fields<'i>),
    /// One that came in pieces and lies in the buffer: see [`trailers::view`].
    KeptTrailers,
    /// That was all.
    End,
    /// The input is used up.
    More,
}

/// Takes the next part from `input`. `partial` gathers a torn trailer section; a torn head that lies there has been looked
/// at by now.
#[inline]
pub(crate) fn next<'i>(
    body: &mut Decoder,
    partial: &mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
) -> Result<Part<'i>, ParseError> {
    if !partial.is_none() && !body.is_in_trailers() {
        partial.clear();
    }
    Ok(match body.next(input, limits)? {
        Piece::Data(data) => Part::Data(data),
        Piece::Trailers => section(body, partial, input, limits)?,
        Piece::End => Part::End,
        Piece::More => Part::More,
    })
}

fn section<'i>(
    body: &mut Decoder,
    partial: &mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
) -> Result<Part<'i>, ParseError> {
    let part = match trailers::read(partial, input, limits)? {
        Section::More => return Ok(Part::More),
        Section::Empty => Part::End,
        Section::Whole(fields) => Part::Trailers(fields),
        Section::Kept => Part::KeptTrailers,
    };
    *body = Decoder::new(Body::Empty);
    Ok(part)
}
