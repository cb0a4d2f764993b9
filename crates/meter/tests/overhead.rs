//! Metering once a second costs little of a core, whatever the size of the target. The bound is loose, for slow machines
//! and unoptimised builds; the figure is printed.

mod common;

use brunt_meter::{HostMeter, ServerMeter};
use brunt_results::series::Second;
use common::Actor;
use rustix::time::{ClockId, clock_gettime};
use std::{
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

#[test]
fn role() {
    common::play_role();
}

const SECONDS: u32 = 4;
/// Percent of a core; the aim is 1.
const MOST: f64 = 4.0;
/// Whatever else the machine does makes a look dearer, for caches are everybody's: the best time counts.
const ATTEMPTS: u32 = 5;

/// CPU of this thread for samples once a second, in percent of a core.
fn overhead(what: &str, meter: &mut ServerMeter) {
    let is_little = (0..ATTEMPTS).any(|_| {
        let percent = once(meter);
        println!("{what}: {percent:.3} % of a core");
        percent < MOST
    });
    assert!(is_little, "{what}: more than {MOST} % of a core each time");
}

fn once(meter: &mut ServerMeter) -> f64 {
    let mut host = HostMeter::new();
    meter.open();
    host.open();
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let (begin, before) = (Instant::now(), cpu());
    for _ in 0..SECONDS {
        thread::sleep(Duration::from_secs(1));
        let mut second = Second::default();
        meter.sample(&mut second);
        host.sample(&mut second);
    }
    (cpu() - before).as_secs_f64() / begin.elapsed().as_secs_f64() * 100.0
}

#[test]
fn one_process_and_two_hundred() {
    let mut actor = Actor::start();
    overhead("1 process", &mut ServerMeter::attach(actor.pid()).unwrap());
    actor.obey("brood 200");
    overhead("201 processes", &mut ServerMeter::attach(actor.pid()).unwrap());
}

#[test]
fn ten_thousand_connections() {
    const CONNECTIONS: u64 = 10_000;
    common::raise_descriptors();
    let mut far = Actor::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut meter = ServerMeter::attach(std::process::id()).unwrap();
    far.order(&format!("connect {} {CONNECTIONS}", listener.local_addr().unwrap().port()));
    let accepting = thread::spawn(move || listener.incoming().take(CONNECTIONS as usize).collect::<Vec<_>>());
    let made = far.answer();
    if made < CONNECTIONS {
        println!("skipped: only {made} connections could be made: descriptors or local ports are too few");
        return;
    }
    let _near = accepting.join().unwrap();
    overhead("10 000 connections", &mut meter);
}
