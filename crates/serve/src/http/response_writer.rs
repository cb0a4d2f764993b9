//! Writes a response: in one piece where possible, otherwise head, pauses and pieces, one step at a time.
//! Never waits: it returns the pauses to make.

use super::action::Action;
use super::config::settings::MAX_BUFFERED;
use super::handler::{Content, Fault, Piece, Response, Source};
use brunt_wire::http1::{self, BodyWriter, DateHeader, EncodeError, Method, Persistence, RequestMeta};
use std::{rc::Rc, time::Duration, vec};

pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x13\x37 this is not HTTP \x80\x81\xfe\r\n\x07\x1b\r\n";

/// Filler text, repeated: 16 lines of 64 bytes.
static FILLING: [u8; 1024] = {
    let mut filling = [b'\n'; 1024];
    let mut at = 0;
    while at < filling.len() {
        if at % 64 != 63 {
            filling[at] = b'!' + ((at / 64 + at % 64) % 94) as u8;
        }
        at += 1;
    }
    filling
};

pub(crate) fn filling(length: usize) -> Vec<u8> {
    FILLING.iter().copied().cycle().take(length).collect()
}

pub(crate) enum Progress {
    /// Continue after this action.
    Wait(Action),
    Done(Persistence),
}

/// The body, if the response can be written at once.
#[inline]
pub(crate) fn single_write(response: &Response) -> Option<&[u8]> {
    match &response.body {
        Content::Whole(bytes)
            if bytes.len() <= MAX_BUFFERED && response.delay.is_zero() && response.fault.is_none() =>
        {
            Some(bytes)
        }
        _ => None,
    }
}

/// The status that the client receives; 0 if there is none.
pub(crate) fn status(response: &Response) -> u16 {
    match response.fault {
        Some(Fault::Reset | Fault::Stall | Fault::Garbage) => 0,
        Some(Fault::Truncate(_)) | None => response.status,
    }
}

/// The `Content-Length`; `None` if the body is chunked.
pub(crate) fn length(body: &Content) -> Option<u64> {
    match body {
        Content::Whole(bytes) => Some(bytes.len() as u64),
        Content::Filled(length) => Some(*length),
        Content::Pieces { pieces, sized: true, .. } => Some(pieces.iter().map(|piece| piece.len() as u64).sum()),
        Content::Pieces { sized: false, .. } | Content::Live(_) => None,
    }
}

pub(crate) fn write(
    response: &Response,
    body: &[u8],
    meta: RequestMeta,
    date: &DateHeader,
    out: &mut Vec<u8>,
) -> Persistence {
    match head(response, meta, date, out) {
        Ok(response) => response.body(body),
        Err(refused) => write_error(refused, meta, date, out),
    }
}

fn head<'o>(
    response: &Response,
    meta: RequestMeta,
    date: &DateHeader,
    out: &'o mut Vec<u8>,
) -> Result<http1::Response<'o>, EncodeError> {
    let head = http1::Response::new(out, meta, date, response.status)?;
    response.fields.iter().try_fold(head, |head, (name, value)| head.field(name, value))
}

/// Replaces a response with invalid fields by a 500.
#[cold]
fn write_error(refused: EncodeError, meta: RequestMeta, date: &DateHeader, out: &mut Vec<u8>) -> Persistence {
    let text = format!("500 Internal Server Error: the response cannot be sent: {refused}\n");
    http1::Response::text(out, meta, date, 500, text.as_bytes())
}

/// A response that takes more than one step.
pub(crate) struct ResponseWriter {
    response: Response,
    meta: RequestMeta,
    /// The response has no body: HEAD, 204, 205 or 304.
    no_body: bool,
    stage: Stage,
}

enum Stage {
    Delay,
    Head,
    Body { stream: BodyWriter, after: Persistence, left: Rest, allowed: u64 },
    Over,
}

enum Rest {
    Filled(u64, u64),
    Pieces { current: Option<(Rc<[u8]>, usize)>, rest: vec::IntoIter<Rc<[u8]>>, every: Duration },
    Live { current: Rc<[u8]>, at: usize, source: Source },
}

impl ResponseWriter {
    pub fn new(response: Response, method: Method, meta: RequestMeta) -> Self {
        let no_body = method == Method::Head || matches!(response.status, 204 | 205 | 304);
        Self { response, meta, no_body, stage: Stage::Delay }
    }

    /// Appends what can be sent now.
    pub fn advance(&mut self, date: &DateHeader, out: &mut Vec<u8>) -> Progress {
        loop {
            match &mut self.stage {
                Stage::Delay => {
                    self.stage = Stage::Head;
                    if !self.response.delay.is_zero() {
                        return Progress::Wait(Action::Pause(self.response.delay));
                    }
                }
                Stage::Head => match self.response.fault {
                    Some(Fault::Reset) => return Progress::Wait(Action::Reset),
                    Some(Fault::Stall) => return Progress::Wait(Action::Stall),
                    Some(Fault::Garbage) => return Progress::Wait(Action::Garbage),
                    Some(Fault::Truncate(_)) | None => {
                        if let Err(refused) = self.begin(date, out) {
                            return Progress::Done(write_error(refused, self.meta, date, out));
                        }
                    }
                },
                Stage::Body { .. } => return self.body(out),
                Stage::Over => return Progress::Wait(Action::Cut),
            }
        }
    }

    fn begin(&mut self, date: &DateHeader, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let length = length(&self.response.body);
        let response = head(&self.response, self.meta, date, out)?;
        let (stream, after) = match length {
            Some(length) => response.sized(length),
            None => response.stream(),
        };
        let allowed = if let Some(Fault::Truncate(bytes)) = self.response.fault { bytes } else { u64::MAX };
        let left = match std::mem::replace(&mut self.response.body, Content::Filled(0)) {
            _ if self.no_body => Rest::Filled(0, 0),
            Content::Whole(bytes) => {
                Rest::Pieces { current: Some((bytes, 0)), rest: Vec::new().into_iter(), every: Duration::ZERO }
            }
            Content::Filled(length) => Rest::Filled(0, length),
            Content::Pieces { pieces, every, .. } => {
                let pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
                let mut rest = pieces.into_iter();
                Rest::Pieces { current: rest.next().map(|piece| (piece, 0)), rest, every }
            }
            Content::Live(source) => Rest::Live { current: Rc::default(), at: 0, source },
        };
        self.stage = Stage::Body { stream, after, left, allowed };
        Ok(())
    }

    fn body(&mut self, out: &mut Vec<u8>) -> Progress {
        let Stage::Body { mut stream, after, mut left, mut allowed } = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return Progress::Wait(Action::Cut);
        };
        let next = loop {
            if allowed == 0 {
                // Truncated on purpose: the announced rest does not follow.
                return Progress::Wait(Action::Cut);
            }
            if out.len() >= MAX_BUFFERED {
                break Action::Write;
            }
            let room = (MAX_BUFFERED - out.len()).min(usize::try_from(allowed).unwrap_or(usize::MAX));
            match left.take(room) {
                Chunk::Bytes(piece) => {
                    allowed -= piece.len() as u64;
                    if stream.write(out, piece).is_err() {
                        return Progress::Wait(Action::Cut);
                    }
                }
                Chunk::Pause(pause) => break Action::Pause(pause),
                Chunk::End => {
                    let ended = stream.end(out).is_ok() && allowed > u64::MAX / 2;
                    return if ended { Progress::Done(after) } else { Progress::Wait(Action::Cut) };
                }
            }
        };
        self.stage = Stage::Body { stream, after, left, allowed };
        Progress::Wait(next)
    }
}

enum Chunk<'a> {
    Bytes(&'a [u8]),
    Pause(Duration),
    End,
}

impl Rest {
    /// At most `room` bytes, at least one.
    fn take(&mut self, room: usize) -> Chunk<'_> {
        match self {
            Self::Filled(at, length) => {
                let start = (*at % FILLING.len() as u64) as usize;
                let left = usize::try_from(*length - *at).unwrap_or(usize::MAX);
                let part = &FILLING[start..FILLING.len().min(start.saturating_add(room.min(left)))];
                *at += part.len() as u64;
                if part.is_empty() { Chunk::End } else { Chunk::Bytes(part) }
            }
            Self::Pieces { current, rest, every } => {
                let Some((piece, at)) = current else { return Chunk::End };
                if *at >= piece.len() {
                    let Some(next) = rest.next() else { return Chunk::End };
                    (*piece, *at) = (next, 0);
                    if !every.is_zero() {
                        return Chunk::Pause(*every);
                    }
                }
                let part = &piece[*at..piece.len().min(*at + room)];
                *at += part.len();
                Chunk::Bytes(part)
            }
            Self::Live { current, at, source } => {
                while *at >= current.len() {
                    (*current, *at) = match source.next() {
                        Piece::Bytes(bytes) => (bytes, 0),
                        Piece::Pause(pause) => return Chunk::Pause(pause),
                        Piece::End => return Chunk::End,
                    };
                }
                let part = &current[*at..current.len().min(*at + room)];
                *at += part.len();
                Chunk::Bytes(part)
            }
        }
    }
}
