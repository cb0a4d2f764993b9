use super::*;
use proptest::prelude::*;

const GET: &str = "GET /a/b?q=1 HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\n\r\n";

fn led(status: u16, location: &str) -> String {
    match follow(GET.as_bytes(), false, status, location.as_bytes()) {
        Ok(following) => String::from_utf8(following.bytes).unwrap().split(' ').nth(1).unwrap().to_owned(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn references_of_all_forms_lead_to_paths_or_elsewhere() {
    for (location, target) in [
        ("/c", "/c"),
        ("c", "/a/c"),
        ("../c?d=e", "/c?d=e"),
        ("?r=2", "/a/b?r=2"),
        ("http://h:81/x#part", "/x"),
        ("HTTP://H:81", "/"),
        ("//h:81/y", "/y"),
        ("/two words/\u{e9}", "/two%20words/%C3%A9"),
        ("#top", "/a/b?q=1"),
        ("http://h/x", "a redirect to http://h/x, on another scheme, host or port"),
        ("https://h:81/x", "a redirect to https://h:81/x, on another scheme, host or port"),
        ("//me:secret@other/x#f", "a redirect to http://other/x, on another scheme, host or port"),
        ("", "a redirect whose Location is no URL: ''"),
        ("http://[", "a redirect whose Location is no URL: 'http://['"),
        ("mailto:me@h", "a redirect whose Location is no URL: 'mailto:me@h'"),
    ] {
        assert_eq!(led(302, location), target, "{location}");
    }
    let default_port = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
    assert!(follow(default_port, true, 301, b"https://h:443/x").is_ok());
    assert!(follow(default_port, false, 301, b"https://h/x").is_err());
}

#[test]
fn methods_and_bodies_follow_the_status() {
    let becomes = |method: &str, status| {
        let request = format!(
            "{method} / HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: 2\r\nConnection: close\r\nX: y\r\n\r\nhi"
        );
        let following = follow(request.as_bytes(), false, status, b"/to").unwrap();
        let text = String::from_utf8(following.bytes.clone()).unwrap();
        assert!(text.contains("\r\nX: y\r\n") && !text.contains("close"), "{text}");
        let method = text.split(' ').next().unwrap().to_owned();
        assert_eq!(following.batch, Batch::of(&method));
        assert_eq!(text.contains("Content-Length: 2") && text.contains("Content-Type"), text.ends_with("\r\n\r\nhi"));
        let mut last = following;
        last.close();
        let text = String::from_utf8(last.bytes).unwrap();
        assert_eq!(text.split_once("\r\n\r\n").unwrap().0.lines().last(), Some("Connection: close"), "{text}");
        (method, text.ends_with("hi"))
    };
    for (method, status, then) in [
        ("POST", 301, ("GET", false)),
        ("POST", 302, ("GET", false)),
        ("PUT", 302, ("PUT", true)),
        ("PUT", 303, ("GET", false)),
        ("HEAD", 303, ("HEAD", true)),
        ("POST", 307, ("POST", true)),
        ("DELETE", 308, ("DELETE", true)),
    ] {
        assert_eq!(becomes(method, status), (then.0.to_owned(), then.1), "{method} {status}");
    }
    let leads = |status| leads_to(status, Some(b"/to")).is_some();
    assert_eq!([300, 301, 304, 305, 308].map(leads), [false, true, false, false, true]);
    assert_eq!((leads_to(301, None), leads_to(301, Some(b""))), (None, None));
}

proptest! {
    /// What follows is one request of one host, whatever is received.
    #[test]
    fn no_location_makes_more_than_one_request(location in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(following) = follow(GET.as_bytes(), false, 302, &location) {
            let batch = crate::http::batch::of(&following.bytes).unwrap();
            prop_assert_eq!(batch, following.batch);
            let head = String::from_utf8(following.bytes).unwrap();
            prop_assert_eq!((head.lines().count(), head.split(' ').count()), (4, 5));
        }
    }
}
