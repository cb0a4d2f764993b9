//! vegeta's targets as text: `METHOD URL`, then headers and `@FILE` of the body, each on a line; or URLs alone.

use super::{Recorded, RequestFile, Wrong, shown, wrong};
use brunt_results::named;
use std::fs;

pub(super) fn is_method(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_uppercase)
}

pub(super) fn is_url(word: &[u8]) -> bool {
    word.starts_with(b"http://") || word.starts_with(b"https://")
}

pub(super) fn parse(text: &[u8], file: &mut RequestFile) -> Result<(), Wrong> {
    // Headers belong to the request before them, up to a blank line.
    let mut is_within = false;
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let place = number + 1;
        let Ok(line) = std::str::from_utf8(line.trim_ascii()) else {
            return wrong(place, format!("{} is not UTF-8", shown(line)));
        };
        let word = line.split_ascii_whitespace().next().unwrap_or_default().as_bytes();
        match file.requests.last_mut().filter(|_| is_within) {
            _ if line.starts_with('#') => (),
            _ if line.is_empty() => is_within = false,
            _ if is_method(word) || is_url(word) => {
                file.requests.push(request(place, line)?);
                is_within = true;
            }
            Some(request) => add(request, line).map_err(|why| Wrong { place, why })?,
            None => {
                return wrong(
                    place,
                    format!("{} begins no request: write 'GET http://HOST/PATH'", shown(line.as_bytes())),
                );
            }
        }
    }
    Ok(())
}

fn request(place: usize, line: &str) -> Result<Recorded, Wrong> {
    let mut words = line.split_ascii_whitespace();
    let (method, url) = match (words.next(), words.next(), words.next()) {
        (Some(url), None, _) if is_url(url.as_bytes()) => ("GET", url),
        (Some(method), Some(url), None) => (method, url),
        _ => return wrong(place, format!("{} is not of the form 'GET http://HOST/PATH'", shown(line.as_bytes()))),
    };
    Ok(Recorded { place, method: method.to_owned(), url: url.to_owned(), ..Recorded::default() })
}

fn add(request: &mut Recorded, line: &str) -> Result<(), String> {
    if let Some(path) = line.strip_prefix('@') {
        let body = named::place(path).and_then(fs::read);
        request.body = Some(body.map_err(|error| format!("'{path}' cannot be read: {error}"))?);
        return Ok(());
    }
    let Some((name, value)) = line.split_once(':') else {
        return Err(format!("{} is neither 'Name: value' nor @FILE", shown(line.as_bytes())));
    };
    request.add_field(name.trim(), value.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;

    #[test]
    fn requests_have_headers_and_a_body_from_a_file() {
        let body = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(body.path(), "hi").unwrap();
        let text = format!(
            "# all\nPOST http://a/x\nX-A: 1\n@{}\n\nGET http://a/y\nDELETE http://a/z\nX-B:2\n\nhttp://a/w",
            body.path().display()
        );
        let file = parsed(&text).unwrap();
        let told: Vec<String> = file
            .requests
            .iter()
            .map(|request| format!("{} {} {} {:?}", request.place, request.method, request.url, request.fields))
            .collect();
        assert_eq!(
            told,
            [
                "2 POST http://a/x [(\"X-A\", \"1\")]",
                "6 GET http://a/y []",
                "7 DELETE http://a/z [(\"X-B\", \"2\")]",
                "10 GET http://a/w []"
            ]
        );
        assert_eq!(file.requests[0].body.as_deref(), Some(&b"hi"[..]));
    }
}
