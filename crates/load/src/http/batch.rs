//! Number, methods and lengths of the requests in a text, as that of a script. The text is sent as it is, so only as much HTTP
//! is checked as is needed to find the end of each request.

use super::source::Batch;

/// The requests of `text`.
///
/// # Errors
/// It is empty, or its last request is incomplete.
pub fn of(text: &[u8]) -> Result<Batch, String> {
    let mut batch = Batch::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (method, length) = first(rest).ok_or_else(|| {
            let number = batch.requests() + 1;
            format!("request {number} of the text is not whole: a head ends with an empty line (\\r\\n\\r\\n) and its body follows")
        })?;
        batch.push(method)?;
        rest = &rest[length..];
    }
    if batch.requests() == 0 {
        return Err("the text is empty: return a request, as wrk.format() makes".to_owned());
    }
    Ok(batch)
}

/// Length of the first `requests` of a text that has at least as many.
pub fn length(text: &[u8], requests: u32) -> usize {
    let behind = |at: usize| Some(at + first(&text[at..])?.1);
    (0..requests).try_fold(0, |at, _| behind(at)).unwrap_or(text.len())
}

/// Method and length of the first request, if it is complete.
fn first(text: &[u8]) -> Option<(&str, usize)> {
    let (line, mut at) = line(text, 0)?;
    let space = line.iter().position(|byte| *byte == b' ')?;
    let method = str::from_utf8(&line[..space]).ok()?;
    let (mut length, mut chunked) = (0usize, false);
    loop {
        let (field, behind) = self::line(text, at)?;
        at = behind;
        if field.is_empty() {
            break;
        }
        // Skips most names.
        if matches!(field[0] | 0x20, b'c' | b't') {
            let Some(colon) = field.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"content-length") {
                length = str::from_utf8(value).ok()?.parse().ok()?;
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                chunked = value.to_ascii_lowercase().ends_with(b"chunked");
            }
        }
    }
    let end = if chunked { chunks(text, at)? } else { at.checked_add(length)? };
    (end <= text.len()).then_some((method, end))
}

/// End of the chunks that begin at `at`, trailers included.
fn chunks(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let (size, start) = line(text, at)?;
        let digits = size.split(|byte| *byte == b';').next()?.trim_ascii();
        let size = usize::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        at = start;
        if size == 0 {
            break;
        }
        at = at.checked_add(size)?.checked_add(2)?;
    }
    loop {
        let (trailer, next) = line(text, at)?;
        at = next;
        if trailer.is_empty() {
            return Some(at);
        }
    }
}

/// The line that begins at `at`, without its line break, and the start of the next.
fn line(text: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = text.get(at..)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = &rest[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), at + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const HEAD: &str = "HEAD /x HTTP/1.1\r\nCookie: a\r\nTE: b\r\n\r\n";
    const POST: &str = "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nGET /";
    const CHUNKS: &str =
        "PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n4;x\r\n\r\n\r\n\r\n0\r\nA: b\r\n\r\n";

    #[test]
    fn requests_are_separated_whatever_their_bodies_contain() {
        let requests = [GET, HEAD, POST, CHUNKS, HEAD];
        let text = requests.concat();
        let batch = of(text.as_bytes()).unwrap();
        assert_eq!(batch.requests(), 5);
        let heads = |batch: Batch| (0..5).map(move |at| batch.is_head(at)).collect::<Vec<_>>();
        assert_eq!(heads(batch), [false, true, false, false, true]);
        for count in 1..=5u32 {
            let first = &text[..length(text.as_bytes(), count)];
            assert_eq!(first, requests[..count as usize].concat());
            assert_eq!(batch.first(count), of(first.as_bytes()).unwrap());
        }
    }

    #[test]
    fn an_error_names_the_number_of_the_incomplete_request() {
        assert!(of(b"").unwrap_err().contains("empty"));
        for request in [GET, HEAD, POST, CHUNKS] {
            for end in 1..request.len() {
                let text = [GET, &request[..end]].concat();
                let error = of(text.as_bytes()).expect_err(&text);
                assert!(error.contains("request 2"), "{error}");
            }
        }
        for broken in ["GET\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "\r\n\r\n"] {
            assert!(of(broken.as_bytes()).is_err(), "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_or_hangs(text in "[GETcontent:HADPOST 0-9a-fx;/,\r\n-]{0,200}") {
            let _ = of(text.as_bytes());
        }
    }
}
