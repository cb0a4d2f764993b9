//! Requests of curl command lines, as curl sends them, but for its own `User-Agent` and `Accept`.

use super::curl_flags::{Use, of_letter, of_name};
use super::curl_form::{self, read};
use super::form::{self, MULTIPART, Part};
use super::shell::{self, Command};
use super::{Recorded, RequestFile, Wrong, shown, windows};
use crate::credentials::Secret;

/// What `--compressed` asks for, as far as curl is built with it.
const ENCODINGS: &str = "deflate, gzip, br, zstd";

pub(super) fn parse(text: &[u8], file: &mut RequestFile) -> Result<(), Wrong> {
    let mut ignored: Vec<String> = Vec::new();
    let commands = if windows::is_one(text) { windows::commands(text)? } else { shell::commands(text)? };
    for command in commands {
        let request = Draft::of(&command, &mut ignored).map_err(|why| Wrong { place: command.line, why })?;
        file.requests.extend(request.finish().map_err(|why| Wrong { place: command.line, why })?);
    }
    if !ignored.is_empty() {
        let flags = ignored.join(", ");
        file.notes.push(format!("{}: {flags} of curl is left out: flags of brunt load take its place", file.name));
    }
    Ok(())
}

/// A request as far as its flags are read.
#[derive(Debug, Default)]
struct Draft {
    line: usize,
    urls: Vec<String>,
    method: Option<String>,
    is_head: bool,
    is_get: bool,
    is_literal: bool,
    data: Option<Vec<u8>>,
    parts: Vec<Part>,
    is_json: bool,
    compressed: bool,
    /// Fields typed with -H; `None` for one that is not sent.
    fields: Vec<(String, Option<String>)>,
    /// Fields that follow from other flags, unless typed.
    derived: Vec<(&'static str, String)>,
    cookies: Vec<String>,
}

impl Draft {
    fn of(command: &Command, ignored: &mut Vec<String>) -> Result<Self, String> {
        let mut words = command.words.iter();
        let program = words.next().map(Vec::as_slice).unwrap_or_default();
        if program != b"curl" && program != b"curl.exe" {
            return Err(format!("{} is no curl command: leave it out, and put URLs with & in quotes", shown(program)));
        }
        let mut draft = Self { line: command.line, ..Self::default() };
        let mut only_urls = false;
        while let Some(word) = words.next() {
            match &word[..] {
                b"--" => only_urls = true,
                [b'-', b'-', name @ ..] if !only_urls => {
                    let typed = String::from_utf8_lossy(word).into_owned();
                    draft.take(&String::from_utf8_lossy(name), &typed, &mut || words.next().cloned(), ignored)?;
                }
                [b'-', letters @ ..] if !only_urls && !letters.is_empty() => {
                    draft.letters(letters, &mut || words.next().cloned(), ignored)?;
                }
                _ => draft.urls.push(text(word.clone())?),
            }
        }
        Ok(draft)
    }

    /// Flags of one letter in one word, of which the last may have its value there too.
    fn letters(
        &mut self,
        letters: &[u8],
        next: &mut dyn FnMut() -> Option<Vec<u8>>,
        ignored: &mut Vec<String>,
    ) -> Result<(), String> {
        for (at, letter) in letters.iter().enumerate() {
            let typed = format!("-{}", char::from(*letter));
            let Some(name) = of_letter(*letter) else { return Err(unknown(&typed)) };
            if !matches!(of_name(name), Some(Use::Request(true) | Use::Ignored(true))) {
                self.take(name, &typed, next, ignored)?;
                continue;
            }
            let rest = &letters[at + 1..];
            let mut attached = (!rest.is_empty()).then(|| rest.to_vec());
            return self.take(name, &typed, &mut || attached.take().or_else(&mut *next), ignored);
        }
        Ok(())
    }

    fn take(
        &mut self,
        name: &str,
        typed: &str,
        next: &mut dyn FnMut() -> Option<Vec<u8>>,
        ignored: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut value = || next().ok_or_else(|| format!("{typed} needs a value behind it"));
        match of_name(name) {
            None => return Err(unknown(typed)),
            Some(Use::Refused(remedy)) => return Err(format!("--{name} {remedy}")),
            Some(Use::Ignored(has_value)) => {
                if has_value {
                    value()?;
                }
                if !ignored.iter().any(|known| known == typed) {
                    ignored.push(typed.to_owned());
                }
            }
            Some(Use::Request(true)) => self.with_value(name, value()?)?,
            Some(Use::Request(false)) => match name {
                "head" => self.is_head = true,
                "get" => self.is_get = true,
                "globoff" => self.is_literal = true,
                "compressed" => self.compressed = true,
                _ => (),
            },
        }
        Ok(())
    }

    fn with_value(&mut self, name: &str, value: Vec<u8>) -> Result<(), String> {
        match name {
            "request" => self.method = Some(text(value)?),
            "url" => self.urls.push(text(value)?),
            "header" => self.header(&text(value)?)?,
            "user" => {
                if !value.contains(&b':') {
                    return Err("-u names no password: write NAME:PASSWORD".to_owned());
                }
                self.derive("Authorization", Secret::basic(value).value().to_owned());
            }
            "oauth2-bearer" => self.derive("Authorization", format!("Bearer {}", text(value)?)),
            "user-agent" => self.derive("User-Agent", text(value)?),
            "form" => self.parts.push(curl_form::part(&text(value)?)?),
            "form-string" => self.parts.push(curl_form::literal(&text(value)?)?),
            "referer" => self.derive("Referer", text(value)?.trim_end_matches(";auto").to_owned()),
            "range" => self.derive("Range", format!("bytes={}", text(value)?)),
            "cookie" => {
                let value = text(value)?;
                if !value.contains('=') {
                    return Err(format!("-b {value} is a file of cookies: write them as 'name=value; name=value'"));
                }
                self.cookies.push(value);
            }
            _ => self.data(name, value)?,
        }
        Ok(())
    }

    /// The last one counts.
    fn derive(&mut self, name: &'static str, value: String) {
        self.derived.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            self.derived.push((name, value));
        }
    }

    /// `Name: value`; `Name;` without a value; `Name:` for a field that is not sent.
    fn header(&mut self, header: &str) -> Result<(), String> {
        let wrong = || format!("-H '{}' is not of the form 'Name: value'", header.escape_debug());
        let (name, value) = match header.split_once(':') {
            Some((name, value)) => (name, Some(value.trim()).filter(|value| !value.is_empty())),
            None => (header.strip_suffix(';').ok_or_else(wrong)?, Some("")),
        };
        if name.is_empty() || name.starts_with('@') {
            return Err(wrong());
        }
        self.fields.push((name.to_owned(), value.map(str::to_owned)));
        Ok(())
    }

    /// Appends to the body, behind `&` unless it is JSON.
    fn data(&mut self, name: &str, value: Vec<u8>) -> Result<(), String> {
        let more = match (name, value.strip_prefix(b"@")) {
            ("data-raw", _) => value,
            ("data-urlencode", _) => urlencoded(&value)?,
            (_, None) => value,
            ("data" | "data-ascii", Some(path)) => {
                let content = read(path)?;
                content.into_iter().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)).collect()
            }
            (_, Some(path)) => read(path)?,
        };
        self.is_json |= name == "json";
        match &mut self.data {
            Some(data) => {
                if name != "json" {
                    data.push(b'&');
                }
                data.extend(more);
            }
            None => self.data = Some(more),
        }
        Ok(())
    }

    /// A request for each URL.
    fn finish(mut self) -> Result<Vec<Recorded>, String> {
        if self.urls.is_empty() {
            return Err("the command names no URL: add it".to_owned());
        }
        let mut data = self.data.take();
        if !self.parts.is_empty() {
            if data.is_some() || self.is_get || self.is_head {
                return Err("-F and -d, -G or -I: a request has one body; leave one of them out".to_owned());
            }
            data = Some(self.multipart());
        }
        if self.is_head && !self.is_get && data.is_some() {
            return Err("-I sends no data: leave one of them out, or add -G to send it as a query".to_owned());
        }
        let (body, query) = if self.is_get { (None, data) } else { (data, None) };
        let default = match (self.is_head, &body) {
            (true, _) => "HEAD",
            (false, None) => "GET",
            (false, Some(_)) => "POST",
        };
        let query = query.map(text).transpose()?;
        let mut common = Recorded {
            place: self.line,
            method: self.method.clone().unwrap_or_else(|| default.to_owned()),
            body,
            ..Recorded::default()
        };
        self.add_fields(&mut common);
        let request = |url: &String| {
            let url = self.url(url, query.as_deref())?;
            Ok(Recorded { url, ..common.clone() })
        };
        self.urls.iter().map(request).collect()
    }

    /// The body of -F; its type is a field as one typed.
    fn multipart(&mut self) -> Vec<u8> {
        let is_type = |(name, _): &(String, Option<String>)| name.eq_ignore_ascii_case("content-type");
        let typed = self.fields.iter().position(is_type).map(|at| self.fields.remove(at).1.unwrap_or_default());
        let typed = typed.unwrap_or_else(|| MULTIPART.to_owned());
        let named = form::named_boundary(&typed).map(str::to_owned);
        let boundary = named.clone().unwrap_or_else(|| form::boundary(&self.parts));
        let kind = if named.is_some() { typed } else { format!("{typed}; boundary={boundary}") };
        self.fields.push(("Content-Type".to_owned(), Some(kind)));
        form::multipart(&self.parts, &boundary)
    }

    fn add_fields(&self, request: &mut Recorded) {
        let is_typed = |name: &str| self.fields.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(name));
        let mut derived = self.derived.clone();
        if self.compressed {
            derived.push(("Accept-Encoding", ENCODINGS.to_owned()));
        }
        if !self.cookies.is_empty() {
            derived.push(("Cookie", self.cookies.join("; ")));
        }
        if self.is_json {
            derived.push(("Accept", "application/json".to_owned()));
        }
        if request.body.is_some() {
            let kind = if self.is_json { "application/json" } else { "application/x-www-form-urlencoded" };
            derived.push(("Content-Type", kind.to_owned()));
        }
        derived.retain(|(name, _)| !is_typed(name));
        derived.iter().for_each(|(name, value)| request.add_field(name, value));
        let sent = self.fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        sent.for_each(|(name, value)| request.add_field(name, value));
    }

    /// The URL with a scheme and the query of -G, without a fragment.
    fn url(&self, url: &str, query: Option<&str>) -> Result<String, String> {
        let url = url.trim().split('#').next().unwrap_or_default();
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            let scheme = scheme.escape_debug();
            return Err(format!(
                "the URL is of {scheme}://: curl lines are sent over http:// and https://; leave it out"
            ));
        }
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        if !self.is_literal && path.contains(['{', '}', '[', ']']) {
            return Err(format!("'{url}' is a pattern of several URLs: write each, or add -g if it is one"));
        }
        let slash = if rest.contains(['/', '?']) { "" } else { "/" };
        let query =
            query.map_or(String::new(), |query| format!("{}{query}", if rest.contains('?') { '&' } else { '?' }));
        Ok(format!("{scheme}://{rest}{slash}{query}"))
    }
}

fn unknown(typed: &str) -> String {
    format!("{} is no known flag of curl: leave it out", shown(typed.as_bytes()))
}

fn text(value: Vec<u8>) -> Result<String, String> {
    String::from_utf8(value).map_err(|error| format!("{} is not UTF-8: write it as %-encoded", shown(error.as_bytes())))
}

/// `text`, `=text`, `name=text`, `@file` or `name@file`.
fn urlencoded(value: &[u8]) -> Result<Vec<u8>, String> {
    let (name, content) = match value.iter().position(|byte| matches!(byte, b'=' | b'@')) {
        None => (&[][..], value.to_vec()),
        Some(at) if value[at] == b'@' => (&value[..at], read(&value[at + 1..])?),
        Some(at) => (&value[..at], value[at + 1..].to_vec()),
    };
    let mut encoded = name.to_vec();
    if !name.is_empty() {
        encoded.push(b'=');
    }
    for byte in content {
        match byte {
            b' ' => encoded.push(b'+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte),
            byte => encoded.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    Ok(encoded)
}

#[cfg(test)]
mod tests;
