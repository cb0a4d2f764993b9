//! Command lines and the requests that curl makes of them.

use super::super::tests::parsed;
use std::fs;

/// Method, URL, fields and body of the one request of a line, each field on a line.
fn told(line: &str) -> (String, String, String, Option<String>) {
    let file = parsed(line).unwrap();
    let [request] = &file.requests[..] else { panic!("{file:?}") };
    let fields: Vec<String> = request.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let body = request.body.clone().map(|body| String::from_utf8(body).unwrap());
    (request.method.clone(), request.url.clone(), fields.join("\n"), body)
}

#[test]
fn flags_make_the_request_that_curl_makes() {
    const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
    const JSON: &str = "Accept: application/json\nContent-Type: application/json";
    for (line, method, url, fields, body) in [
        ("curl http://a", "GET", "http://a/", "", None),
        ("curl a:8080/x?y", "GET", "http://a:8080/x?y", "", None),
        ("curl -s 'http://a/x#top' -X DELETE", "DELETE", "http://a/x", "", None),
        ("curl -XPUT http://a/ -d x=1 -d y=2", "PUT", "http://a/", FORM, Some("x=1&y=2")),
        ("curl http://a/ --data-raw @x", "POST", "http://a/", FORM, Some("@x")),
        ("curl http://a/ -d ''", "POST", "http://a/", FORM, Some("")),
        ("curl http://a/ -G -d x=1 --data-urlencode 'q=a b&c'", "GET", "http://a/?x=1&q=a+b%26c", "", None),
        ("curl http://a/?z -G -d x", "GET", "http://a/?z&x", "", None),
        ("curl -I http://a/", "HEAD", "http://a/", "", None),
        ("curl http://a/ --json '{\"x\":1}'", "POST", "http://a/", JSON, Some("{\"x\":1}")),
        (
            "curl http://a/ -d x -H 'content-type: text/plain'",
            "POST",
            "http://a/",
            "content-type: text/plain",
            Some("x"),
        ),
        ("curl http://a/ -d x -H Content-Type:", "POST", "http://a/", "", Some("x")),
        ("curl http://a/ -H 'X-Empty;' -H 'Connection: close'", "GET", "http://a/", "X-Empty: ", None),
        ("curl http://a/ -u me:pw", "GET", "http://a/", "Authorization: Basic bWU6cHc=", None),
        (
            "curl http://a/ -A me -e http://b/ -b 'x=1' -b y=2 -r 0-9",
            "GET",
            "http://a/",
            "User-Agent: me\nReferer: http://b/\nRange: bytes=0-9\nCookie: x=1; y=2",
            None,
        ),
        ("curl http://a/ --compressed", "GET", "http://a/", "Accept-Encoding: deflate, gzip, br, zstd", None),
        ("curl http://a/ --compressed -H 'accept-encoding: br'", "GET", "http://a/", "accept-encoding: br", None),
        ("curl -sSLkXPATCH --url http://a/", "PATCH", "http://a/", "", None),
        ("curl -g 'http://a/{x}[1]'", "GET", "http://a/{x}[1]", "", None),
    ] {
        let expected = (method.to_owned(), url.to_owned(), fields.to_owned(), body.map(str::to_owned));
        assert_eq!(told(line), expected, "{line}");
    }
}

#[test]
fn files_are_read_as_curl_reads_them() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "a b\r\nc\n").unwrap();
    let path = file.path().display();
    for (flag, body) in [
        (format!("-d @{path}"), "a bc"),
        (format!("--data-binary @{path}"), "a b\r\nc\n"),
        (format!("--data-urlencode q@{path}"), "q=a+b%0D%0Ac%0A"),
        (format!("--json @{path} --json x"), "a b\r\nc\nx"),
    ] {
        assert_eq!(told(&format!("curl http://a/ {flag}")).3.as_deref(), Some(body), "{flag}");
    }
}

#[test]
fn a_host_of_its_own_several_urls_and_left_out_flags() {
    let file = parsed("curl -k --max-time 3 http://a/x http://b/y -H 'Host: c'\ncurl -k http://a/z").unwrap();
    let told: Vec<_> =
        file.requests.iter().map(|request| (&request.url[..], request.host.as_deref(), request.place)).collect();
    assert_eq!(told, [("http://a/x", Some("c"), 1), ("http://b/y", Some("c"), 1), ("http://a/z", None, 2)]);
    assert!(file.notes.len() == 1 && file.notes[0].contains("-k, --max-time of curl"), "{:?}", file.notes);
    for (line, says) in [
        ("curl 'http://a/{x,y}'", "-g"),
        ("curl http://a/ -u me", "NAME:PASSWORD"),
        ("curl http://a/ -b jar.txt", "jar.txt"),
        ("curl http://a/ -H nocolon", "'nocolon'"),
        ("curl http://a/ -d @-", "@-"),
        ("curl http://a/ -sQ", "'-Q'"),
    ] {
        let error = parsed(line).unwrap_err();
        assert!(error.contains(says), "{line}: {error}");
    }
}
