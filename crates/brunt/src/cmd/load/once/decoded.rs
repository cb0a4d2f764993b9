//! Bodies for the eye: without their `Content-Encoding`, if that is gzip or deflate.

use brunt_load::once::Reply;
use brunt_view::format::bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::Read;

/// Most bytes of a decoded body.
const MOST: u64 = 64 << 20;

/// The body as it is to be read, and a line about its encoding if it has one.
pub(super) fn body(reply: &Reply) -> (Cow<'_, [u8]>, Option<String>) {
    let plain = Cow::Borrowed(&reply.body[..]);
    let encoding = reply.field("content-encoding").filter(|_| !reply.body.is_empty());
    let Some(encoding) = encoding.map(|name| name.to_ascii_lowercase()) else { return (plain, None) };
    let mut decoder: Box<dyn Read + '_> = match &*encoding {
        "identity" => return (plain, None),
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(&reply.body[..])),
        "deflate" => Box::new(ZlibDecoder::new(&reply.body[..])),
        other => {
            return (
                plain,
                Some(format!("the body is encoded as {}, which is not decoded here", other.escape_debug())),
            );
        }
    };
    let mut decoded = Vec::new();
    let ended = (&mut decoder).take(MOST).read_to_end(&mut decoded);
    let size = bytes(decoded.len() as f64);
    let line = match ended {
        Err(why) => format!("the body is no valid {encoding} ({why}): {size} of it are decoded"),
        Ok(_) if decoded.len() as u64 == MOST => format!("the body is {encoding}, of which {size} are decoded"),
        Ok(_) => format!("the body is {encoding}, decoded to {size}"),
    };
    (Cow::Owned(decoded), Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write as _;

    fn told(encoding: &str, body: &[u8]) -> (String, Option<String>) {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\n\r\n").into_bytes();
        let reply =
            Reply { status: Some(200), head, body: body.to_vec(), is_expected: true, keeps: true, lenient: Vec::new() };
        let (body, line) = super::body(&reply);
        (String::from_utf8_lossy(&body).into_owned(), line)
    }

    #[test]
    fn gzip_and_deflate_are_decoded_and_others_are_named() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"hello").unwrap();
        let gzip = gzip.finish().unwrap();
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(b"hello").unwrap();
        let decoded = |name: &str| ("hello".to_owned(), Some(format!("the body is {name}, decoded to 5 B")));
        assert_eq!(told("GZIP", &gzip), decoded("gzip"));
        assert_eq!(told("deflate", &deflate.finish().unwrap()), decoded("deflate"));
        assert_eq!(told("identity", b"x"), ("x".to_owned(), None));
        let (body, line) = told("gzip", &gzip[..gzip.len() - 4]);
        assert!(body == "hello" && line.unwrap().starts_with("the body is no valid gzip"));
        let (body, line) = told("br", b"x");
        assert!(body == "x" && line.unwrap().contains("br, which is not decoded"));
    }
}
