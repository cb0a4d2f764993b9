//! The keys of a route that describe its answer.

use super::text::{Read, Table, Text, Value};
use crate::http::{
    config::trigger::{Delay, When},
    config::{Body, Pace, ResponseSpec},
    handler::Fault,
};
use brunt_wire::http1::StaticResponse;
use std::{fmt::Write, path::Path, sync::Arc, time::Duration};
use toml::de::DeValue;

/// Longest time that a file may ask for.
const LONGEST: Duration = Duration::from_secs(3600);
/// Largest body that is made while it is sent, and largest that is kept.
const LARGEST: u64 = 1 << 40;
const LARGEST_KEPT: u64 = 64 << 20;
const MOST_PIECES: u64 = 100_000;

/// The answer that these keys describe; `None` if there are none.
pub(super) fn read(text: &Text<'_>, table: &mut Table<'_, '_>, directory: &Path) -> Read<Option<ResponseSpec>> {
    let place = table.place.clone();
    let (mut say, mut any) = (ResponseSpec::default(), false);
    if let Some(value) = table.take("status") {
        (say.status, any) = (text.whole(value, "status", 200..=599)? as u16, true);
    }
    let media = table.take("type").map(|value| text.string(value, "type")).transpose()?;
    if let Some(value) = table.take("headers") {
        say.fields = fields(text, value)?;
        any = true;
    }
    let body = body(text, table, directory)?;
    let usual = body.as_ref().and_then(|(_, media, _)| media.clone());
    if let Some(media) = media.or(usual) {
        if !say.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            say.fields.insert(0, ("Content-Type".to_owned(), media.into_bytes()));
        }
        any = true;
    }
    if let Some((body, _, pace)) = body {
        (say.body, say.pace, any) = (body, pace, true);
    }
    for (key, sized) in [("drip", true), ("chunks", false)] {
        if let Some(value) = table.take(key) {
            if say.pace.is_some() {
                return Err(text.fault(&value.span(), "drip, chunks and sse exclude each other: keep one"));
            }
            if let Body::Filled(length) = say.body
                && length > LARGEST_KEPT
            {
                return Err(text.fault(&value.span(), format!("{key}: a body in pieces has 64MiB at most")));
            }
            (say.pace, any) = (Some(pace(text, value, key, sized)?), true);
        }
    }
    if let Some(value) = table.take("delay") {
        (say.delay, any) = (Some(delay(text, value)?), true);
    }
    if let Some(value) = table.take("fault") {
        for mut table in text.tables(value, "fault")? {
            say.faults.push(fault(text, &mut table)?);
            table.end(text, "fault")?;
        }
        any = true;
    }
    let own: Vec<(&str, &[u8])> = say.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    StaticResponse::new(say.status, &own, b"")
        .map_err(|refused| text.fault(&place, format!("this answer cannot be sent: {refused}")))?;
    Ok(any.then_some(say))
}

fn fields(text: &Text<'_>, value: &Value<'_>) -> Read<Vec<(String, Vec<u8>)>> {
    let Some(table) = value.get_ref().as_table() else {
        return Err(text.fault(&value.span(), "headers must be a table, such as { X-Name = \"value\" }"));
    };
    let mut fields = Vec::new();
    for (name, value) in table.iter() {
        for value in text.strings(value, "a header")? {
            fields.push((name.get_ref().to_string(), value.into_bytes()));
        }
    }
    Ok(fields)
}

type Described = (Body, Option<String>, Option<Pace>);

/// The body, its usual type, and its pieces if it is made of such.
fn body(text: &Text<'_>, table: &mut Table<'_, '_>, directory: &Path) -> Read<Option<Described>> {
    let mut bodies: Vec<(Described, std::ops::Range<usize>)> = Vec::new();
    let plain = || Some("text/plain".to_owned());
    if let Some(value) = table.take("text") {
        let bytes = text.string(value, "text")?.into_bytes();
        bodies.push(((Body::Bytes(Arc::from(bytes)), plain(), None), value.span()));
    }
    if let Some(value) = table.take("file") {
        let name = text.string(value, "file")?;
        let bytes =
            file(&directory.join(&name)).map_err(|why| text.fault(&value.span(), format!("file '{name}': {why}")))?;
        bodies.push(((Body::Bytes(Arc::from(bytes)), Some(media_of(&name).to_owned()), None), value.span()));
    }
    if let Some(value) = table.take("size") {
        let size = text.size(value, "size", LARGEST)?;
        bodies.push(((Body::Filled(size), Some("application/octet-stream".to_owned()), None), value.span()));
    }
    for (key, body) in [("echo", Body::Echo), ("reflect", Body::Reflect)] {
        if let Some(value) = table.take(key)
            && text.truth(value, key)?
        {
            bodies.push(((body, None, None), value.span()));
        }
    }
    if let Some(value) = table.take("sse") {
        bodies.push((events(text, value)?, value.span()));
    }
    if let Some((_, place)) = bodies.get(1) {
        return Err(text.fault(place, "an answer has one body: keep one of text, file, size, echo, reflect, sse"));
    }
    Ok(bodies.pop().map(|(body, _)| body))
}

fn file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no plain file".to_owned());
    }
    if about.len() > LARGEST_KEPT {
        return Err(format!("it has {} bytes, and files are kept in memory: 64 MiB at most", about.len()));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

fn media_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" | "htm" => "text/html",
        "txt" | "md" => "text/plain",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        _ => "application/octet-stream",
    }
}

fn pace(text: &Text<'_>, value: &Value<'_>, key: &str, sized: bool) -> Read<Pace> {
    let mut table = text.table(value, key)?;
    let pieces = table.take("pieces").map_or(Ok(10), |value| text.whole(value, "pieces", 1..=MOST_PIECES))?;
    let every = table.take("every").map_or(Ok(Duration::ZERO), |value| text.time(value, "every", LONGEST))?;
    table.end(text, key)?;
    Ok(Pace { pieces: Some(pieces), every, sized })
}

fn events(text: &Text<'_>, value: &Value<'_>) -> Read<Described> {
    let mut table = text.table(value, "sse")?;
    let events = table.take("events").map_or(Ok(10), |value| text.whole(value, "events", 1..=MOST_PIECES))?;
    let every = table.take("every").map_or(Ok(Duration::from_secs(1)), |value| text.time(value, "every", LONGEST))?;
    let data = match table.take("data") {
        Some(value) => text.string(value, "data")?,
        None => "tick".to_owned(),
    };
    table.end(text, "sse")?;
    if (data.len() as u64 + 24).saturating_mul(events) > LARGEST_KEPT {
        return Err(text.fault(&value.span(), "sse: the events have more than 64 MiB together"));
    }
    let mut all = String::new();
    for id in 0..events {
        let _ = writeln!(all, "id: {id}");
        data.lines().for_each(|line| all.extend(["data: ", line, "\n"]));
        all.push('\n');
    }
    let pace = Pace { pieces: None, every, sized: false };
    Ok((Body::Bytes(Arc::from(all.into_bytes())), Some("text/event-stream".to_owned()), Some(pace)))
}

fn delay(text: &Text<'_>, value: &Value<'_>) -> Read<Delay> {
    if let DeValue::String(_) = value.get_ref() {
        return Ok(Delay::Constant(text.time(value, "delay", LONGEST)?));
    }
    let mut table = text.table(value, "delay")?;
    let mut time = |key| table.take(key).map(|value| text.time(value, key, LONGEST)).transpose();
    let [from, to, median, usual, rare] = [time("from")?, time("to")?, time("median")?, time("usual")?, time("rare")?];
    let sigma = table.take("sigma").map(|value| text.number(value, "sigma", 0.0..=10.0)).transpose()?;
    let share = table.take("share").map(|value| text.number(value, "share", 0.0..=1.0)).transpose()?;
    table.end(text, "delay")?;
    match (from, to, median, sigma, usual, rare, share) {
        (Some(from), Some(to), None, None, None, None, None) if from <= to => Ok(Delay::Uniform(from, to)),
        (None, None, Some(median), Some(sigma), None, None, None) => Ok(Delay::Lognormal { median, sigma }),
        (None, None, None, None, Some(usual), Some(rare), Some(share)) => Ok(Delay::Bimodal { usual, rare, share }),
        _ => Err(text.fault(
            &value.span(),
            "delay is \"10ms\", { from = \"1ms\", to = \"9ms\" }, { median = \"5ms\", sigma = 0.5 }, or { usual = \"1ms\", rare = \"90ms\", share = 0.01 }",
        )),
    }
}

fn fault(text: &Text<'_>, table: &mut Table<'_, '_>) -> Read<(When, Fault)> {
    let place = table.place.clone();
    let bytes = table.take("bytes").map(|value| text.size(value, "bytes", LARGEST)).transpose()?;
    let Some(kind) = table.take("kind") else {
        return Err(
            text.fault(&place, "the fault has no kind: add kind = \"reset\", \"truncate\", \"stall\" or \"garbage\"")
        );
    };
    let fault = match (text.string(kind, "kind")?.as_str(), bytes) {
        ("reset", None) => Fault::Reset,
        ("truncate", bytes) => Fault::Truncate(bytes.unwrap_or(0)),
        ("stall", None) => Fault::Stall,
        ("garbage", None) => Fault::Garbage,
        ("reset" | "stall" | "garbage", Some(_)) => {
            return Err(text.fault(&place, "bytes go with kind = \"truncate\" alone"));
        }
        ("refuse", _) => {
            let remedy = "connections are refused by a listener: write refuse = { share = 0.1 } there";
            return Err(text.fault(&kind.span(), remedy));
        }
        (other, _) => {
            let known = "choose one of reset, truncate, stall, garbage";
            return Err(text.fault(&kind.span(), format!("kind '{other}' is no fault; {known}")));
        }
    };
    Ok((when(text, table)?, fault))
}

/// The keys that say when.
pub(super) fn when(text: &Text<'_>, table: &mut Table<'_, '_>) -> Read<When> {
    Ok(When {
        share: table.take("share").map(|value| text.number(value, "share", 0.0..=1.0)).transpose()?,
        every: table.take("every").map(|value| text.whole(value, "every", 1..=u64::MAX >> 1)).transpose()?,
        after: table.take("after").map(|value| text.time(value, "after", 24 * LONGEST)).transpose()?,
        lasts: table.take("for").map(|value| text.time(value, "for", 24 * LONGEST)).transpose()?,
    })
}
