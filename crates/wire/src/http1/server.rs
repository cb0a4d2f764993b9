//! The server's side of one connection: requests out of bytes.
//!
//! ```
//! use brunt_wire::http1::{Limits, Response, DateHeader, server::{Connection, Event}};
//!
//! let (limits, stamp) = (Limits::default(), DateHeader::new(Some("doc"), 784111777).unwrap());
//! let (mut connection, mut out) = (Connection::default(), Vec::new());
//! let mut answered = false;
//! let mut input = &b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"[..];
//! while let Some(event) = connection.next(&mut input, &limits) {
//!     match event {
//!         Event::Head(head) => {
//!             let response = Response::new(&mut out, head.meta(), &stamp, 200).unwrap();
//!             let _after = response.body(head.path().as_bytes());
//!             answered = true;
//!         }
//!         Event::End(_) => answered = false,
//!         Event::Error(fault) if !answered => {
//!             let _close = Response::error(&mut out, &stamp, fault);
//!         }
//!         Event::Body(_) | Event::Trailers(_) | Event::Error(_) => {}
//!     }
//! }
//! // Both answers are in `out`, in order, for one write.
//! assert_eq!(out.windows(6).filter(|bytes| bytes == b"200 OK").count(), 2);
//! ```

use super::{
    Body, Fields, Head, Limits, ParseError, Persistence,
    parse::{
        body::Decoder,
        body_reader::{self, Part},
        partial::Partial,
        request_head::{self, Parsed},
        trailers,
    },
};

/// What happens next on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// A request begins. It may be answered at once; what follows until [`Event::End`] belongs to it.
    Head(Head<'a>),
    /// Bytes of its body, at least one. Where the body is cut depends on how it arrived. To drop them is to drain them.
    Body(&'a [u8]),
    /// The trailer fields of a chunked body, if there are any. They are not fields of the head and must not be taken for
    /// such (RFC 9110, section 6.5.1).
    Trailers(Fields<'a>),
    /// The request is complete. After [`Persistence::Close`] the client wants no more answers, and nothing follows.
    End(Persistence),
    /// The bytes are refused: answer with [`Response::error`](super::Response::error) behind the answers already owed,
    /// then close. Nothing follows. If this comes between the head and the end of a request that has been answered, only
    /// close: two answers to one request would make the second the answer to the next.
    Error(ParseError),
}

/// What a connection waits for, for those who have deadlines to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// A request, of which nothing has arrived.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body or trailer section.
    Body,
    /// Nothing: it is to be closed.
    Closed,
}

/// The reading half of a server's connection. Writing needs no state: see [`Response`](super::Response).
#[derive(Debug)]
pub struct Connection {
    partial: Partial,
    body: Decoder,
    phase: Phase,
    /// What [`Event::End`] will say.
    last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
    Closed,
}

/// Many connections do nothing most of the time: a million of them must fit in 40 MB.
const _: () = assert!(size_of::<Connection>() <= 40);

impl Default for Connection {
    fn default() -> Self {
        Self { partial: Partial::default(), body: Decoder::new(Body::Empty), phase: Phase::Head, last: false }
    }
}

impl Connection {
    /// The next event in `input`, which is moved past the bytes that were used. `None` when all are: read more.
    ///
    /// To be called until it returns `None`; only then is `input` empty. Never blocks, and never keeps a reference to
    /// `input`. A peer that stops sending is found out with [`Connection::eof`].
    #[inline]
    pub fn next<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match self.phase {
            Phase::Head if input.is_empty() => None,
            Phase::Head => self.head(input, limits),
            Phase::Body if matches!(self.body, Decoder::Sized(0)) && self.partial.is_none() => Some(self.end()),
            Phase::Body => self.body(input, limits),
            Phase::Closed => {
                *input = &[];
                None
            }
        }
    }

    /// Whether the next byte is the first of a request.
    #[inline]
    pub fn begins(&self) -> bool {
        self.phase == Phase::Head && self.partial.is_none()
    }

    /// Goes past the [`Event::End`] that follows the head of a request without a body, for those who have no use for it:
    /// nothing if anything else is next. What it would have said is [`Head::keeps_alive`].
    #[inline]
    pub fn skip_end(&mut self) {
        if self.phase == Phase::Body && matches!(self.body, Decoder::Sized(0)) && self.partial.is_none() {
            let _known_from_the_head = self.end();
        }
    }

    /// The peer will send no more. `None` if that was in order: what is owed is still to be answered, the peer may have
    /// closed only its half. A fault if it was in the middle of a request (RFC 9112, section 8).
    pub fn eof(&mut self) -> Option<ParseError> {
        let waiting = self.waiting();
        self.close();
        matches!(waiting, Waiting::Head | Waiting::Body).then_some(ParseError::Truncated)
    }

    /// What it waits for.
    pub fn waiting(&self) -> Waiting {
        match self.phase {
            // RFC 9112, 2.2: the CRLF that some clients send behind a body begins no request.
            Phase::Head if self.partial.bytes().iter().all(|byte| matches!(byte, b'\r' | b'\n')) => Waiting::Idle,
            Phase::Head => Waiting::Head,
            Phase::Body => Waiting::Body,
            Phase::Closed => Waiting::Closed,
        }
    }

    /// Takes no more requests: what else arrives is thrown away.
    pub fn close(&mut self) {
        self.partial.clear();
        self.phase = Phase::Closed;
    }

    // Not inlined: its frame is large, and most calls end before it.
    #[inline(never)]
    fn head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        if !self.partial.is_none() {
            return self.torn_head(input, limits);
        }
        match request_head::parse(input, limits) {
            Ok(Parsed::Head(head, end)) => {
                *input = &input[end..];
                self.begin(&head);
                Some(Event::Head(head))
            }
            Ok(Parsed::More | Parsed::LaterMinor(_)) => self.torn_head(input, limits),
            Err(fault) => self.fault(fault, input),
        }
    }

    #[inline]
    fn begin(&mut self, head: &Head<'_>) {
        self.body = Decoder::new(head.body);
        self.last = !head.keeps_alive();
        self.phase = Phase::Body;
    }

    #[cold]
    fn torn_head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let before = self.partial.append(input, limits.head);
        let end = loop {
            match request_head::parse(self.partial.bytes(), limits) {
                Ok(Parsed::Head(head, end)) => {
                    (self.body, self.last) = (Decoder::new(head.body), !head.keeps_alive());
                    break end;
                }
                Ok(Parsed::More) => {
                    *input = &[];
                    return None;
                }
                Ok(Parsed::LaterMinor(at)) => self.partial.patch(at, b'1'),
                Err(fault) => return self.fault(fault, input),
            }
        };
        self.phase = Phase::Body;
        *input = input.get(end.saturating_sub(before)..).unwrap_or_default();
        // Parsed a second time, for a view that outlives the loop: the borrow checker sees no other way.
        match request_head::parse(self.partial.bytes(), limits) {
            Ok(Parsed::Head(head, _)) => Some(Event::Head(head)),
            _ => None,
        }
    }

    #[inline]
    fn end(&mut self) -> Event<'static> {
        self.phase = if self.last { Phase::Closed } else { Phase::Head };
        Event::End(Persistence::keep_if(!self.last))
    }

    #[inline(never)]
    fn body<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match body_reader::next(&mut self.body, &mut self.partial, input, limits) {
            Ok(Part::Data(data)) => Some(Event::Body(data)),
            Ok(Part::Trailers(fields)) => Some(Event::Trailers(fields)),
            Ok(Part::KeptTrailers) => Some(Event::Trailers(trailers::view(self.partial.bytes()))),
            Ok(Part::End) => Some(self.end()),
            Ok(Part::More) => None,
            Err(fault) => self.fault(fault, input),
        }
    }

    #[cold]
    fn fault<'c>(&mut self, fault: ParseError, input: &mut &[u8]) -> Option<Event<'c>> {
        *input = &[];
        self.close();
        Some(Event::Error(fault))
    }
}
