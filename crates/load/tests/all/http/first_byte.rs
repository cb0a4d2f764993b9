//! Times to the first byte of replies that come in pieces, alone and in pipelines.

use crate::shared::{MS, run, web::*};
use std::thread;
use std::time::Duration;

/// Between the first byte of a reply and the rest.
const REST: Duration = MS.saturating_mul(100);

#[test]
fn the_first_byte_is_timed_apart_from_the_last_one() {
    // Cut within the status line, behind the head, in the body; every other reply comes whole.
    for cut in [4, ok("").len(), ok("").len() + 2] {
        let (address, _) = web(move |stream, request| {
            let reply = ok("hello");
            if request.number % 2 == 1 {
                return say(stream, &reply);
            }
            say(stream, &reply[..cut]) && {
                thread::sleep(REST);
                say(stream, &reply[cut..])
            }
        });
        let latency = run(&some(20, get(address))).result.latency;
        let first_byte = latency.first_byte.unwrap();
        assert_eq!(first_byte.count, latency.service.count, "{cut}");
        // A busy machine delays some replies, not most of them.
        assert!(first_byte.p50_us.unwrap() < 100_000.0 && first_byte.mean_us < latency.service.mean_us, "{cut}");
        assert!(latency.service.p90_us.unwrap() >= 100_000.0, "{cut}: {:?}", latency.service);
    }
}

#[test]
fn a_reply_begins_behind_the_one_before_it_in_the_same_receive() {
    let (address, _) = web(move |stream, request| match request.number % 2 {
        // The second reply begins with the first one, and ends later.
        0 => say(stream, &format!("{}HTTP/1.1 20", ok("hello"))),
        _ => {
            thread::sleep(REST);
            say(stream, &ok("hello")["HTTP/1.1 20".len()..])
        }
    });
    let latency = run(&some(20, asks(address, &template(), &[goal("/", 1)], 2, None))).result.latency;
    let first_byte = latency.first_byte.unwrap();
    assert_eq!(first_byte.count, 20);
    assert!(first_byte.p90_us.unwrap() < 100_000.0, "{first_byte:?}");
    let longest = latency.service.p90_us.unwrap();
    assert!(longest >= 100_000.0, "{:?}", latency.service);
}

#[test]
fn whole_replies_have_their_first_byte_with_the_last_one() {
    let (address, _) = web(|stream, _| say(stream, &ok("hello")));
    let latency = run(&some(100, get(address))).result.latency;
    assert_eq!(latency.first_byte.unwrap(), latency.service);
}
