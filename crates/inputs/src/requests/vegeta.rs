//! vegeta's targets as JSON: an object a line with method, URL, body in base64 and header.

use super::{Recorded, RequestFile, Wrong, shown, wrong};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Target {
    method: Option<String>,
    url: Option<String>,
    body: Option<String>,
    header: Option<BTreeMap<String, Vec<String>>>,
}

pub(super) fn parse(text: &[u8], file: &mut RequestFile) -> Result<(), Wrong> {
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if !line.is_empty() {
            file.requests.push(request(number + 1, line)?);
        }
    }
    Ok(())
}

fn request(place: usize, line: &[u8]) -> Result<Recorded, Wrong> {
    let target: Target = match serde_json::from_slice(line) {
        Ok(target) => target,
        Err(error) => {
            return wrong(place, format!("{} is no target of vegeta, one object a line: {error}", shown(line)));
        }
    };
    let Some(url) = target.url else { return wrong(place, "'url' is missing: give each target one") };
    let method = target.method.unwrap_or_else(|| "GET".to_owned());
    let mut request = Recorded { place, method, url, ..Recorded::default() };
    for (name, values) in target.header.unwrap_or_default() {
        values.iter().for_each(|value| request.add_field(&name, value));
    }
    let Some(body) = target.body.filter(|body| !body.is_empty()) else { return Ok(request) };
    match BASE64_STANDARD.decode(&body) {
        Ok(body) => Ok(Recorded { body: Some(body), ..request }),
        Err(error) => wrong(place, format!("'body' {} is no base64: {error}", shown(body.as_bytes()))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;

    #[test]
    fn a_line_is_a_request() {
        let file = parsed(
            "{\"method\":\"POST\",\"url\":\"http://a/x\",\"body\":\"aGk=\",\"header\":{\"X-A\":[\"1\",\"2\"],\"Host\":[\"b\"]}}\n\n{\"url\":\"http://a/y\",\"body\":\"\"}\n",
        )
        .unwrap();
        let [first, second] = &file.requests[..] else { panic!("{file:?}") };
        assert_eq!(
            (&first.method[..], first.host.as_deref(), first.body.as_deref()),
            ("POST", Some("b"), Some(&b"hi"[..]))
        );
        assert_eq!(first.fields, [("X-A", "1"), ("X-A", "2")].map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((&second.method[..], &second.url[..], second.place, &second.body), ("GET", "http://a/y", 3, &None));
    }
}
