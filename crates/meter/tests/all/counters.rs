//! Counters of the own threads.

use crate::shared::burn;
use brunt_meter::generator::GeneratorMeter;
use brunt_results::result::Generator;
use std::time::Duration;

#[test]
fn own_threads_are_counted_or_the_reason_is_given() {
    let tid = rustix::thread::gettid().as_raw_pid() as u32;
    let mut own = GeneratorMeter::attach(&[tid]);
    let check = |own: &GeneratorMeter, completed: u64| {
        let mut generator = Generator::default();
        let absent = own.close(completed, Duration::MAX, &mut generator);
        match (generator.instructions_user_per_request, absent.get("generator.instructions_user_per_request")) {
            (Some(count), None) => assert!(count > 1e6, "{count}"),
            (None, Some(why)) => assert!(why.len() > 15, "{why}"),
            other => panic!("{other:?}"),
        }
        (generator, absent)
    };
    let (_, absent) = check(&own, 1);
    assert!(absent["generator.rss_bytes"].contains("never opened"), "{absent:?}");
    own.open();
    burn(Duration::from_millis(20));
    std::thread::sleep(Duration::from_millis(1));
    own.stop();
    let (generator, absent) = check(&own, 1);
    assert!(generator.voluntary_switches.unwrap() >= 1, "{absent:?}");
    assert!(generator.rss_bytes.unwrap() > 500_000 && generator.minor_faults.is_some(), "{absent:?}");
    check(&own, 0);
}
