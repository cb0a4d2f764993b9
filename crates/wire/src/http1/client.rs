//! The client's side of one connection: parses responses, and matches them to requests.

use super::fields::Ascii;
use super::parse::Partial;
use super::parse::body::Decoder;
use super::parse::body_reader::{self, Part};
use super::parse::{lenient, response_head};
use super::{Body, EncodeError, Fields, Leniencies, Leniency, Limits, ParseError, Persistence, Refusal};
pub use super::{
    encode::request::{Request, SentRequest},
    parse::{head_cache::HeadCache, response_head::Head},
};

/// An event of a client's connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// A 1xx response; the final one follows.
    Interim(Head<'a>),
    /// A final response begins.
    Head(Head<'a>),
    /// Bytes of its body, at least one.
    Body(&'a [u8]),
    /// The trailer fields of a chunked body, if there are any.
    Trailers(Fields<'a>),
    /// The response is complete, and so is the oldest outstanding request. Nothing follows [`Persistence::Close`].
    End(Persistence),
    /// The input is invalid or incomplete. Nothing follows: close.
    Error(ParseError),
}

impl<'a> Event<'a> {
    #[inline]
    fn of(head: Head<'a>) -> Self {
        if head.is_interim() { Self::Interim(head) } else { Self::Head(head) }
    }
}

/// A final response that arrived in one piece.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs)]
pub struct WholeResponse<'a> {
    pub head: Head<'a>,
    pub body: &'a [u8],
}

/// The reading half of a client's connection, and the number of outstanding requests.
#[derive(Debug)]
pub struct Connection {
    partial: Partial,
    body: Decoder,
    /// Which of the oldest 64 outstanding requests are HEAD, the oldest in the lowest bit.
    heads: u64,
    /// Requests without a complete response.
    unanswered: u32,
    phase: Phase,
    /// Of the response under way.
    persistence: Persistence,
    /// What was accepted leniently since [`Self::take_accepted`].
    accepted: Leniencies,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    /// As `Head`, but the buffer holds an interim head that has been returned.
    Interim,
    Body,
    /// `101 Switching Protocols` has been returned; its end is next.
    Switching,
    /// The input belongs to another protocol.
    Switched,
    Closed,
}

impl Phase {
    #[inline]
    fn after(persistence: Persistence) -> Self {
        match persistence {
            Persistence::Keep => Self::Head,
            Persistence::Close => Self::Closed,
        }
    }
}

/// A load generator holds a million of them.
const _: () = assert!(size_of::<Connection>() <= 48);

impl Default for Connection {
    fn default() -> Self {
        Self {
            partial: Partial::default(),
            body: Decoder::new(Body::Empty),
            heads: 0,
            unanswered: 0,
            phase: Phase::Head,
            persistence: Persistence::Keep,
            accepted: Leniencies::default(),
        }
    }
}

impl Connection {
    /// Records a request that has been, or is about to be, sent. Responses are matched to requests in this order.
    ///
    /// # Errors
    /// [`EncodeError::PipelineTooDeep`] for HEAD after 64 or more outstanding requests.
    #[inline]
    pub fn sent(&mut self, request: SentRequest) -> Result<(), EncodeError> {
        if request.is_head {
            if self.unanswered >= u64::BITS {
                return Err(EncodeError::PipelineTooDeep);
            }
            self.heads |= 1 << self.unanswered;
        }
        self.unanswered += 1;
        Ok(())
    }

    /// Requests without a complete response. After a response that closes, it is unknown whether they were processed.
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// What was accepted leniently since the last call: after the end of a response, what it and its interim ones held.
    /// Responses of [`Self::next_whole`] and [`Self::next_cached`] hold nothing of the kind.
    pub fn take_accepted(&mut self) -> Leniencies {
        std::mem::take(&mut self.accepted)
    }

    /// Takes bytes that came without an outstanding request, also behind a response that closes: blank lines, if they are read
    /// leniently, else an error.
    pub fn unrequested(&mut self, mut bytes: &[u8], limits: &Limits) -> Option<ParseError> {
        match self.unsolicited(&mut bytes, limits)? {
            Event::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Why [`Event::Error`] came, until the next event or [`Self::eof`].
    pub fn refusal<'c>(&'c self, error: ParseError, limits: &'c Limits) -> Refusal<'c> {
        Refusal::new(error, self.partial.bytes(), limits)
    }

    /// Returns the next response and advances `input` past it, if `input` holds all of it. `None` changes nothing: call
    /// [`Self::next`], which handles every case.
    #[inline]
    pub fn next_whole<'i>(&mut self, input: &mut &'i [u8], limits: &Limits) -> Option<WholeResponse<'i>> {
        if !self.begins(input) {
            return None;
        }
        let parsed = response_head::parse(input, self.heads & 1 != 0, limits).ok()??;
        self.take_whole(input, parsed)
    }

    /// As [`Self::next_whole`], but faster if the head equals the one in `cache`, the last that was parsed. Connections that
    /// share a cache must use the same limits.
    #[inline]
    pub fn next_cached<'i>(
        &mut self,
        input: &mut &'i [u8],
        cache: &mut HeadCache,
        limits: &Limits,
    ) -> Option<WholeResponse<'i>> {
        if !self.begins(input) {
            return None;
        }
        let to_head = self.heads & 1 != 0;
        let parsed = match cache.get(input, to_head) {
            Some(cached) => cached,
            None => {
                let (head, end) = response_head::parse(input, to_head, limits).ok()??;
                cache.put(input, to_head, &head, end);
                (head, end)
            }
        };
        self.take_whole(input, parsed)
    }

    /// Whether `input` begins with a head.
    #[inline]
    fn begins(&self, input: &[u8]) -> bool {
        self.phase == Phase::Head && self.partial.is_none() && self.unanswered > 0 && !input.is_empty()
    }

    /// Takes a response whose head, of `end` bytes, has been parsed, if its body is complete.
    #[inline]
    fn take_whole<'i>(&mut self, input: &mut &'i [u8], (head, end): (Head<'i>, usize)) -> Option<WholeResponse<'i>> {
        let bytes = *input;
        let length = match head.body {
            Body::Empty => 0,
            Body::Sized(length) => usize::try_from(length).ok()?,
            _ => return None,
        };
        let body = bytes.get(end..)?.get(..length)?;
        if head.status < 200 {
            return None;
        }
        *input = &bytes[end + length..];
        self.persistence = head.persistence;
        self.complete();
        Some(WholeResponse { head, body })
    }

    /// Returns the next event in `input`, and advances `input` past the bytes used. `None` means that all are used, unless
    /// the protocol was switched. Call it until it returns `None`.
    #[inline]
    pub fn next<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match self.phase {
            Phase::Head => self.head(input, limits),
            Phase::Interim if input.is_empty() => None,
            Phase::Interim => {
                self.partial.clear();
                self.phase = Phase::Head;
                self.head(input, limits)
            }
            Phase::Body => self.body(input, limits),
            Phase::Switching => {
                self.partial.clear();
                self.complete();
                self.phase = Phase::Switched;
                Some(Event::End(Persistence::Keep))
            }
            Phase::Switched => None,
            Phase::Closed => {
                *input = &[];
                None
            }
        }
    }

    /// Reports that the server sends no more. Returns `None` if nothing is missing, [`Event::End`] if this ends the body
    /// (RFC 9112, 6.3, rule 8), else [`Event::Error`].
    pub fn eof(&mut self) -> Option<Event<'static>> {
        let event = match self.phase {
            Phase::Body if matches!(self.body, Decoder::UntilClose) => {
                self.persistence = Persistence::Close;
                self.complete();
                Some(Event::End(Persistence::Close))
            }
            Phase::Body => Some(Event::Error(ParseError::Truncated)),
            Phase::Head if !self.partial.is_none() => Some(Event::Error(ParseError::Truncated)),
            Phase::Head | Phase::Interim if self.unanswered > 0 => Some(Event::Error(ParseError::Unanswered)),
            Phase::Head | Phase::Interim | Phase::Switching | Phase::Switched | Phase::Closed => None,
        };
        self.close();
        event
    }

    fn close(&mut self) {
        self.partial.clear();
        self.phase = Phase::Closed;
    }

    /// Ends the response to the oldest request.
    #[inline]
    fn complete(&mut self) {
        (self.unanswered, self.heads) = (self.unanswered - 1, self.heads >> 1);
        self.phase = Phase::after(self.persistence);
    }

    fn head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let bytes = *input;
        if bytes.is_empty() {
            return None;
        }
        // RFC 9112, 9.2: unsolicited data must not be taken for a response.
        if self.unanswered == 0 {
            return self.unsolicited(input, limits);
        }
        if !self.partial.is_none() {
            return self.partial_head(input, limits);
        }
        match response_head::parse(bytes, self.heads & 1 != 0, limits) {
            Ok(Some((head, end))) => {
                *input = &bytes[end..];
                self.begin((head.status, head.body, head.persistence), false);
                Some(Event::of(head))
            }
            Ok(None) => self.partial_head(input, limits),
            Err(error) => {
                self.partial.append(bytes, limits.head);
                self.refused_head(error, 0, input, limits)
            }
        }
    }

    /// Prepares for what follows a head; `buffered`: the head is in the buffer and still to be returned.
    #[inline]
    fn begin(&mut self, (status, body, persistence): (u16, Body, Persistence), buffered: bool) {
        self.phase = match status {
            101 => Phase::Switching,
            // Not `Head`, so that the final head comes by this path: its response has what was accepted of interim ones.
            100..=199 if buffered || !self.accepted.is_empty() => Phase::Interim,
            100..=199 => Phase::Head,
            _ => {
                (self.body, self.persistence) = (Decoder::new(body), persistence);
                Phase::Body
            }
        };
    }

    #[cold]
    fn partial_head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let before = self.partial.append(input, limits.head);
        let to_head = self.heads & 1 != 0;
        let (next, end) = match response_head::parse(self.partial.bytes(), to_head, limits) {
            Ok(Some((head, end))) => ((head.status, head.body, head.persistence), end),
            Ok(None) => {
                *input = &[];
                return None;
            }
            Err(error) => return self.refused_head(error, before, input, limits),
        };
        self.begin(next, true);
        *input = input.get(end.saturating_sub(before)..).unwrap_or_default();
        // Parsed again, for a view that outlives the changes above: the borrow checker accepts no other way.
        let (head, _) = response_head::parse(self.partial.bytes(), to_head, limits).ok()??;
        Some(Event::of(head))
    }

    /// Reads a head leniently that the strict parser has refused. The buffer holds its bytes, the first `before` of which are
    /// not in `input`.
    #[cold]
    fn refused_head<'c, 'i: 'c>(
        &'c mut self,
        error: ParseError,
        before: usize,
        input: &mut &'i [u8],
        limits: &Limits,
    ) -> Option<Event<'c>> {
        if !limits.lenient {
            return self.error(error, input);
        }
        let head = match lenient::head(self.partial.bytes(), self.heads & 1 != 0, limits) {
            Ok(Some(head)) => head,
            Ok(None) => {
                *input = &[];
                return None;
            }
            Err(error) => return self.error(error, input),
        };
        *input = input.get(head.end.saturating_sub(before)..).unwrap_or_default();
        self.accepted.add(head.accepted);
        self.begin((head.status, head.body, head.persistence), true);
        let lenient::Rewritten { bytes, reason, .. } = head;
        self.partial.replace(bytes);
        let (reason, fields) = self.partial.bytes().split_at(reason.len());
        Some(Event::of(Head {
            status: head.status,
            version: head.version,
            fields: Fields::from_bytes(fields),
            body: head.body,
            persistence: head.persistence,
            reason: Ascii(reason),
        }))
    }

    /// Takes bytes without a request: blank lines before the next response, if they are read leniently.
    #[cold]
    fn unsolicited<'c>(&mut self, input: &mut &[u8], limits: &Limits) -> Option<Event<'c>> {
        if !limits.lenient {
            return self.error(ParseError::Unsolicited, input);
        }
        while let [b'\r' | b'\n', rest @ ..] = *input {
            self.accepted.insert(Leniency::BlankLine);
            *input = rest;
        }
        if input.is_empty() { None } else { self.error(ParseError::Unsolicited, input) }
    }

    #[inline]
    fn body<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        // The events borrow `partial`: below only other fields may change.
        let accepted = limits.lenient.then_some(&mut self.accepted);
        Some(match body_reader::next(&mut self.body, &mut self.partial, input, limits, accepted) {
            Part::Data(data) => Event::Body(data),
            Part::Trailers(fields) => Event::Trailers(fields),
            Part::More => return None,
            Part::End => {
                (self.unanswered, self.heads) = (self.unanswered - 1, self.heads >> 1);
                self.phase = Phase::after(self.persistence);
                Event::End(self.persistence)
            }
            Part::Error(error) => {
                self.phase = Phase::Closed;
                Event::Error(error)
            }
        })
    }

    /// Keeps the bytes at fault.
    #[cold]
    fn error<'c>(&mut self, error: ParseError, input: &mut &[u8]) -> Option<Event<'c>> {
        if self.partial.is_none() {
            self.partial.append(input, 256);
        }
        *input = &[];
        self.phase = Phase::Closed;
        Some(Event::Error(error))
    }
}
