//! The public cases of HTTP/1 against the real server: the table that `wire` goes through without a socket, each case a
//! test of its own here as well, sent to an echo server on every model.

#[path = "../../../wire/tests/http1/cases.rs"]
mod cases;
mod common;
mod live;
mod static_responses;

/// Each case in single bytes: what the server answers must not depend on how the request arrives.
#[test]
fn every_case_byte_by_byte() {
    for case in cases::ALL.iter().filter(|case| case.bytes.len() <= 200) {
        let pieces: Vec<&[u8]> = case.bytes.chunks(1).collect();
        let seen = common::serve(&pieces, &brunt_wire::http1::Limits::default());
        assert_eq!(common::verdict(&seen), case.expected.verdict(), "{}: {seen:?}", case.name);
    }
}
