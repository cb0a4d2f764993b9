//! Converts the values that `on_request` returned to a response. Values without an exact meaning are errors.

use super::values::{each, elements, shown, text, whole};
use crate::http::handler::{Content, Fault, Response};
use brunt_luau::mlua::{LuaString, Table, Value};
use brunt_luau::number;
use std::{rc::Rc, time::Duration};

/// Most pieces of one response.
const PIECES: u64 = 100_000;

/// Longest delay or pause between pieces, in seconds.
const LONGEST: f64 = 3600.0;

const KEYS: &str = "status, headers, body, delay, drip, chunks, fault";

const RESERVED: &[&str] = &["content-length", "transfer-encoding", "connection", "date", "server"];

pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// Converts texts to bytes. Keeps the last one, because most scripts return the same text again.
#[derive(Debug, Default)]
pub(super) struct Texts(Option<(LuaString, Rc<[u8]>)>);

impl Texts {
    /// Longest text kept.
    const KEPT: usize = 256 << 10;

    fn bytes(&mut self, text: LuaString) -> Rc<[u8]> {
        if let Some((last, bytes)) = &self.0
            // The kept text is alive, so no other has its address.
            && last.to_pointer() == text.to_pointer()
        {
            return Rc::clone(bytes);
        }
        let bytes = Rc::<[u8]>::from(&*text.as_bytes());
        self.0 = (bytes.len() <= Self::KEPT).then(|| (text, Rc::clone(&bytes)));
        bytes
    }
}

#[inline]
pub(super) fn into_response(returned: (Value, Value, Value), texts: &mut Texts) -> Result<Response, String> {
    match returned {
        (Value::String(body), Value::Nil, Value::Nil) => {
            let fields = vec![("Content-Type".to_owned(), TEXT.as_bytes().to_vec())];
            Ok(Response { fields, ..response(200, texts.bytes(body)) })
        }
        (Value::Table(table), Value::Nil, Value::Nil) => from_table(&table, texts),
        (first, headers, body) if number(&first).is_some() => {
            let fields = match headers {
                Value::Nil => Vec::new(),
                Value::Table(headers) => fields(&headers)?,
                other => {
                    let other = shown(&other);
                    return Err(format!("on_request returned {other} for its headers: return a table of them, or nil"));
                }
            };
            Ok(Response { fields, ..response(status(&first)?, body_of(body, texts)?) })
        }
        (Value::Nil, Value::Nil, Value::Nil) => {
            Err("on_request returned nothing: return a text, a status, or a table".to_owned())
        }
        (Value::String(_) | Value::Table(_), _, _) => {
            Err("on_request returned something after its text or table: return that alone".to_owned())
        }
        (other, _, _) => Err(format!("on_request returned {}: return a text, a status, or a table", shown(&other))),
    }
}

fn response(status: u16, body: Rc<[u8]>) -> Response {
    Response { status, fields: Vec::new(), body: Content::Whole(body), delay: Duration::ZERO, fault: None }
}

fn from_table(table: &Table, texts: &mut Texts) -> Result<Response, String> {
    let mut response = response(200, Rc::from(&[][..]));
    let (mut body, mut drip, mut chunks) = (None, None, None);
    each(table, |key, value| {
        match key.as_string().map(LuaString::as_bytes).as_deref() {
            Some(b"status") => response.status = status(&value)?,
            Some(b"headers") => match &value {
                Value::Table(headers) => response.fields = fields(headers)?,
                other => return Err(format!("headers is {}: make it a table", shown(other))),
            },
            Some(b"body") => body = Some(body_of(value, texts)?),
            Some(b"delay") => response.delay = seconds("delay", &value)?,
            Some(b"drip") => drip = Some(Drip::of(&value)?),
            Some(b"chunks") => chunks = Some(pieces_of(&value)?),
            Some(b"fault") => response.fault = Some(fault(&value)?),
            _ => {
                let key = shown(&key);
                return Err(format!("on_request returned a table with {key}, which is unknown: use {KEYS}"));
            }
        }
        Ok(())
    })?;
    response.body = content(body, drip, chunks)?;
    Ok(response)
}

fn content(body: Option<Rc<[u8]>>, drip: Option<Drip>, chunks: Option<Vec<Rc<[u8]>>>) -> Result<Content, String> {
    match (body, drip, chunks) {
        (Some(_), _, Some(_)) => Err("both body and chunks are given: give one".to_owned()),
        (None, Some(Drip { cut: None, every }), Some(pieces)) => Ok(Content::Pieces { pieces, every, sized: false }),
        (None, None, Some(pieces)) => Ok(Content::Pieces { pieces, every: Duration::ZERO, sized: false }),
        (None, Some(_), Some(_)) => Err("chunks are pieces already: give drip only every".to_owned()),
        (_, Some(Drip { cut: None, .. }), None) => Err("drip has neither pieces nor bytes: add one of them".to_owned()),
        (body, Some(Drip { cut: Some(cut), every }), None) => {
            let pieces = cut.pieces(&body.unwrap_or_default())?;
            Ok(Content::Pieces { pieces, every, sized: true })
        }
        (body, None, None) => Ok(Content::Whole(body.unwrap_or_default())),
    }
}

/// The number of pieces, or of bytes per piece.
enum Cut {
    Pieces(u64),
    Bytes(u64),
}

impl Cut {
    fn pieces(&self, body: &[u8]) -> Result<Vec<Rc<[u8]>>, String> {
        let size = match *self {
            Self::Bytes(bytes) => bytes as usize,
            // Rounded up, so that there are no more pieces than requested.
            Self::Pieces(pieces) => body.len().div_ceil(pieces as usize).max(1),
        };
        let pieces = body.len().div_ceil(size);
        if pieces as u64 > PIECES {
            return Err(format!("drip cuts the body into {pieces} pieces: at most {PIECES} are allowed"));
        }
        Ok(body.chunks(size).map(Rc::from).collect())
    }
}

/// `drip = {pieces = 10, every = 0.1}`.
struct Drip {
    cut: Option<Cut>,
    every: Duration,
}

impl Drip {
    fn of(value: &Value) -> Result<Self, String> {
        let Value::Table(table) = value else {
            return Err(format!("drip is {}: make it a table such as {{pieces = 10, every = 0.1}}", shown(value)));
        };
        let mut drip = Self { cut: None, every: Duration::ZERO };
        each(table, |key, value| {
            let some = |range| {
                whole(&value, range)
                    .ok_or_else(|| format!("drip: {} is not a number of pieces or bytes from 1 on", shown(&value)))
            };
            match key.as_string().map(LuaString::as_bytes).as_deref() {
                Some(b"every") => drip.every = seconds("drip.every", &value)?,
                Some(b"pieces" | b"bytes") if drip.cut.is_some() => {
                    return Err("drip has both pieces and bytes: give one".to_owned());
                }
                Some(b"pieces") => drip.cut = Some(Cut::Pieces(some(1..=PIECES)?)),
                Some(b"bytes") => drip.cut = Some(Cut::Bytes(some(1..=1 << 40)?)),
                _ => {
                    return Err(format!("drip has {}, which is unknown: use pieces or bytes, and every", shown(&key)));
                }
            }
            Ok(())
        })?;
        Ok(drip)
    }
}

fn pieces_of(value: &Value) -> Result<Vec<Rc<[u8]>>, String> {
    let Value::Table(list) = value else { return Err(format!("chunks is {}: make it a list of texts", shown(value))) };
    let mut pieces = Vec::new();
    for element in elements(list) {
        let piece = text(&element).ok_or_else(|| format!("chunks contains {}: give texts only", shown(&element)))?;
        // An empty chunk would end the body (RFC 9112, 7.1).
        if !piece.is_empty() {
            pieces.push(Rc::from(piece));
        }
        if pieces.len() as u64 > PIECES {
            return Err(format!("chunks has more than {PIECES} pieces: give fewer, larger ones"));
        }
    }
    Ok(pieces)
}

fn status(value: &Value) -> Result<u16, String> {
    let status = whole(value, 200..=599).and_then(|status| u16::try_from(status).ok());
    status.ok_or_else(|| format!("{} is not a status: use 200 to 599", shown(value)))
}

fn body_of(value: Value, texts: &mut Texts) -> Result<Rc<[u8]>, String> {
    match value {
        Value::Nil => Ok(Rc::default()),
        Value::String(body) => Ok(texts.bytes(body)),
        other => match text(&other) {
            Some(digits) => Ok(Rc::from(digits)),
            None => Err(format!("the body is {}: make it a text, or use json.encode", shown(&other))),
        },
    }
}

fn seconds(what: &str, value: &Value) -> Result<Duration, String> {
    let seconds = number(value).filter(|seconds| (0.0..=LONGEST).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("{what} is {}: give seconds from 0 to {LONGEST}", shown(value)))?;
    Ok(Duration::from_secs_f64(seconds))
}

fn fault(value: &Value) -> Result<Fault, String> {
    let refused =
        || format!("fault is {}: use \"reset\", \"stall\", \"garbage\" or {{truncate = BYTES}}", shown(value));
    match value {
        Value::String(name) => match &*name.as_bytes() {
            b"reset" => Ok(Fault::Reset),
            b"stall" => Ok(Fault::Stall),
            b"garbage" => Ok(Fault::Garbage),
            _ => Err(refused()),
        },
        Value::Table(table) => {
            let mut bytes = None;
            each(table, |key, value| {
                let named = matches!(&key, Value::String(name) if *name.as_bytes() == *b"truncate");
                bytes = whole(&value, 0..=1 << 52).filter(|_| named);
                bytes.map(|_| ()).ok_or_else(refused)
            })?;
            bytes.map(Fault::Truncate).ok_or_else(refused)
        }
        _ => Err(refused()),
    }
}

/// Header fields: a value is a text, a number, or a list of these for a repeated field.
fn fields(table: &Table) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut fields = Vec::new();
    each(table, |key, value| {
        let name = match &key {
            Value::String(name) => name.to_str().ok().filter(|name| is_token(name)).map(|name| name.to_owned()),
            _ => None,
        };
        let name = name.ok_or_else(|| format!("headers contains {}, which is not a field name", shown(&key)))?;
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(format!("headers contains {name}, which the server sets: leave it out"));
        }
        match &value {
            Value::Table(list) => {
                for element in elements(list) {
                    fields.push((name.clone(), field_value(&name, &element)?));
                }
            }
            value => fields.push((name.clone(), field_value(&name, value)?)),
        }
        Ok(())
    })?;
    Ok(fields)
}

fn field_value(name: &str, value: &Value) -> Result<Vec<u8>, String> {
    let bytes =
        text(value).ok_or_else(|| format!("header {name} is {}: make it a text or a list of texts", shown(value)))?;
    // RFC 9110, 5.5: these would end the line, or worse.
    if bytes.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(format!("header {name} is {}, which contains a control character", shown(value)));
    }
    Ok(bytes)
}

/// RFC 9110, 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
