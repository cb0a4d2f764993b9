//! The client's side of one connection: responses out of bytes, each told which request it answers.
//!
//! ```
//! use brunt_wire::http1::{Persistence, Limits, client::{Connection, Event, Request}};
//!
//! let (mut connection, mut out) = (Connection::default(), Vec::new());
//! let asked = Request::get("localhost:8080", "/").encode(&mut out, None).unwrap();
//! connection.sent(asked).unwrap();
//!
//! let mut input = &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..];
//! // Nearly every answer comes in one piece ...
//! let whole = connection.next_whole(&mut input, &Limits::CLIENT).unwrap();
//! assert_eq!((whole.head.status, whole.body, whole.head.persistence), (200, &b"hi"[..], Persistence::Keep));
//! // ... and what does not, comes as events.
//! assert!(connection.next(&mut input, &Limits::CLIENT).is_none());
//! ```

use super::{
    Body, EncodeError, Fields, Limits, ParseError, Persistence,
    parse::{
        body::Decoder,
        body_reader::{self, Part},
        partial::Partial,
        response_head, trailers,
    },
};
pub use super::{
    encode::request::{Request, SentRequest},
    parse::{head_cache::HeadCache, response_head::Head},
};

/// What happens next on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// A 1xx response: the final one is still to come.
    Interim(Head<'a>),
    /// A final response begins.
    Head(Head<'a>),
    /// Bytes of its body, at least one.
    Body(&'a [u8]),
    /// The trailer fields of a chunked body, if there are any.
    Trailers(Fields<'a>),
    /// The response is complete: the oldest unanswered request is answered. After [`Persistence::Close`] nothing follows.
    End(Persistence),
    /// The bytes are refused, or missing. Nothing follows: close.
    Error(ParseError),
}

/// A final response that came in one piece.
#[derive(Debug, Clone, Copy)]
pub struct WholeResponse<'a> {
    /// Its head; `head.persistence` says what becomes of the connection.
    pub head: Head<'a>,
    /// Its body, which may be empty.
    pub body: &'a [u8],
}

/// The reading half of a client's connection, and the count of what it waits for.
#[derive(Debug)]
pub struct Connection {
    partial: Partial,
    body: Decoder,
    /// Which of the oldest 64 unanswered requests are HEAD, the oldest in the lowest bit.
    heads: u64,
    unanswered: u32,
    phase: Phase,
    after: Persistence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    /// As `Head`, but the buffer holds an interim head that has been handed out.
    Interim,
    Body,
    /// `101 Switching Protocols` has been handed out: its end is next.
    Switching,
    /// The bytes are another protocol's.
    Switched,
    Closed,
}

/// What follows a head.
enum Next {
    Final(Body, Persistence),
    Interim,
    Switch,
}

impl Next {
    #[inline]
    fn after(head: &Head<'_>) -> Self {
        match head.status {
            101 => Self::Switch,
            100..=199 => Self::Interim,
            _ => Self::Final(head.body, head.persistence),
        }
    }
}

/// A generator holds a million of them.
const _: () = assert!(size_of::<Connection>() <= 48);

impl Default for Connection {
    fn default() -> Self {
        Self {
            partial: Partial::default(),
            body: Decoder::new(Body::Empty),
            heads: 0,
            unanswered: 0,
            phase: Phase::Head,
            after: Persistence::Keep,
        }
    }
}

impl Connection {
    /// A request has been, or is about to be, sent. Responses are matched to requests in this order.
    ///
    /// # Errors
    /// [`EncodeError::PipelineTooDeep`] for HEAD behind 64 or more unanswered requests.
    #[inline]
    pub fn sent(&mut self, asked: SentRequest) -> Result<(), EncodeError> {
        if asked.is_head {
            if self.unanswered >= u64::BITS {
                return Err(EncodeError::PipelineTooDeep);
            }
            self.heads |= 1 << self.unanswered;
        }
        self.unanswered += 1;
        Ok(())
    }

    /// Requests sent and not answered to the end. Behind a response that closes, they were not processed, or nobody knows.
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The next response, if all of it lies at the beginning of `input`, which is then moved past it. `None` changes
    /// nothing: call [`Self::next`], which understands what this does not.
    #[inline]
    pub fn next_whole<'i>(&mut self, input: &mut &'i [u8], limits: &Limits) -> Option<WholeResponse<'i>> {
        if !self.begins(input) {
            return None;
        }
        let parsed = response_head::parse(input, self.heads & 1 != 0, limits).ok()??;
        self.take_whole(input, parsed)
    }

    /// As [Self::next_whole], and faster where the head is the same to the byte as that of the response before, which `known`
    /// remembers over one connection or many. They have all to be read with the same limits.
    #[inline]
    pub fn next_cached<'i>(
        &mut self,
        input: &mut &'i [u8],
        known: &mut HeadCache,
        limits: &Limits,
    ) -> Option<WholeResponse<'i>> {
        if !self.begins(input) {
            return None;
        }
        let to_head = self.heads & 1 != 0;
        let parsed = match known.recognise(input, to_head) {
            Some(recognised) => recognised,
            None => {
                let (head, end) = response_head::parse(input, to_head, limits).ok()??;
                known.keep(input, to_head, &head, end);
                (head, end)
            }
        };
        self.take_whole(input, parsed)
    }

    /// Whether `input` begins with the head of a response, as far as it has come.
    #[inline]
    fn begins(&self, input: &[u8]) -> bool {
        self.phase == Phase::Head && self.partial.is_none() && self.unanswered > 0 && !input.is_empty()
    }

    /// Takes a response with its body, if that is all there; its head has been read up to where it ends.
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
        self.after = head.persistence;
        self.answered();
        Some(WholeResponse { head, body })
    }

    /// The next event in `input`, which is moved past the bytes that were used. `None` when all are: read more.
    ///
    /// To be called until it returns `None`; only then is `input` empty, unless the protocol was switched.
    #[inline]
    pub fn next<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match self.phase {
            Phase::Head => self.head(input, limits),
            Phase::Interim => {
                self.partial.clear();
                self.phase = Phase::Head;
                self.head(input, limits)
            }
            Phase::Body => self.body(input, limits),
            Phase::Switching => {
                self.partial.clear();
                self.answered();
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

    /// The server will send no more. `None` if nothing was missing; [`Event::End`] if this is how the body ends
    /// (RFC 9112, section 6.3, rule 8); else [`Event::Error`].
    pub fn eof(&mut self) -> Option<Event<'static>> {
        let event = match self.phase {
            Phase::Body if matches!(self.body, Decoder::UntilClose) => {
                self.answered();
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

    /// Counts the oldest request as answered.
    #[inline]
    fn answered(&mut self) {
        self.unanswered -= 1;
        self.heads >>= 1;
        self.phase = match self.after {
            Persistence::Keep => Phase::Head,
            Persistence::Close => Phase::Closed,
        };
    }

    fn head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let bytes = *input;
        if bytes.is_empty() {
            return None;
        }
        // RFC 9112, 9.2: data that answers nothing is not to be taken for a response.
        if self.unanswered == 0 {
            return self.fault(ParseError::Unsolicited, input);
        }
        if !self.partial.is_none() {
            return self.torn_head(input, limits);
        }
        match response_head::parse(bytes, self.heads & 1 != 0, limits) {
            Ok(Some((head, end))) => {
                *input = &bytes[end..];
                self.begin(Next::after(&head), false);
                Some(if head.is_interim() { Event::Interim(head) } else { Event::Head(head) })
            }
            Ok(None) => self.torn_head(input, limits),
            Err(fault) => self.fault(fault, input),
        }
    }

    /// Gets ready for what follows a head; `torn` is one that lies in the buffer and is yet to be looked at.
    #[inline]
    fn begin(&mut self, head: Next, torn: bool) {
        self.phase = match head {
            Next::Final(body, after) => {
                (self.body, self.after) = (Decoder::new(body), after);
                Phase::Body
            }
            Next::Interim if torn => Phase::Interim,
            Next::Interim => Phase::Head,
            Next::Switch => Phase::Switching,
        };
    }

    #[cold]
    fn torn_head<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        let before = self.partial.append(input, limits.head);
        let to_head = self.heads & 1 != 0;
        let (next, end) = match response_head::parse(self.partial.bytes(), to_head, limits) {
            Ok(Some((head, end))) => (Next::after(&head), end),
            Ok(None) => {
                *input = &[];
                return None;
            }
            Err(fault) => return self.fault(fault, input),
        };
        self.begin(next, true);
        *input = input.get(end.saturating_sub(before)..).unwrap_or_default();
        // Parsed a second time, for a view that outlives the changes above: the borrow checker sees no other way.
        let (head, _) = response_head::parse(self.partial.bytes(), to_head, limits).ok()??;
        Some(if head.is_interim() { Event::Interim(head) } else { Event::Head(head) })
    }

    #[inline]
    fn body<'c, 'i: 'c>(&'c mut self, input: &mut &'i [u8], limits: &Limits) -> Option<Event<'c>> {
        match body_reader::next(&mut self.body, &mut self.partial, input, limits) {
            Ok(Part::Data(data)) => Some(Event::Body(data)),
            Ok(Part::Trailers(fields)) => Some(Event::Trailers(fields)),
            Ok(Part::KeptTrailers) => Some(Event::Trailers(trailers::view(self.partial.bytes()))),
            Ok(Part::End) => {
                self.answered();
                Some(Event::End(self.after))
            }
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
