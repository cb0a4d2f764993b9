//! Values of curl's `-F`: `name=text`, `name=@file`, `name=<file`, each with `;type=`, `;filename=` behind it.

use super::form::Part;
use brunt_results::named;
use std::fs;

/// A part of --form.
pub(super) fn part(value: &str) -> Result<Part, String> {
    let (name, content) = name_and_content(value)?;
    let (mark, content) = match content.as_bytes().first() {
        Some(mark @ (b'@' | b'<')) => (Some(*mark), &content[1..]),
        _ => (None, content),
    };
    let (content, mut parameters) = unquoted(content);
    if mark == Some(b'@') && content.contains(',') && !parameters.contains("filename=") {
        return Err(format!("-F '{name}=@...' names several files: write a part for each"));
    }
    let mut part = Part { name: name.to_owned(), ..Part::default() };
    match mark {
        None => part.content = content.clone().into_bytes(),
        Some(mark) => {
            part.content = read(content.as_bytes())?;
            if mark == b'@' {
                part.file = Some(content.rsplit('/').next().unwrap_or_default().to_owned());
                part.kind = Some(kind_of(&content).to_owned());
            }
        }
    }
    while let Some((_, rest)) = parameters.split_once(';') {
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        let (value, behind) = unquoted(value);
        match key.trim() {
            "type" => part.kind = Some(value),
            "filename" => part.file = Some(value),
            other => return Err(format!("-F '{name}=...;{other}=' is not supported: only type and filename are")),
        }
        parameters = behind;
    }
    Ok(part)
}

/// A part of --form-string, whose text is as it is.
pub(super) fn literal(value: &str) -> Result<Part, String> {
    let (name, content) = name_and_content(value)?;
    Ok(Part { name: name.to_owned(), content: content.as_bytes().to_vec(), ..Part::default() })
}

/// The contents of a file that a value names.
pub(super) fn read(path: &[u8]) -> Result<Vec<u8>, String> {
    if path == b"-" {
        return Err("@- is the input of curl: write the data to a file".to_owned());
    }
    let path = String::from_utf8_lossy(path);
    named::place(&*path).and_then(fs::read).map_err(|error| format!("'{path}' cannot be read: {error}"))
}

fn name_and_content(value: &str) -> Result<(&str, &str), String> {
    value.split_once('=').ok_or_else(|| format!("-F '{}' is not of the form 'name=text'", value.escape_debug()))
}

/// A text up to `;`, or in double quotes with backslashes before `"` and `\`; and what is behind it.
fn unquoted(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut read, mut chars) = (String::new(), inner.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (read, &inner[at + 1..]),
            '\\' => match chars.next() {
                Some((_, next @ ('"' | '\\'))) => read.push(next),
                other => read.extend(std::iter::once('\\').chain(other.map(|(_, next)| next))),
            },
            c => read.push(c),
        }
    }
    // No quote ends it: the first is a part of the text.
    (text.to_owned(), "")
}

/// The type of a file, by the endings that curl knows.
fn kind_of(file: &str) -> &'static str {
    const KINDS: [(&str, &str); 10] = [
        (".gif", "image/gif"),
        (".jpg", "image/jpeg"),
        (".jpeg", "image/jpeg"),
        (".png", "image/png"),
        (".svg", "image/svg+xml"),
        (".txt", "text/plain"),
        (".htm", "text/html"),
        (".html", "text/html"),
        (".pdf", "application/pdf"),
        (".xml", "application/xml"),
    ];
    let lower = file.to_ascii_lowercase();
    KINDS.iter().find(|(end, _)| lower.ends_with(end)).map_or("application/octet-stream", |(_, kind)| kind)
}
