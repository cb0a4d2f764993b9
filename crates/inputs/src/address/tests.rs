//! URLs as users type them, and what brunt reads in them.

use super::*;

#[test]
fn urls_are_parsed() {
    for (url, host, port) in [
        ("tcp://127.0.0.1:7100", "127.0.0.1", 7100),
        ("tcp://localhost:1/", "localhost", 1),
        ("tcp://[::1]:7100", "::1", 7100),
        ("tcp://[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        ("TCP://[fe80::1%25eth0]:1", "fe80::1%eth0", 1),
        ("tcp://h:80", "h", 80),
    ] {
        let expected = Url { host: host.to_owned(), port, protocol: Protocol::Tcp, user: None };
        assert_eq!(parse(url).expect(url), expected, "{url}");
    }
    for (url, host, port, authority, target) in [
        ("http://127.0.0.1:8080/", "127.0.0.1", 8080, "127.0.0.1:8080", "/"),
        ("http://localhost", "localhost", 80, "localhost", "/"),
        ("http://a.b/c/d?e=f&g", "a.b", 80, "a.b", "/c/d?e=f&g"),
        ("http://a?b", "a", 80, "a", "/?b"),
        ("http://[::1]:8080/x", "::1", 8080, "[::1]:8080", "/x"),
        ("http://[::1]/", "::1", 80, "[::1]", "/"),
        ("http://h/a%20b:c/@", "h", 80, "h", "/a%20b:c/@"),
        ("https://h/", "h", 443, "h", "/"),
        ("http://H:80/a/../b", "H", 80, "H:80", "/a/../b"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"),
        ("https://[::1]:8443?x", "::1", 8443, "[::1]:8443", "/?x"),
        ("https://h:443", "h", 443, "h:443", "/"),
        ("http://[fe80::1%25lo]:81/", "fe80::1%lo", 81, "[fe80::1]:81", "/"),
        ("http://h/#top", "h", 80, "h", "/"),
        ("http://h?a#b?c", "h", 80, "h", "/?a"),
        ("http://h/a b\u{e9}", "h", 80, "h", "/a%20b%C3%A9"),
        ("http://h/{line:a#b c}/{x y}/{seq}#{uuid}", "h", 80, "h", "/{line:a#b c}/{x%20y}/{seq}"),
        ("http://b\u{fc}cher.example/", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"),
        ("http://0x7f.1:81/", "127.0.0.1", 81, "127.0.0.1:81", "/"),
    ] {
        let tls = url.starts_with("https");
        let protocol = Protocol::Http { authority: authority.to_owned(), target: target.to_owned(), tls };
        assert_eq!(parse(url).expect(url), Url { host: host.to_owned(), port, protocol, user: None }, "{url}");
    }
}

#[test]
fn errors_quote_the_url_and_the_remedy() {
    for (url, needle) in [
        ("ftp://x:1/", "'ftp'"),
        ("https://", "https://HOST[:PORT]/PATH"),
        ("tcp://x", "tcp://HOST:PORT"),
        ("tcp://::1:7100", "tcp://[::1]:7100"),
        ("tcp://:7100", "tcp://HOST:PORT"),
        ("tcp://x:0", "'0'"),
        ("tcp://x:70000", "'70000'"),
        ("tcp://x:7100/path", "'7100/path'"),
        ("tcp://", "tcp://HOST:PORT"),
        ("", "names no protocol"),
        ("7100", "no host"),
        ("/run/x", "no host"),
        ("http:/x", "write http://"),
        ("HTTP//x", "write http://"),
        ("unix:/run/x", "write unix://"),
        ("http://{seq}.x/", "placeholder"),
        ("http://xn--\u{fc}/", "IDNA"),
        ("http://", "http://HOST[:PORT]/PATH"),
        ("http:///x", "http://HOST[:PORT]/PATH"),
        ("http://x:99999/", "'99999'"),
        ("http://x:/", "port ''"),
        ("http://::1/", "http://HOST[:PORT]/PATH"),
        ("http://x y/", "http://HOST[:PORT]/PATH"),
        ("http://127.0.0.256/", "http://HOST[:PORT]/PATH"),
        ("http://[::1/", "http://HOST[:PORT]/PATH"),
    ] {
        let error = parse(url).expect_err(url);
        let why = error.to_string();
        assert!(matches!(error, Error::Usage(_)) && why.contains(needle) && why.contains(url), "{url}: {why}");
    }
    let why = parse(r"http://x\y/").unwrap_err().to_string();
    assert!(why.contains("http://HOST[:PORT]/PATH"), "{why}");
    let why = parse("http://x/a\r\nb").unwrap_err().to_string();
    assert!(why.contains("%0D") && !why.contains('\n'), "{why}");
}

#[test]
fn a_url_without_a_scheme_is_of_http_and_blanks_around_it_are_left_out() {
    let http = |url: &str| parse(url).unwrap().sent().unwrap();
    for typed in ["localhost:8080", " localhost:8080/\r\n", "HTTP://localhost:8080\t", "localhost:8080/#http://x"] {
        assert_eq!(http(typed), "http://localhost:8080/", "{typed:?}");
    }
    assert_eq!(shown(" HTTP://me:pw@h/a b\n"), "http://h/a b");
    assert_eq!(
        (shown("localhost:1/x@y"), shown("unix:///a@b")),
        ("http://localhost:1/x@y".into(), "unix:///a@b".into())
    );
}

#[test]
fn a_user_is_credentials_and_is_never_shown() {
    let user = |url: &str| parse(url).unwrap().user.map(|user| user.value().to_owned());
    for (url, pair) in [
        ("http://me:pw@h/", "me:pw"),
        ("http://me@h/", "me:"),
        ("http://m%40e:p%2Fw%C3%A9@[::1]:80/", "m@e:p/w\u{e9}"),
        ("http://me:p@w:x@h/", "me:p@w:x"),
        ("https://:pw@h", ":pw"),
    ] {
        assert_eq!(user(url), Some(Secret::basic(pair).value().to_owned()), "{url}");
    }
    assert_eq!((user("http://@h/"), user("http://h/a@b")), (None, None));
    for url in [
        "http://me:s3cret@h:99999/",
        "http://me:s3 cret@h/",
        "http://me:s3'cret@h/",
        "http://me:s3/cret@h/",
        "http://me:s3?cret@h/",
        "http://me:s3#cret@h/",
        "http://s3\\cret@h/",
        "me:s3cret@h:80",
        "tcp://me:s3cret@h:1",
        "ftp://me:s3cret@h/",
    ] {
        let why = parse(url).expect_err(url).to_string();
        assert!(!why.contains("s3") && !why.contains("cret") && !why.contains('\n'), "{url}: {why}");
    }
    assert!(parse("http://me:p/w@h/").unwrap_err().to_string().contains("%2F"));
    assert_eq!(format!("{:?}", parse("http://me:pw@h/").unwrap().user), "Some([hidden])");
}
