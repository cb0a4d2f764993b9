//! Parsing of heads, bodies and trailer sections.

use super::ParseError;

pub(super) mod body;
pub(super) mod body_reader;
mod fast_path;
mod framing_headers;
pub(super) mod head_cache;
pub(super) mod lenient;
mod lenient_framing;
pub(super) mod request_head;
pub(super) mod response_head;
pub(super) mod scan;
pub(super) mod target;

fn from_httparse(error: httparse::Error) -> ParseError {
    match error {
        httparse::Error::HeaderName => ParseError::FieldName,
        httparse::Error::HeaderValue => ParseError::FieldValue,
        httparse::Error::NewLine => ParseError::LineEnding,
        httparse::Error::Status => ParseError::StatusLine,
        httparse::Error::Token => ParseError::RequestLine,
        httparse::Error::TooManyHeaders => ParseError::TooManyFields,
        httparse::Error::Version => ParseError::VersionSyntax,
    }
}

/// The buffer for an incomplete head or trailer section. One word while there is none.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word instead of three in each idle connection")]
pub(crate) struct Partial(Option<Box<Vec<u8>>>);

impl Partial {
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Appends from `input` up to a total of `limit` bytes; returns how many there were before.
    pub fn append(&mut self, input: &[u8], limit: usize) -> usize {
        let kept = self.0.get_or_insert_default();
        let before = kept.len();
        let room = limit.saturating_sub(before);
        kept.extend_from_slice(&input[..room.min(input.len())]);
        before
    }

    pub fn patch(&mut self, at: usize, byte: u8) {
        if let Some(place) = self.0.as_mut().and_then(|kept| kept.get_mut(at)) {
            *place = byte;
        }
    }

    pub fn replace(&mut self, bytes: Vec<u8>) {
        **self.0.get_or_insert_default() = bytes;
    }

    #[inline]
    pub fn clear(&mut self) {
        self.0 = None;
    }
}
