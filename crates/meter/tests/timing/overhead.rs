//! Cost of metering once a second, compared with a control in the same seconds: reading the files that a sample cannot do
//! without. The figures are printed.

use crate::shared::{Actor, raise_descriptors};
use brunt_meter::{HostMeter, ServerMeter, process::Tree};
use brunt_results::series::Second;
use brunt_testkit::{alone, at_most, judge};
use rustix::time::{ClockId, clock_gettime};
use std::net::TcpListener;
use std::time::Duration;
use std::{fs, thread};

const SECONDS: u32 = 5;
/// Most CPU time of a sample, in that of the control in the same second.
const MAX_RATIO: f64 = 1.5;

/// Reads the files of the host, of `processes`, and of all processes, which a fork makes the meter search for children.
fn control(processes: &[u32]) {
    for file in ["stat", "loadavg", "meminfo", "pressure/cpu", "pressure/memory", "pressure/io"] {
        let _ = std::hint::black_box(fs::read(format!("/proc/{file}")));
    }
    for file in ["dev", "snmp", "netstat", "sockstat"] {
        let _ = std::hint::black_box(fs::read(format!("/proc/self/net/{file}")));
    }
    for pid in processes {
        let _ = std::hint::black_box(fs::read(format!("/proc/{pid}/stat")));
    }
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if entry.file_name().as_encoded_bytes()[0].is_ascii_digit() {
            let _ = std::hint::black_box(fs::read(entry.path().join("stat")));
        }
    }
}

/// CPU time of this thread in `work`.
fn cpu_of(work: impl FnOnce()) -> Duration {
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let before = cpu();
    work();
    cpu() - before
}

fn check_overhead(what: &str, meter: &mut ServerMeter) {
    let mut host = HostMeter::attach();
    let processes = Tree::new(&[meter.pid()]).unwrap().pids();
    meter.open();
    host.open();
    judge(&format!("metering {what} costs about what reading its files does"), || {
        at_most(SECONDS, MAX_RATIO, || {
            thread::sleep(Duration::from_secs(1));
            let before = cpu_of(|| control(&processes));
            let sample = cpu_of(|| {
                let mut second = Second::default();
                meter.sample(&mut second);
                host.sample(&mut second);
            });
            let after = cpu_of(|| control(&processes));
            println!("{what}: {:.3} % of a core", sample.as_secs_f64() * 100.0);
            (sample.as_secs_f64(), (before + after).as_secs_f64() / 2.0)
        })
    });
}

#[test]
fn one_process_and_two_hundred() {
    let _turn = alone();
    // The control reads those of the machine, of which a container may have none.
    let mut others = Actor::start();
    others.run("children 60");
    let mut actor = Actor::start();
    check_overhead("1 process", &mut ServerMeter::attach(actor.pid()).unwrap());
    actor.run("children 200");
    check_overhead("201 processes", &mut ServerMeter::attach(actor.pid()).unwrap());
}

#[test]
fn ten_thousand_connections() {
    let _turn = alone();
    const CONNECTIONS: u64 = 10_000;
    raise_descriptors();
    let mut far = Actor::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // A connection that finds the queue full is tried again after a second.
    socket2::SockRef::from(&listener).listen(CONNECTIONS as i32).unwrap();
    let mut meter = ServerMeter::attach(std::process::id()).unwrap();
    far.send(&format!("connect {} {CONNECTIONS}", listener.local_addr().unwrap().port()));
    let accepting = thread::spawn(move || listener.incoming().take(CONNECTIONS as usize).collect::<Vec<_>>());
    let made = far.reply();
    if made < CONNECTIONS {
        println!("skipped: only {made} connections could be made: too few descriptors or local ports");
        return;
    }
    let _near = accepting.join().unwrap();
    check_overhead("10 000 connections", &mut meter);
}
