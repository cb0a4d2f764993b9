//! Progress and totals agree with each other and with what happened.

use crate::shared::runner::*;
use brunt_testkit::{Signal, until};

#[test]
fn progress_never_falls_and_ends_with_the_total() {
    let dir = brunt_testkit::home();
    let runners = resources(dir.path())
        .map(|(flags, unit)| (Runner::start(&format!("{flags} --share 10% -d 2200ms")), flags, unit));
    for (mut runner, flags, unit) in runners {
        let (lines, first) = runner.rest();
        assert!(runner.wait().success(), "{flags}");
        assert!(lines.is_sorted_by_key(|line| line.done), "{flags}: {lines:?}");
        assert!(lines.is_sorted_by(|line, next| line.elapsed_s <= next.elapsed_s), "{flags}: {lines:?}");
        assert!(lines.iter().all(|line| line.unit == unit), "{flags}: {lines:?}");
        let last = lines.last().unwrap();
        assert!(last.done > 0 && last.elapsed_s >= 2.2, "{flags}: {last:?}");
        let resource = flags.split(' ').next().unwrap();
        assert_eq!(first, format!("{resource}: {} {unit} in {:.3} s", last.done, last.elapsed_s));
    }
}

#[test]
fn totals_have_a_rate_and_the_figures_of_their_resource() {
    let dir = brunt_testkit::home();
    for (flags, unit) in resources(dir.path()) {
        let total = total(&format!("{flags} --threads 2 -d 300ms"));
        let number = |name: &str| total[name].as_f64().unwrap_or_else(|| panic!("{flags}: {name} in {total}"));
        let rate = number("done") / number("elapsed_s");
        assert!(number("done") > 0.0 && (number("rate_per_s") / rate - 1.0).abs() < 1e-9, "{flags}: {total}");
        assert_eq!((total["unit"].as_str(), number("threads")), (Some(unit), 2.0), "{flags}: {total}");
        assert!(number("cpu_s") > 0.0, "{flags}: {total}");
        for (figure, owner) in [("received", "network"), ("refused", "fork")] {
            assert_eq!(total[figure].is_null(), !flags.starts_with(owner), "{flags}: {total}");
        }
        let has_size = ["cache", "memory", "disk"].iter().any(|resource| flags.starts_with(resource));
        assert_eq!(total["size_bytes"].is_null(), !has_size, "{flags}: {total}");
        assert!(total["share"].is_null() && total["target_rate_per_s"].is_null() && total["cores"].is_null());
    }
}

#[test]
fn a_sink_in_the_same_process_receives_all_that_was_sent() {
    for size in ["1B", "1KiB", "128KiB", "3MiB"] {
        let total = total(&format!("network --threads 3 --size {size} -d 300ms"));
        assert!(total["done"].as_u64() > Some(0), "{size}: {total}");
        assert_eq!(total["done"], total["received"], "{size}: {total}");
    }
}

#[test]
fn a_sink_elsewhere_counts_the_same_bytes() {
    let mut sink = Runner::start("network --listen 127.0.0.1:0 --threads 2");
    let told = sink.told();
    let address = told.strip_prefix("brunt stress: sink on ").unwrap_or_else(|| panic!("{told}"));
    let sent = total(&format!("network --connect {address} --threads 3 --size 10KiB --rate 20M -d 500ms"));
    assert!(sent["done"].as_u64() > Some(0) && sent["received"].is_null(), "{sent}");
    until(&format!("the sink counts {}", sent["done"]), || sent["done"] == sink.progress().done);
    sink.signal(Signal::TERM);
    let (_, first) = sink.rest();
    assert!(first.starts_with(&format!("network: {} bytes in ", sent["done"])), "{first}");
    assert!(sink.wait().success());
}

#[test]
fn threads_run_on_the_cores_that_were_named() {
    // The first core that this process may use.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let core = allowed.split([',', '-']).next().unwrap();
    let total = total(&format!("cpu --threads 3 --cores {core} -d 500ms"));
    assert_eq!((total["cores"].as_str(), total["threads"].as_u64()), (Some(core), Some(3)));
    // Three threads on one core have no more CPU time than there is. The allowance is for the main thread.
    let (cpu, elapsed) = (total["cpu_s"].as_f64().unwrap(), total["elapsed_s"].as_f64().unwrap());
    assert!(cpu <= elapsed * 1.2, "{total}");
}
