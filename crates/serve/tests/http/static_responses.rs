//! Static responses do not depend on how requests are mixed or split.

use super::common;
use brunt_serve::http::Service;
use proptest::{collection::vec, prelude::*, sample::select};
use std::{net::SocketAddr, sync::OnceLock};

const REQUESTS: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n",
    "GET /other HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nGET",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
];
const LAST: &[&str] =
    &["GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", ""];

fn hello() -> SocketAddr {
    static SERVER: OnceLock<SocketAddr> = OnceLock::new();
    *SERVER.get_or_init(|| common::start(Service::Hello, brunt_serve::Model::Epoll))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_request_gets_the_static_response(
        requests in vec(prop_oneof![Just(REQUESTS[0]), select(REQUESTS)], 1..9),
        last in select(LAST),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = [&requests.concat(), last].concat();
        let (one, other) = bytes.as_bytes().split_at(cut.index(bytes.len()));
        let seen = common::ask(hello(), &[one, other]);
        let mut expected = vec![200; requests.len()];
        match last {
            "" => {}
            "GET / HTTP/1.1\r\n\r\n" => expected.push(400),
            _ => expected.push(200),
        }
        let statuses: Vec<u16> = seen.iter().map(|(status, _)| *status).collect();
        prop_assert_eq!(&statuses, &expected);
        for (status, body) in seen {
            prop_assert!(status != 200 || body == b"Hi, there!\n");
        }
    }
}
