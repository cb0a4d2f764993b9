//! The dose of `brunt stress`, by the CPU time and the counts of the process itself.

use crate::shared::runner::*;
use brunt_testkit::{alone, judge};

// What a dose exceeds does not depend on the machine; what falls short of it is judged.

#[test]
fn the_share_is_a_part_of_the_cpu_time() {
    let _alone = alone();
    for resource in ["cpu", "cache --size 256KiB", "memory --size 1MiB"] {
        let is_enough = || {
            let total = total(&format!("{resource} --share 20% -d 1s"));
            let share = total["cpu_s"].as_f64().unwrap() / total["elapsed_s"].as_f64().unwrap();
            // A period, what is made up for, and the main thread.
            assert!(share < 0.25, "{resource}: {share} in {total}");
            assert_eq!(total["share"], 0.2);
            if share > 0.05 { Ok(()) } else { Err(format!("{share} in {total}")) }
        };
        judge(resource, is_enough);
    }
}

#[test]
fn the_rate_is_that_of_all_threads_together() {
    let _alone = alone();
    let dir = brunt_testkit::home();
    // Rate, and units of the largest step.
    let doses = [50e6, 1e6, 50e6, 5e6, 5e6, 50.0].into_iter().zip([4e4, 2e3, 65_536.0, 4096.0, 65_536.0, 2.0]);
    for ((flags, _), (rate, step)) in resources(dir.path()).iter().zip(doses) {
        let is_enough = || {
            let total = total(&format!("{flags} --threads 2 --rate {rate} -d 500ms"));
            let (done, elapsed) = (total["done"].as_f64().unwrap(), total["elapsed_s"].as_f64().unwrap());
            assert!(done <= rate * (elapsed + 0.06) + 2.0 * step, "{flags}: {total}");
            assert_eq!(total["target_rate_per_s"], rate);
            let least = 0.5 * rate * elapsed - 2.0 * step;
            if done > least { Ok(()) } else { Err(format!("less than {least} in {total}")) }
        };
        judge(flags, is_enough);
    }
}

#[test]
fn a_share_of_everything_is_no_dose() {
    let _alone = alone();
    let total = total("cpu --share 100% -d 100ms");
    assert!(total["share"].is_null(), "{total}");
}
