//! The last head of a response, kept to be recognised: a server sends the same bytes again until its clock has moved on,
//! and comparing them takes a tenth of the instructions that parsing them does.
//!
//! What a head means depends on nothing but its bytes, on whether it answers HEAD, and on the limits; so a head that is
//! the same to the byte, down to its empty line, means the same. Nothing else is ever recognised.

use std::ops::Range;

use super::response_head::Head;
use crate::http1::{
    Body, Persistence, Version,
    fields::{Ascii, Fields, offset},
};

/// See [`Connection::next_cached`](super::client::Connection::next_cached). It may serve many connections, all with the
/// same limits.
#[derive(Debug, Default)]
pub struct HeadCache(Option<Kept>);

#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    to_head: bool,
    status: u16,
    version: Version,
    body: Body,
    persistence: Persistence,
    reason: Range<usize>,
    fields: Range<usize>,
}

impl HeadCache {
    /// The head that `bytes` begins with and where it ends, if it is the one that is kept.
    #[inline]
    pub(crate) fn recognise<'a>(&self, bytes: &'a [u8], to_head: bool) -> Option<(Head<'a>, usize)> {
        let kept = self.0.as_ref()?;
        if kept.to_head != to_head || !bytes.starts_with(&kept.bytes) {
            return None;
        }
        let head = Head {
            status: kept.status,
            version: kept.version,
            fields: Fields::from_first_line(bytes.get(kept.fields.clone())?),
            body: kept.body,
            persistence: kept.persistence,
            reason: Ascii(bytes.get(kept.reason.clone())?),
        };
        Some((head, kept.bytes.len()))
    }

    /// Keeps a head that was parsed from the first `end` of `bytes`, in the place of the one before.
    #[inline(never)]
    pub(crate) fn keep(&mut self, bytes: &[u8], to_head: bool, head: &Head<'_>, end: usize) {
        let mut buffer = self.0.take().map(|kept| kept.bytes).unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(&bytes[..end]);
        let range = |part: &[u8]| {
            let start = if part.is_empty() { 0 } else { offset(bytes, part) };
            start..start + part.len()
        };
        self.0 = Some(Kept {
            bytes: buffer,
            to_head,
            status: head.status,
            version: head.version,
            body: head.body,
            persistence: head.persistence,
            reason: range(head.reason.0),
            fields: range(head.fields.as_bytes()),
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::http1::{
        Limits,
        client::{Connection, SentRequest},
    };

    const REPLIES: &[&str] = &[
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nyo",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi!",
        "HTTP/1.1 200 Ok\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 204 \r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\nX:  y \r\n\r\nx",
        "HTTP/1.1 404 Not Found\r\nA: b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_recognised_is_what_would_have_been_parsed(
            replies in vec((prop::sample::select(REPLIES), any::<bool>(), prop::sample::select(&["", "HTTP"][..])), 1..12),
        ) {
            let (limits, mut known) = (Limits::CLIENT, HeadCache::default());
            for (reply, to_head, behind) in replies {
                let bytes = [reply, behind].concat();
                let read = |known: Option<&mut HeadCache>| {
                    let (mut connection, mut input) = (Connection::default(), bytes.as_bytes());
                    connection.sent(SentRequest::new(if to_head { "HEAD" } else { "GET" })).unwrap();
                    let whole = match known {
                        Some(known) => connection.next_cached(&mut input, known, &limits),
                        None => connection.next_whole(&mut input, &limits),
                    };
                    (format!("{whole:?}"), whole.map(|whole| whole.head.reason().to_owned()), input, connection.unanswered())
                };
                prop_assert_eq!(read(Some(&mut known)), read(None));
            }
        }
    }
}
