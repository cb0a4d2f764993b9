//! Figures of the server.

use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{alone, judge};
use serde_json::Value;

#[test]
fn the_server_is_found_by_its_socket_and_metered() {
    let _alone = alone();
    let target = Target::start();
    let flags = "-d 1s --warmup 100ms -c 4 --json - --quiet --allow-untrusted";
    judge("the cost of a request is CPU time per second divided by requests per second", || {
        let result = json(&load(&target.url(), flags).output().unwrap());
        assert_eq!(number(&result, "server.pid"), f64::from(target.pid()));
        let cpu = number(&result, "server.cpu_user_percent") + number(&result, "server.cpu_system_percent");
        assert!(cpu > 0.0 && number(&result, "server.rss_bytes") > 500e3, "{result:#}");
        // The two windows differ by milliseconds, more on a busy machine; this checks units and sums.
        let share = number(&result, "server.cpu_us_per_request") / (cpu * 1e4 / number(&result, "requests.rate"));
        if (0.6..1.6).contains(&share) { Ok(()) } else { Err(format!("{share}: {result}")) }
    });
    let unmetered = json(&load(&target.url(), &format!("{flags} --no-meter -n 100")).output().unwrap());
    assert_eq!(unmetered["server"]["pid"], Value::Null);
}
