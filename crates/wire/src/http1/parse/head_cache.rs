//! The last response head, for recognition: a server repeats the same bytes until its clock ticks, and comparing them takes
//! a tenth of the instructions of parsing them.
//!
//! The meaning of a head depends only on its bytes, on whether the request was HEAD, and on the limits. Only a head that is
//! equal byte for byte, including its empty line, is recognised.

use std::ops::Range;

use super::response_head::Head;
use crate::http1::fields::{Ascii, Fields, offset};
use crate::http1::{Body, Persistence, Version};

/// A cache for [`Connection::next_cached`](crate::http1::client::Connection::next_cached). Connections with the same limits
/// can share it.
#[derive(Debug, Default)]
pub struct HeadCache(Option<Entry>);

#[derive(Debug)]
struct Entry {
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
    /// Returns the head at the beginning of `bytes` and its length, if it is the cached one.
    #[inline]
    pub(crate) fn get<'a>(&self, bytes: &'a [u8], to_head: bool) -> Option<(Head<'a>, usize)> {
        let entry = self.0.as_ref()?;
        if entry.to_head != to_head || !bytes.starts_with(&entry.bytes) {
            return None;
        }
        let head = Head {
            status: entry.status,
            version: entry.version,
            fields: Fields::from_bytes(bytes.get(entry.fields.clone())?),
            body: entry.body,
            persistence: entry.persistence,
            reason: Ascii(bytes.get(entry.reason.clone())?),
        };
        Some((head, entry.bytes.len()))
    }

    /// Replaces the entry by a head that was parsed from the first `end` of `bytes`.
    #[inline(never)]
    pub(crate) fn put(&mut self, bytes: &[u8], to_head: bool, head: &Head<'_>, end: usize) {
        let mut buffer = self.0.take().map(|entry| entry.bytes).unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(&bytes[..end]);
        let range = |part: &[u8]| {
            let start = if part.is_empty() { 0 } else { offset(bytes, part) };
            start..start + part.len()
        };
        self.0 = Some(Entry {
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
    use crate::http1::Limits;
    use crate::http1::client::{Connection, SentRequest};

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
        fn cached_heads_equal_parsed_ones(
            replies in vec((prop::sample::select(REPLIES), any::<bool>(), prop::sample::select(&["", "HTTP"][..])), 1..12),
        ) {
            let (limits, mut cache) = (Limits::CLIENT, HeadCache::default());
            for (reply, to_head, behind) in replies {
                let bytes = [reply, behind].concat();
                let read = |cache: Option<&mut HeadCache>| {
                    let (mut connection, mut input) = (Connection::default(), bytes.as_bytes());
                    connection.sent(SentRequest::new(if to_head { "HEAD" } else { "GET" })).unwrap();
                    let whole = match cache {
                        Some(cache) => connection.next_cached(&mut input, cache, &limits),
                        None => connection.next_whole(&mut input, &limits),
                    };
                    (format!("{whole:?}"), whole.map(|whole| whole.head.reason().to_owned()), input, connection.unanswered())
                };
                prop_assert_eq!(read(Some(&mut cache)), read(None));
            }
        }
    }
}
