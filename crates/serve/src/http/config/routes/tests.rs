//! Routes files: plans of valid ones, errors of invalid ones.

use super::*;
use crate::http::config::trigger::{Delay, When};
use crate::http::config::{Body, ResponseSpec};
use crate::http::handler::Fault;
use std::{sync::Arc, time::Duration};

fn read(source: &str) -> Result<Plan, String> {
    let text = Text { file: "r.toml", source };
    let directory = path::Path::new(env!("CARGO_MANIFEST_DIR"));
    Reader { text, directory, listen: &[], certificates: &CertCache::default() }.plan().map_err(Diagnostic::line)
}

#[track_caller]
fn spec(keys: &str) -> ResponseSpec {
    let plan = read(&format!("[[route]]\npath = \"/\"\n{keys}")).unwrap();
    match plan.listeners[0].routes[0].action.clone() {
        RouteAction::Respond(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_describe_the_response() {
    let response = spec("status = 418\ntext = \"short and stout\"\nheaders = { X-Pot = \"tea\" }");
    assert_eq!((response.status, response.body), (418, Body::Bytes(Arc::from(&b"short and stout"[..]))));
    let names: Vec<_> = response.fields.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["Content-Type", "X-Pot"]);
    assert_eq!(spec("size = \"1KiB\"").body, Body::Filled(1024));
    assert_eq!(spec("file = \"Cargo.toml\"").fields[0].1, b"application/octet-stream");
    assert_eq!(spec("delay = \"10ms\"").delay, Some(Delay::Constant(Duration::from_millis(10))));
    let median = Duration::from_millis(5);
    assert_eq!(spec("delay = { median = \"5ms\", sigma = 0.5 }").delay, Some(Delay::Lognormal { median, sigma: 0.5 }));
    let faults = spec(
        "[[route.fault]]\nkind = \"truncate\"\nbytes = 5\nevery = 10\n[[route.fault]]\nkind = \"reset\"\nshare = 0.1\n",
    )
    .faults;
    let every = When { every: Some(10), ..When::default() };
    let share = When { share: Some(0.1), ..When::default() };
    assert_eq!(faults, [(every, Fault::Truncate(5)), (share, Fault::Reset)]);
    let events = Body::Bytes(Arc::from(&b"id: 0\ndata: x\n\nid: 1\ndata: x\n\n"[..]));
    assert_eq!(spec("sse = { events = 2, data = \"x\" }").body, events);
}

#[test]
fn a_route_without_a_listener_belongs_to_all() {
    let source = "[[listener]]\nname = \"a\"\nlisten = \"127.0.0.1:1\"\nservice = \"hello\"\n[[listener]]\nname = \"b\"\nlisten = [\"127.0.0.1:2\", \"[::1]:2\"]\n[[route]]\npath = \"/both\"\n[[route]]\npath = \"/b/*\"\nlistener = \"b\"\nmethod = [\"GET\", \"PUT\"]\nhost = \"Example.com\"\n";
    let plan = read(source).unwrap();
    let paths = |at: usize| plan.listeners[at].routes.iter().map(|route| route.path.to_string()).collect::<Vec<_>>();
    assert_eq!([paths(0), paths(1)], [["/both", "/*"], ["/both", "/b/*"]]);
    let route = &plan.listeners[1].routes[1];
    assert!(route.matches_method("HEAD") && route.matches_method("PUT") && !route.matches_method("POST"));
    assert_eq!(route.host.as_deref(), Some("example.com"));
}

#[test]
fn errors_have_a_place_and_a_remedy_and_the_routes_in_the_docs_have_none() {
    let route = |keys: &str| format!("[[route]]\npath = \"/\"\n{keys}\n");
    let cases = [
        (route("txt = \"a\""), "r.toml:3:1: unknown key 'txt' in [[route]]; did you mean 'text'?"),
        (route("colour = \"red\""), "known are listener, path"),
        (route("status = 99"), "r.toml:3:10: status must be a whole number from 200 to 599"),
        (route("status = 200\nheaders = { \"X A\" = \"b\" }"), "cannot be sent: the field name is not a token"),
        (route("headers = { Content-Length = \"3\" }"), "set by the writer"),
        (route("text = \"a\"\nsize = 5"), "one body"),
        (route("delay = \"5\""), "r.toml:3:9: delay: '5' is not a time such as"),
        (route("delay = { from = \"5ms\" }"), "delay is \"10ms\""),
        (route("delay = { from = \"9ms\", to = \"1ms\" }"), "delay is \"10ms\""),
        (route("fault = { share = 0.1 }"), "the fault has no kind"),
        (route("fault = { kind = \"rest\" }"), "'rest' is no fault; choose one of reset"),
        (route("fault = { kind = \"refuse\" }"), "refused by a listener"),
        (route("fault = { kind = \"reset\", shar = 0.1 }"), "did you mean 'share'?"),
        (route("fault = { kind = \"reset\", share = 1.5 }"), "share must be a number from 0 to 1"),
        (route("fault = { kind = \"reset\", share = nan }"), "share must be a number from 0 to 1"),
        (route("file = \"no/such\""), "file 'no/such': "),
        (route("service = \"helo\""), "'helo' is no service; choose one of hello"),
        (route("service = \"hello\"\nstatus = 201"), "makes the response itself"),
        (route("method = \"get\""), "write it in capitals"),
        (route("listener = \"x\""), "no listener with the name 'x'"),
        (route("drip = { pieces = 0 }"), "pieces must be a whole number from 1"),
        ("[[route]]\npath = \"a\"\n".to_owned(), "must begin with /"),
        ("[[route]]\npath = \"/a*b\"\n".to_owned(), "only at the end"),
        ("[[route]]\nstatus = 200\n".to_owned(), "the route has no path"),
        ("[[listener]]\nlisten = \"127.0.0.1:1\"\ntls = 5".to_owned(), "tls must be a table"),
        ("[[listener]]\nlisten = \"127.0.0.1:1\"\ntls = { cret = \"a\" }".to_owned(), "did you mean 'cert'?"),
        ("[[listener]]\nlisten = \"127.0.0.1:1\"\ntls = { cert = \"a\" }".to_owned(), "give both, or neither"),
        (
            "[[listener]]\nlisten = \"127.0.0.1:1\"\ntls = { client_ca = \"no.pem\" }".to_owned(),
            "no.pem' cannot be used for TLS",
        ),
        ("[[listener]]\nlisten = \"8080\"\n".to_owned(), "write an address and a port"),
        ("[[listener]]\nservice = \"hello\"\n".to_owned(), "has no address"),
        ("[[listener]]\nlisten = \"127.0.0.1:1\"\n".to_owned(), "neither a route nor a service"),
        ("routes = 5".to_owned(), "did you mean 'route'?"),
        ("".to_owned(), "neither a route nor a service"),
        ("[[listener]\n".to_owned(), "r.toml:1"),
        ("route = 5".to_owned(), "must be a table"),
    ];
    for (source, expected) in cases {
        let error = read(&source).expect_err(&source);
        assert!(error.contains(expected) && error.lines().count() == 1, "{source}\n{error}\nnot {expected}");
    }
    let file = path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/routes.toml");
    let plan = super::read(&file, &[], &CertCache::default()).unwrap();
    assert_eq!(plan.listeners.len(), 2);
}
