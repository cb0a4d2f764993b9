//! Work that is done before a reply: `examples/work_server.rs`.

use crate::shared::example::example;
use brunt_testkit::{alone, at_most, judge};
use std::process::Command;

#[test]
fn work_takes_cpu_time_and_its_count_has_eight_digits() {
    let _alone = alone();
    let measure = |count: &str| -> u64 {
        let output = Command::new(example("work_server")).args(["measure", count]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or_else(|_| panic!("{:?}", output.stderr))
    };
    // A step takes no less than a cycle.
    assert!(measure("00010000") > 1_000);
    judge("what is not done takes no time", || {
        at_most(5, 0.5, || (measure("00000000") as f64, measure("00010000") as f64))
    });
    let output = Command::new(example("work_server")).args(["127.0.0.1:0", "4000"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("'4000' is not a count of 8 digits"));
}
