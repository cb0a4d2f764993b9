//! A slow machine is told from jobs that take the service's core, and bytes are counted.

use brunt_colocate::cgroup::Group;
use brunt_colocate::readings::{Reading, Readings};
use brunt_colocate::signals::{Machine, Options, Service, Signal};
use brunt_meter::cgroup::Linux;
use brunt_testkit::{Role, Running, alone, home, role, until};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const BUSY: &str = "while :; do :; done";

fn shell(script: &str) -> Running {
    Running::start(Command::new("sh").args(["-c", script]).stdin(Stdio::null()))
}

/// The empty control group of the jobs in a folder.
fn group(folder: &Path) -> Group {
    Group::of(Arc::new(Linux), vec![folder.to_owned()])
}

/// A process that watches a service; see [`next`].
fn watch(service: &Running) -> Running {
    const WATCHER: Role = Role("signals::watcher");
    Running::start(WATCHER.command(&service.pid().to_string()).stdout(Stdio::piped()))
}

/// The next readings of a watching process.
fn next(watcher: &mut Running, count: usize) -> Vec<Readings> {
    let mut lines = std::iter::from_fn(|| Some(watcher.line().expect("a watcher that runs")));
    lines.by_ref().filter_map(|line| serde_json::from_str(&line).ok()).take(count).collect()
}

/// Not a test: the watching process. Prints the readings of a service at every tick of a controller, a line of JSON each.
#[test]
fn watcher() {
    let Some(service) = role() else { return };
    let folder = home();
    let service = Service::process(service.parse().unwrap()).unwrap();
    let mut machine = Machine::open(service, &group(&folder), Options::default());
    loop {
        println!("{}", serde_json::to_string(&machine.read(Instant::now())).unwrap());
        thread::sleep(Duration::from_millis(20));
    }
}

fn values(all: &[Readings], of: fn(&Readings) -> Option<Reading<f64>>) -> Vec<f64> {
    all.iter().filter_map(of).map(|reading| reading.value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[test]
fn a_busy_process_on_the_core_of_the_service_is_run_delay_and_not_lost_time() {
    let _turn = alone();
    // Children inherit it.
    let allowed = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap());
    sched_setaffinity(None, &one).unwrap();
    let (service, _job) = (shell(BUSY), shell(BUSY));
    sched_setaffinity(None, &allowed).unwrap();
    let mut watcher = watch(&service);
    until("for a second, the service waits for its core and no time is lost", || {
        let seen = next(&mut watcher, 50);
        let delay = mean(&values(&seen, |readings| readings.run_delay));
        let lost = mean(&values(&seen, |readings| readings.lost));
        let cpu = mean(&values(&seen, |readings| readings.lc_cpu));
        println!("run delay {delay}, lost {lost}, CPU {cpu}");
        // Each has half of the core, or less on a machine that does other things too.
        delay > 0.3 && lost < delay / 2.0 && cpu < 0.8
    });
}

#[test]
fn time_in_which_nothing_runs_is_lost_time_and_not_run_delay() {
    let _turn = alone();
    let service = shell("exec sleep 1000");
    let mut watcher = watch(&service);
    next(&mut watcher, 50);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    until("a pause is lost time and not run delay", || {
        watcher.signal(brunt_testkit::Signal::STOP);
        thread::sleep(Duration::from_secs(1));
        watcher.signal(brunt_testkit::Signal::CONT);
        let seen = next(&mut watcher, 50);
        let lost = most(&values(&seen, |readings| readings.lost));
        let delay = most(&values(&seen, |readings| readings.run_delay));
        println!("lost {lost}, run delay {delay}");
        lost > 0.6 && delay < 0.1
    });
}

/// Connections of other programs that come and go make the reading absent, as they should, and an acknowledgement that is late
/// belongs to the next window: it is tried again.
#[test]
fn the_network_reading_is_what_was_sent() {
    const SENT: usize = 3_000_000;
    let _turn = alone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut near, _) = listener.accept().unwrap();
    let folder = home();
    let options = Options { slow_period: Duration::from_millis(1), ..Options::default() };
    let mut machine = Machine::open(Service::process(process::id()).unwrap(), &group(&folder), options);
    let capability = machine.capabilities().into_iter().find(|one| one.name == Signal::ServiceNetwork).unwrap();
    if !capability.available && capability.evidence.contains("sock_diag") {
        return println!("skipped: {}", capability.evidence);
    }
    let since = Instant::now();
    let mut seen = Vec::new();
    // Of the last reading, where its window ended.
    let mut begin: Option<Instant> = None;
    while since.elapsed() < Duration::from_secs(60) {
        thread::scope(|scope| {
            let reader = scope.spawn(|| far.read_exact(&mut vec![0; SENT]));
            near.write_all(&vec![1; SENT]).unwrap();
            reader.join().unwrap().unwrap();
        });
        // Acknowledgements may be delayed, and frequent lists are refused.
        thread::sleep(Duration::from_secs(1));
        let end = Instant::now();
        let reading = machine.read(end).lc_network.filter(|reading| reading.age == 0.0);
        if let Some((begin, reading)) = begin.zip(reading) {
            let sent = reading.value * (end - begin).as_secs_f64();
            if (sent - SENT as f64).abs() < 1.0 {
                assert!(machine.totals().service_network_bytes_per_s.is_some());
                return;
            }
            seen.push(sent);
        }
        begin = reading.map(|_| end);
    }
    assert!(seen.is_empty(), "bytes of windows in which {SENT} were sent: {seen:?}");
    println!("skipped: other programs open connections all the time");
}
