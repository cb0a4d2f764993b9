//! What only a real kernel adds to the time at which a request is sent.

use crate::shared::*;
use brunt_load::Options;
use brunt_testkit::{alone, judge};
use std::time::Duration;

#[test]
fn a_constant_rate_is_sent_on_time() {
    let _turn = alone();
    judge("the median lag is far below a millisecond", || {
        let options = Options {
            rate: Some(2000.0),
            connections: 16,
            duration: Duration::from_millis(250),
            ..options(target(echo))
        };
        let result = run(&options).result;
        // All but requests due at the very end of the window.
        let unsent = result.latency.response.count.saturating_sub(result.latency.lag.count);
        assert!(unsent <= result.requests.unanswered, "{unsent}, {:?}", result.requests);
        assert!(result.generator.spin_percent.unwrap() <= result.generator.cpu_percent.unwrap() + 1.0);
        // Rounding to a tick of a millisecond would be half of one here.
        let lag = result.latency.lag.p50_us.unwrap();
        if lag < 200.0 { Ok(()) } else { Err(format!("{lag} us")) }
    });
}
