//! The keys of a route that describe its response.

use super::text::{Entry, Read, Table};
use crate::http::config::trigger::{Delay, When};
use crate::http::config::{Body, Pace, ResponseSpec};
use crate::http::handler::Fault;
use brunt_wire::http1::StaticResponse;
use std::{fmt::Write, path::Path, time::Duration};
use toml::de::DeValue;

const MAX_TIME: Duration = Duration::from_secs(3600);
/// Largest body that is generated while it is sent.
const MAX_BODY: u64 = 1 << 40;
/// Largest body that is kept in memory.
const MAX_KEPT: u64 = 64 << 20;
const MAX_PIECES: u64 = 100_000;

/// The response that these keys describe; `None` if there are none.
pub(super) fn read(table: &mut Table<'_, '_>, directory: &Path) -> Read<Option<ResponseSpec>> {
    let text = table.text;
    let mut spec = ResponseSpec::default();
    let status = table.get("status", |status| status.integer(200..=599))?;
    spec.status = status.map_or(spec.status, |status| status as u16);
    let media_type = table.get("type", Entry::string)?;
    let mut any = status.is_some();
    if let Some(headers) = table.take("headers") {
        any = true;
        spec.fields = fields(headers)?;
    }
    let mut default_type = None;
    if let Some(body) = body(table, directory)? {
        any = true;
        (spec.body, default_type, spec.pace) = body;
    }
    if let Some(media_type) = media_type.or(default_type.map(str::to_owned)) {
        if !spec.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            spec.fields.insert(0, ("Content-Type".to_owned(), media_type.into_bytes()));
        }
        any = true;
    }
    for (key, sized) in [("drip", true), ("chunks", false)] {
        let Some(mut keys) = table.get(key, Entry::table)? else { continue };
        if spec.pace.is_some() {
            return Err(text.error(keys.place, "drip, chunks and sse exclude each other: keep one"));
        }
        if matches!(spec.body, Body::Filled(length) if length > MAX_KEPT) {
            return Err(text.error(keys.place, format!("{key}: a body in pieces has 64MiB at most")));
        }
        let pieces = Some(keys.get("pieces", |pieces| pieces.integer(1..=MAX_PIECES))?.unwrap_or(10));
        let every = keys.get("every", time)?.unwrap_or_default();
        keys.finish(key)?;
        (spec.pace, any) = (Some(Pace { pieces, every, sized }), true);
    }
    if let Some(entry) = table.take("delay") {
        (spec.delay, any) = (Some(delay(entry)?), true);
    }
    for mut keys in table.tables("fault")? {
        spec.faults.push(fault(&mut keys)?);
        keys.finish("fault")?;
        any = true;
    }
    let fields: Vec<(&str, &[u8])> = spec.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    StaticResponse::new(spec.status, &fields, b"")
        .map_err(|error| text.error(table.place.clone(), format!("this response cannot be sent: {error}")))?;
    Ok(any.then_some(spec))
}

fn fields(headers: Entry<'_, '_>) -> Read<Vec<(String, Vec<u8>)>> {
    let Some(table) = headers.value.get_ref().as_table() else {
        return Err(headers.error("headers must be a table, such as { X-Name = \"value\" }"));
    };
    let mut fields = Vec::new();
    for (name, value) in table.iter() {
        let values = Entry { key: "a header", value, ..headers }.strings()?;
        fields.extend(values.into_iter().map(|value| (name.get_ref().to_string(), value.into_bytes())));
    }
    Ok(fields)
}

fn time(entry: Entry<'_, '_>) -> Read<Duration> {
    entry.time(MAX_TIME)
}

/// A body, its default media type, and its pieces if it is sent in pieces.
type TypedBody = (Body, Option<&'static str>, Option<Pace>);

fn body(table: &mut Table<'_, '_>, directory: &Path) -> Read<Option<TypedBody>> {
    let mut found = None;
    for key in ["text", "file", "size", "echo", "reflect", "sse"] {
        let Some(entry) = table.take(key) else { continue };
        let body = match key {
            "text" => (Body::Bytes(entry.string()?.into_bytes().into()), Some("text/plain"), None),
            "file" => {
                let name = entry.string()?;
                let bytes = file(&directory.join(&name)).map_err(|why| entry.error(format!("file '{name}': {why}")))?;
                (Body::Bytes(bytes.into()), Some(media_type_of(&name)), None)
            }
            "size" => (Body::Filled(entry.size(MAX_BODY)?), Some("application/octet-stream"), None),
            "echo" | "reflect" if !entry.bool()? => continue,
            "echo" => (Body::Echo, None, None),
            "reflect" => (Body::Reflect, None, None),
            _ => events(entry.table()?)?,
        };
        if found.replace(body).is_some() {
            return Err(entry.error("a response has one body: keep one of text, file, size, echo, reflect, sse"));
        }
    }
    Ok(found)
}

fn file(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > MAX_KEPT {
        return Err(format!("it has {} bytes, and files are kept in memory: 64 MiB at most", metadata.len()));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

fn media_type_of(name: &str) -> &'static str {
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

fn events(mut keys: Table<'_, '_>) -> Read<TypedBody> {
    let events = keys.get("events", |events| events.integer(1..=MAX_PIECES))?.unwrap_or(10);
    let every = keys.get("every", time)?.unwrap_or(Duration::from_secs(1));
    let data = keys.get("data", Entry::string)?.unwrap_or_else(|| "tick".to_owned());
    if (data.len() as u64 + 24).saturating_mul(events) > MAX_KEPT {
        return Err(keys.text.error(keys.place, "sse: the events have more than 64 MiB together"));
    }
    keys.finish("sse")?;
    let mut all = String::new();
    for id in 0..events {
        let _ = writeln!(all, "id: {id}");
        data.lines().for_each(|line| all.extend(["data: ", line, "\n"]));
        all.push('\n');
    }
    let pace = Pace { pieces: None, every, sized: false };
    Ok((Body::Bytes(all.into_bytes().into()), Some("text/event-stream"), Some(pace)))
}

fn delay(entry: Entry<'_, '_>) -> Read<Delay> {
    if let DeValue::String(_) = entry.value.get_ref() {
        return time(entry).map(Delay::Constant);
    }
    let mut keys = entry.table()?;
    let mut get = |key| keys.get(key, time);
    let [from, to, median, usual, rare] = [get("from")?, get("to")?, get("median")?, get("usual")?, get("rare")?];
    let sigma = keys.get("sigma", |sigma| sigma.number(0.0..=10.0))?;
    let share = keys.get("share", |share| share.number(0.0..=1.0))?;
    keys.finish("delay")?;
    match (from, to, median, sigma, usual, rare, share) {
        (Some(from), Some(to), None, None, None, None, None) if from <= to => Ok(Delay::Uniform(from, to)),
        (None, None, Some(median), Some(sigma), None, None, None) => Ok(Delay::Lognormal { median, sigma }),
        (None, None, None, None, Some(usual), Some(rare), Some(share)) => Ok(Delay::Bimodal { usual, rare, share }),
        _ => Err(entry.error(
            "delay is \"10ms\", { from = \"1ms\", to = \"9ms\" }, { median = \"5ms\", sigma = 0.5 }, or { usual = \"1ms\", rare = \"90ms\", share = 0.01 }",
        )),
    }
}

fn fault(keys: &mut Table<'_, '_>) -> Read<(When, Fault)> {
    let text = keys.text;
    let bytes = keys.get("bytes", |bytes| bytes.size(MAX_BODY))?;
    let Some(kind) = keys.take("kind") else {
        let remedy = "the fault has no kind: add kind = \"reset\", \"truncate\", \"stall\" or \"garbage\"";
        return Err(text.error(keys.place.clone(), remedy));
    };
    let fault = match kind.string()?.as_str() {
        "truncate" => Fault::Truncate(bytes.unwrap_or(0)),
        "reset" | "stall" | "garbage" if bytes.is_some() => {
            return Err(text.error(keys.place.clone(), "bytes requires kind = \"truncate\""));
        }
        "reset" => Fault::Reset,
        "stall" => Fault::Stall,
        "garbage" => Fault::Garbage,
        "refuse" => {
            return Err(kind.error("connections are refused by a listener: write refuse = { share = 0.1 } there"));
        }
        other => {
            return Err(kind.error(format!("'{other}' is no fault; choose one of reset, truncate, stall, garbage")));
        }
    };
    Ok((when(keys)?, fault))
}

pub(super) fn when(keys: &mut Table<'_, '_>) -> Read<When> {
    Ok(When {
        share: keys.get("share", |share| share.number(0.0..=1.0))?,
        every: keys.get("every", |every| every.integer(1..=u64::MAX >> 1))?,
        after: keys.get("after", |after| after.time(24 * MAX_TIME))?,
        lasts: keys.get("for", |lasts| lasts.time(24 * MAX_TIME))?,
    })
}
