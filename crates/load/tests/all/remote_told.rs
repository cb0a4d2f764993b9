//! What parts of a load on other machines tell, changed on its way: nothing panics, whoever sends it.

use crate::remote::counting_target;
use crate::shared::*;
use brunt_load::remote::{Feed, Order, Others, Part, Told, coordinate};
use brunt_load::{LoadError, Options, Silent};
use brunt_testkit::{Random, changed, number, until};
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Reports that no part makes: of a host that is not there, of connections that become fewer or of other hosts.
const IMPOSSIBLE: [&str; 3] = [
    r#"{"Refused":{"host":9,"error":{"Ok":111}}}"#,
    r#"{"Connecting":{"opened":[5],"open":5,"settled":5,"began_ns":1,"ended_ns":2}},
       {"Connecting":{"opened":[2],"open":2,"settled":2,"began_ns":1,"ended_ns":2}}"#,
    r#"{"Connecting":{"opened":[],"open":5,"settled":9,"began_ns":1,"ended_ns":2}}"#,
];

/// Gives no load any order: it has none.
struct Nobody;

impl Others for Nobody {
    fn order(&self, _: Order) {}

    fn notice(&self) -> Duration {
        Duration::ZERO
    }

    fn exit_reason(&self, _: usize) -> String {
        String::new()
    }
}

/// The seconds of a part, as it tells them.
fn seconds_of(options: &Options) -> Vec<Vec<u8>> {
    seconds_of_part(options, 0..1)
}

fn seconds_of_part(options: &Options, part: Range<usize>) -> Vec<Vec<u8>> {
    let part = Part::new(options.clone(), part).unwrap();
    let (control, mut seconds) = (part.control(), Vec::new());
    let now = || {
        let now = clock_gettime(ClockId::Monotonic);
        (now.tv_sec * 1_000_000_000 + now.tv_nsec) as u64
    };
    let lease = now() + LIMIT.as_nanos() as u64;
    assert!(control.lease(lease));
    control.connect();
    part.run(|told| match told {
        Told::Connected => {
            let at = now();
            control.begin([at, at, lease]);
            let control = control.clone();
            thread::spawn(move || {
                until("its share is done", || !control.lease(lease));
                control.release();
            });
        }
        Told::Second(_, bytes) => seconds.push(bytes),
        Told::Failed(error) => panic!("{error}"),
        Told::Connecting(_) | Told::Began(_) | Told::Ended => (),
    });
    seconds
}

#[test]
fn changed_seconds_are_taken_or_refused() {
    let (address, _) = counting_target();
    let options = Options { requests: Some(40), connections: 2, threads: vec![None; 2], ..options(address) };
    let mut seconds = seconds_of(&options);
    // Without histograms, which have most of the bytes.
    seconds.extend(seconds.clone().iter().map(|second| {
        let mut second: serde_json::Value = serde_json::from_slice(second).unwrap();
        let reports = second["reports"].as_array_mut().unwrap();
        reports.retain(|report| report["Thread"][1]["Interval"].is_null() && report["Thread"][1]["Parts"].is_null());
        assert!(reports.iter().any(|report| report["Connecting"].is_object()), "{reports:?}");
        second.to_string().into_bytes()
    }));
    let machines = [("m0".to_owned(), 0), ("m1".to_owned(), 1)];
    let count = number("BRUNT_SEEDS").unwrap_or(300);
    let mut taken = 0;
    for seed in 0..count {
        let mut random = Random::new(seed);
        let others = |feeds: Vec<Feed>, _| {
            let mut feeds = feeds.into_iter();
            let (mut feed, mut other) = (feeds.next().unwrap(), feeds.next().unwrap());
            // What belongs to another part is refused as it is.
            assert!(other.take(&seconds[0]).is_err());
            for reports in IMPOSSIBLE {
                let second = format!(r#"{{"start_ns":1,"close_ns":2,"reports":[{reports}]}}"#);
                assert!(other.take(second.as_bytes()).is_err_and(|why| why.contains("does not belong")), "{reports}");
            }
            for second in seconds.iter().chain(&seconds) {
                let bytes = if random.below(4) == 0 { second.clone() } else { changed(second, &mut random) };
                taken += u64::from(feed.take(&bytes).is_ok());
            }
            Err::<Nobody, _>(LoadError::Process("over".to_owned()))
        };
        assert!(coordinate(&options, &machines, others, &mut Silent).is_err());
    }
    assert!(taken > count / 4 && taken < count * 2 * seconds.len() as u64, "{taken} of {count}");
}

/// Numbers that a program which reads them could be wrong about.
const NUMBERS: [u64; 8] = [0, 1, 2, 255, 1 << 31, 1 << 40, 1 << 53, 1 << 55];

/// A second with some other numbers, and with reports that are left out or there twice.
fn altered(second: &[u8], random: &mut Random) -> Vec<u8> {
    fn numbers<'v>(value: &'v mut serde_json::Value, found: &mut Vec<&'v mut serde_json::Value>) {
        match value {
            serde_json::Value::Number(_) => found.push(value),
            serde_json::Value::Array(values) => values.iter_mut().for_each(|value| numbers(value, found)),
            serde_json::Value::Object(values) => values.values_mut().for_each(|value| numbers(value, found)),
            _ => (),
        }
    }
    let mut value: serde_json::Value = serde_json::from_slice(second).unwrap();
    let reports = value["reports"].as_array_mut().unwrap();
    let at = random.below(reports.len().max(1) as u64) as usize;
    match random.below(6) {
        0 if !reports.is_empty() => _ = reports.remove(at),
        1 if !reports.is_empty() => reports.push(reports[at].clone()),
        _ => (),
    }
    let mut found = Vec::new();
    numbers(&mut value, &mut found);
    for _ in 0..random.below(4) {
        let at = random.below(found.len() as u64) as usize;
        let near = found[at].as_u64().map(|number| number.wrapping_add(1));
        let other = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
        *found[at] = if random.below(4) == 0 { near.unwrap_or(other) } else { other }.into();
    }
    value.to_string().into_bytes()
}

/// Machines that have told all of a load before it begins.
struct Past(Mutex<Vec<(Feed, Vec<Vec<u8>>)>>);

impl Others for Past {
    fn order(&self, order: Order) {
        if matches!(order, Order::Begin { .. }) {
            for (mut feed, seconds) in std::mem::take(&mut *self.0.lock().unwrap()) {
                if seconds.iter().any(|second| feed.take(second).is_err()) {
                    feed.lost();
                }
            }
        }
    }

    fn notice(&self) -> Duration {
        Duration::ZERO
    }

    fn exit_reason(&self, _: usize) -> String {
        "it told something else".to_owned()
    }
}

#[test]
fn altered_seconds_make_a_report_or_end_the_load() {
    let (address, _) = counting_target();
    let threads = vec![None; 2];
    let kinds = [
        Options { requests: Some(40), connections: 2, threads: threads.clone(), ..options(address) },
        Options { rate: Some(2000.0), requests: Some(40), connections: 2, threads, ..options(address) },
    ];
    let machines = [("m0".to_owned(), 0), ("m1".to_owned(), 1)];
    let count = number("BRUNT_SEEDS").unwrap_or(300);
    let mut whole = 0;
    for options in kinds {
        let told = [0..1, 1..2].map(|part| seconds_of_part(&options, part));
        for seed in 0..count {
            let mut random = Random::new(seed);
            let mut change = |seconds: &Vec<Vec<u8>>| {
                let change = |second: &Vec<u8>| {
                    if random.below(3) == 0 { second.clone() } else { altered(second, &mut random) }
                };
                seconds.iter().map(change).collect::<Vec<_>>()
            };
            let told = told.each_ref().map(&mut change);
            let others = |feeds: Vec<Feed>, _| Ok(Past(Mutex::new(feeds.into_iter().zip(told).collect())));
            whole += u64::from(
                coordinate(&options, &machines, others, &mut Silent).is_ok_and(|report| report.lost.is_none()),
            );
        }
    }
    assert!(whole > count / 10, "{whole} of {count}");
}
