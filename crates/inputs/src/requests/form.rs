//! Bodies of forms, as browsers and curl send them.

/// The type of a form with parts.
pub(super) const MULTIPART: &str = "multipart/form-data";

/// A field of a form with parts (RFC 7578).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub name: String,
    pub content: Vec<u8>,
    /// Its name, if it is a file.
    pub file: Option<String>,
    pub kind: Option<String>,
}

/// A boundary that is in no part; the same for the same parts.
pub(super) fn boundary(parts: &[Part]) -> String {
    let is_within =
        |text: &str| parts.iter().any(|part| part.content.windows(text.len()).any(|window| window == text.as_bytes()));
    let boundaries = (0u32..).map(|number| format!("------------------------{number:016x}"));
    boundaries.into_iter().find(|text| !is_within(text)).unwrap_or_default()
}

/// The boundary that a `Content-Type` names.
pub(super) fn named_boundary(kind: &str) -> Option<&str> {
    let parameter = |text: &'_ str| text.trim().get(..9).is_some_and(|name| name.eq_ignore_ascii_case("boundary="));
    let found = kind.split(';').find(|text| parameter(text))?;
    Some(found.trim()[9..].trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

pub(super) fn multipart(parts: &[Part], boundary: &str) -> Vec<u8> {
    // As browsers write names (HTML standard, multipart/form-data).
    let quoted = |text: &str| text.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22");
    let mut body = Vec::new();
    for Part { name, content, file, kind } in parts {
        let file = file.as_ref().map_or(String::new(), |file| format!("; filename=\"{}\"", quoted(file)));
        let kind = kind.as_ref().map_or(String::new(), |kind| format!("Content-Type: {kind}\r\n"));
        let name = quoted(name);
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n{kind}\r\n");
        body.extend(head.into_bytes());
        body.extend(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    body
}

/// A text in a form without parts, as a browser sends it.
pub(super) fn urlencoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            byte => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_in_no_part_and_a_named_one_is_read() {
        let part = |text: &str| Part { name: "a".to_owned(), content: text.as_bytes().to_vec(), ..Part::default() };
        let first = boundary(&[part("x")]);
        assert_ne!(boundary(&[part(&format!("x{first}"))]), first);
        assert_eq!(named_boundary("multipart/form-data; Boundary=\"a b\"; x=y"), Some("a b"));
        assert_eq!((named_boundary("multipart/form-data"), named_boundary("a; boundary=")), (None, None));
        let file = Part { file: Some("a\"b".to_owned()), kind: Some("text/plain".to_owned()), ..part("hi") };
        let expected = "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a%22b\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--B--\r\n";
        assert_eq!(String::from_utf8(multipart(&[file], "B")).unwrap(), expected);
    }
}
