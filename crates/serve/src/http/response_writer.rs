//! An answer on its way: whole and at once where that is possible, else head, pauses and pieces, one step at a time.
//! Nothing here waits; it says how long others should.

use super::{
    action::Action,
    conversation::MAX_BUFFERED,
    message::{Content, Fault, Response},
};
use brunt_wire::http1::{self, BodyWriter, DateHeader, EncodeError, Method, Persistence, RequestMeta};
use std::{rc::Rc, time::Duration, vec};

/// What is sent where HTTP was expected.
pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x13\x37 this is not HTTP \x80\x81\xfe\r\n\x07\x1b\r\n";

/// The content of sized bodies: 16 lines of 64 bytes, over and over.
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

/// `length` bytes of the filling.
pub(crate) fn filling(length: usize) -> Vec<u8> {
    FILLING.iter().copied().cycle().take(length).collect()
}

/// What became of a step.
pub(crate) enum Progress {
    /// Not at its end: this first.
    Wait(Action),
    /// All has been said.
    Done(Persistence),
}

/// The body, if the whole answer can be written down now.
#[inline]
pub(crate) fn at_once(answer: &Response) -> Option<&[u8]> {
    match &answer.body {
        Content::Whole(bytes) if bytes.len() <= MAX_BUFFERED && answer.delay.is_zero() && answer.fault.is_none() => {
            Some(bytes)
        }
        _ => None,
    }
}

/// The status that the client will see; 0 if there is none.
pub(crate) fn status(answer: &Response) -> u16 {
    match answer.fault {
        Some(Fault::Reset | Fault::Stall | Fault::Garbage) => 0,
        Some(Fault::Truncate(_)) | None => answer.status,
    }
}

/// The length that the head announces.
pub(crate) fn length(body: &Content) -> Option<u64> {
    match body {
        Content::Whole(bytes) => Some(bytes.len() as u64),
        Content::Filled(length) => Some(*length),
        Content::Pieces { pieces, sized: true, .. } => Some(pieces.iter().map(|piece| piece.len() as u64).sum()),
        Content::Pieces { sized: false, .. } => None,
    }
}

/// Appends the whole answer.
pub(crate) fn whole(
    answer: &Response,
    body: &[u8],
    exchange: RequestMeta,
    stamp: &DateHeader,
    out: &mut Vec<u8>,
) -> Persistence {
    match head(answer, exchange, stamp, out) {
        Ok(response) => response.body(body),
        Err(refused) => broken(refused, exchange, stamp, out),
    }
}

fn head<'o>(
    answer: &Response,
    exchange: RequestMeta,
    stamp: &DateHeader,
    out: &'o mut Vec<u8>,
) -> Result<http1::Response<'o>, EncodeError> {
    let response = http1::Response::new(out, exchange, stamp, answer.status)?;
    answer.fields.iter().try_fold(response, |response, (name, value)| response.field(name, value))
}

/// Whoever made the answer made one that cannot be sent.
#[cold]
fn broken(refused: EncodeError, exchange: RequestMeta, stamp: &DateHeader, out: &mut Vec<u8>) -> Persistence {
    let text = format!("500 Internal Server Error: the answer cannot be sent: {refused}\n");
    let response = http1::Response::new(out, exchange, stamp, 500).and_then(|r| r.field("Content-Type", b"text/plain"));
    response.map_or(Persistence::Close, |response| response.body(text.as_bytes()))
}

/// An answer that takes more than one step.
pub(crate) struct ResponseWriter {
    answer: Response,
    exchange: RequestMeta,
    /// No body goes with it, whatever it says.
    silent: bool,
    stage: Stage,
}

enum Stage {
    Delay,
    Head,
    Body { stream: BodyWriter, after: Persistence, left: Left, allowed: u64 },
    Over,
}

/// What is left of a body.
enum Left {
    Whole(Rc<[u8]>, usize),
    Filled(u64, u64),
    Pieces { current: Option<(Rc<[u8]>, usize)>, rest: vec::IntoIter<Rc<[u8]>>, every: Duration },
}

impl ResponseWriter {
    pub fn new(answer: Response, method: Method, exchange: RequestMeta) -> Self {
        let silent = method == Method::Head || matches!(answer.status, 204 | 205 | 304);
        Self { answer, exchange, silent, stage: Stage::Delay }
    }

    /// Appends what can be said now.
    pub fn go_on(&mut self, stamp: &DateHeader, out: &mut Vec<u8>) -> Progress {
        loop {
            match &mut self.stage {
                Stage::Delay => {
                    self.stage = Stage::Head;
                    if !self.answer.delay.is_zero() {
                        return Progress::Wait(Action::Pause(self.answer.delay));
                    }
                }
                Stage::Head => match self.answer.fault {
                    Some(Fault::Reset) => return Progress::Wait(Action::Reset),
                    Some(Fault::Stall) => return Progress::Wait(Action::Stall),
                    Some(Fault::Garbage) => return Progress::Wait(Action::Garbage),
                    Some(Fault::Truncate(_)) | None => {
                        if let Err(refused) = self.begin(stamp, out) {
                            return Progress::Done(broken(refused, self.exchange, stamp, out));
                        }
                    }
                },
                Stage::Body { .. } => return self.body(out),
                Stage::Over => return Progress::Wait(Action::Cut),
            }
        }
    }

    fn begin(&mut self, stamp: &DateHeader, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let length = length(&self.answer.body);
        let response = head(&self.answer, self.exchange, stamp, out)?;
        let (stream, after) = match length {
            Some(length) => response.sized(length),
            None => response.stream(),
        };
        let allowed = if let Some(Fault::Truncate(bytes)) = self.answer.fault { bytes } else { u64::MAX };
        let left = match std::mem::replace(&mut self.answer.body, Content::Filled(0)) {
            _ if self.silent => Left::Filled(0, 0),
            Content::Whole(bytes) => Left::Whole(bytes, 0),
            Content::Filled(length) => Left::Filled(0, length),
            Content::Pieces { pieces, every, .. } => {
                let pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
                let mut rest = pieces.into_iter();
                Left::Pieces { current: rest.next().map(|piece| (piece, 0)), rest, every }
            }
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
                // What was announced does not come: only closing is left.
                return Progress::Wait(Action::Cut);
            }
            if out.len() >= MAX_BUFFERED {
                break Action::Write;
            }
            let room = (MAX_BUFFERED - out.len()).min(usize::try_from(allowed).unwrap_or(usize::MAX));
            match left.take(room) {
                Taken::Bytes(piece) => {
                    allowed -= piece.len() as u64;
                    if stream.write(out, piece).is_err() {
                        return Progress::Wait(Action::Cut);
                    }
                }
                Taken::Pause(pause) => break Action::Pause(pause),
                Taken::End => {
                    let ended = stream.end(out).is_ok() && allowed > u64::MAX / 2;
                    return if ended { Progress::Done(after) } else { Progress::Wait(Action::Cut) };
                }
            }
        };
        self.stage = Stage::Body { stream, after, left, allowed };
        Progress::Wait(next)
    }
}

enum Taken<'a> {
    Bytes(&'a [u8]),
    Pause(Duration),
    End,
}

impl Left {
    /// At most `room` bytes, at least one.
    fn take(&mut self, room: usize) -> Taken<'_> {
        match self {
            Self::Whole(bytes, at) => {
                let part = &bytes[*at..bytes.len().min(*at + room)];
                *at += part.len();
                if part.is_empty() { Taken::End } else { Taken::Bytes(part) }
            }
            Self::Filled(at, length) => {
                let start = (*at % FILLING.len() as u64) as usize;
                let left = usize::try_from(*length - *at).unwrap_or(usize::MAX);
                let part = &FILLING[start..FILLING.len().min(start.saturating_add(room.min(left)))];
                *at += part.len() as u64;
                if part.is_empty() { Taken::End } else { Taken::Bytes(part) }
            }
            Self::Pieces { current, rest, every } => {
                let Some((piece, at)) = current else { return Taken::End };
                if *at >= piece.len() {
                    let Some(next) = rest.next() else { return Taken::End };
                    (*piece, *at) = (next, 0);
                    if !every.is_zero() {
                        return Taken::Pause(*every);
                    }
                }
                let part = &piece[*at..piece.len().min(*at + room)];
                *at += part.len();
                Taken::Bytes(part)
            }
        }
    }
}
