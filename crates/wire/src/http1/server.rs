//! The server's side of one connection: parses requests.

use super::parse::Partial;
use super::parse::body::Decoder;
use super::parse::body_reader::{self, Part};
use super::parse::request_head::{self, Parsed};
use super::{Body, Fields, Head, Limits, ParseError, Persistence};

/// An event of a server's connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// A request begins. It may be responded to at once; all events until [`Event::End`] belong to it.
    Head(Head<'a>),
    /// Bytes of its body, at least one. Their division depends on how they arrived. Ignoring them drains the body.
    Body(&'a [u8]),
    /// The trailer fields of a chunked body, if there are any. Must not be treated as fields of the head (RFC 9110, 6.5.1).
    Trailers(Fields<'a>),
    /// The request is complete. [`Persistence::Close`]: the client expects no further responses, and nothing follows.
    End(Persistence),
    /// The input is invalid. Write [`Response::error`](super::Response::error) after the responses already due, then close.
    /// Between the head and the end of a request that has been responded to, only close: a second response would be taken
    /// for that to the next request. Nothing follows.
    Error(ParseError),
}

/// What a connection waits for; selects the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// The first byte of a request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body or trailer section.
    Body,
    /// Nothing: it is to be closed.
    Closed,
}

/// The reading half of a server's connection. Writing is stateless: see [`Response`](super::Response).
#[derive(Debug)]
pub struct Connection {
    partial: Partial,
    body: Decoder,
    phase: Phase,
    /// Whether the connection ends with this request.
    last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
    Closed,
}

/// A million idle connections fit in 40 MB.
const _: () = assert!(size_of::<Connection>() <= 40);

impl Default for Connection {
    fn default() -> Self {
        Self { partial: Partial::default(), body: Decoder::new(Body::Empty), phase: Phase::Head, last: false }
    }
}

impl Connection {
    /// Returns the next event in `input`, and advances `input` past the bytes used. `None` means that all are used.
    ///
    /// Call it until it returns `None`. Keeps no reference to `input`. Report the end of the stream with
    /// [`Connection::eof`].
    #[inline]
    pub fn next<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match self.phase {
            Phase::Head if input.is_empty() => None,
            Phase::Head => self.head(input, limits),
            Phase::Body if self.has_ended() => Some(self.end()),
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

    /// Whether the body is complete, without a trailer section.
    #[inline]
    fn has_ended(&self) -> bool {
        matches!(self.body, Decoder::Sized(0)) && self.partial.is_none()
    }

    /// Reports that the client sends no more. Returns an error if that is within a request (RFC 9112, 8). Otherwise
    /// responses may still be due: the client may have closed only its sending half.
    pub fn eof(&mut self) -> Option<ParseError> {
        let waiting = self.waiting();
        self.close();
        matches!(waiting, Waiting::Head | Waiting::Body).then_some(ParseError::Truncated)
    }

    /// What it waits for.
    pub fn waiting(&self) -> Waiting {
        match self.phase {
            // RFC 9112, 2.2: a CRLF after a body, which some clients send, does not begin a request.
            Phase::Head if self.partial.bytes().iter().all(|byte| matches!(byte, b'\r' | b'\n')) => Waiting::Idle,
            Phase::Head => Waiting::Head,
            Phase::Body => Waiting::Body,
            Phase::Closed => Waiting::Closed,
        }
    }

    /// Stops parsing: further input is discarded.
    pub fn close(&mut self) {
        self.partial.clear();
        self.phase = Phase::Closed;
    }

    // Not inlined: its stack frame is large, and most calls do not get here.
    #[inline(never)]
    fn head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        if !self.partial.is_none() {
            return self.partial_head(input, limits);
        }
        match request_head::parse(input, limits) {
            Ok(Parsed::Head(head, end)) => {
                *input = &input[end..];
                (self.body, self.last, self.phase) = (Decoder::new(head.body), !head.keeps_alive(), Phase::Body);
                Some(Event::Head(head))
            }
            Ok(Parsed::More | Parsed::LaterMinor(_)) => self.partial_head(input, limits),
            Err(error) => self.error(error, input),
        }
    }

    /// Collects a head that arrives in several pieces.
    #[cold]
    fn partial_head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let before = self.partial.append(input, limits.head);
        let end = loop {
            match request_head::parse(self.partial.bytes(), limits) {
                Ok(Parsed::Head(head, end)) => {
                    (self.body, self.last, self.phase) = (Decoder::new(head.body), !head.keeps_alive(), Phase::Body);
                    break end;
                }
                Ok(Parsed::More) => {
                    *input = &[];
                    return None;
                }
                Ok(Parsed::LaterMinor(at)) => self.partial.patch(at, b'1'),
                Err(error) => return self.error(error, input),
            }
        };
        *input = input.get(end.saturating_sub(before)..).unwrap_or_default();
        // Parsed again, for a view that outlives the loop: the borrow checker accepts no other way.
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
        // The events borrow `partial`: below only other fields may change.
        Some(match body_reader::next(&mut self.body, &mut self.partial, input, limits, None) {
            Part::Data(data) => Event::Body(data),
            Part::Trailers(fields) => Event::Trailers(fields),
            Part::More => return None,
            Part::End => {
                self.phase = if self.last { Phase::Closed } else { Phase::Head };
                Event::End(Persistence::keep_if(!self.last))
            }
            Part::Error(error) => {
                self.phase = Phase::Closed;
                Event::Error(error)
            }
        })
    }

    #[cold]
    fn error<'c>(&mut self, error: ParseError, input: &mut &[u8]) -> Option<Event<'c>> {
        *input = &[];
        self.close();
        Some(Event::Error(error))
    }
}
