//! Parsing of heads, bodies and trailer sections.

use super::ParseError;

pub(super) mod body;
pub(super) mod body_reader;
mod chunked;
mod fast_path;
mod framing_headers;
pub(super) mod head_cache;
pub(super) mod partial;
pub(super) mod request_head;
pub(super) mod response_head;
pub(super) mod scan;
pub(super) mod target;
pub(super) mod trailers;

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
