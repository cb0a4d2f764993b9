//! Loads whose parts are made as on other machines.

use crate::shared::*;
use brunt_load::remote::{Control, Order, Others, Part, Told, coordinate};
use brunt_load::{Arrival, LoadError, Observer, Options, Silent, Target};
use brunt_results::series::Second;
use brunt_testkit::until;
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);

/// The parts of a load, which are of this process. `zero_ns` is that of the run's clock.
struct Machines {
    controls: Vec<Control>,
    zero_ns: u64,
    /// End of the lease on CLOCK_MONOTONIC.
    lease: u64,
}

impl Others for Machines {
    fn order(&self, order: Order) {
        let at = |time: u64| self.zero_ns + time;
        for control in &self.controls {
            match order {
                Order::Begin { start, open, close } => {
                    control.begin([start, open, close].map(at));
                    // As an agent does that hears nothing more.
                    let (control, lease) = (control.clone(), self.lease);
                    thread::spawn(move || {
                        until("the load is over", || !control.lease(lease));
                        control.release();
                    });
                }
                Order::Close(end) => control.close(at(end)),
                Order::Release => control.release(),
                Order::Connect { .. } | Order::Open { .. } => unreachable!("parts open their connections before"),
            }
        }
    }

    fn notice(&self) -> Duration {
        20 * MS
    }

    fn exit_reason(&self, number: usize) -> String {
        format!("machine {number} is gone")
    }
}

/// Runs the load with these ranges of its threads as parts.
fn run_in_parts(options: &Options, parts: &[Range<usize>], lease: Duration) -> Result<brunt_load::Report, LoadError> {
    observe_in_parts(options, parts, lease, &mut Silent)
}

fn observe_in_parts(
    options: &Options,
    parts: &[Range<usize>],
    lease: Duration,
    observer: &mut dyn Observer,
) -> Result<brunt_load::Report, LoadError> {
    let machines: Vec<(String, usize)> = parts.iter().map(|part| (format!("m{}", part.start), part.start)).collect();
    let now = clock_gettime(ClockId::Monotonic);
    let lease = (now.tv_sec * 1_000_000_000 + now.tv_nsec) as u64 + lease.as_nanos() as u64;
    let others = |feeds: Vec<brunt_load::remote::Feed>, zero_ns| {
        let (sender, connected) = mpsc::channel();
        let mut controls = Vec::new();
        for (mut feed, threads) in feeds.into_iter().zip(parts) {
            let part = Part::new(options.clone(), threads.clone())?;
            let control = part.control();
            assert!(control.lease(lease));
            control.connect();
            controls.push(control);
            let sender = sender.clone();
            thread::spawn(move || {
                part.run(|told| match told {
                    Told::Connected => sender.send(None).unwrap(),
                    Told::Second(_, bytes) => feed.take(&bytes).unwrap(),
                    Told::Failed(error) => {
                        feed.lost();
                        let _ = sender.send(Some(error));
                    }
                    Told::Connecting(_) | Told::Began(_) | Told::Ended => (),
                });
            });
        }
        for _ in parts {
            if let Some(error) = connected.recv_timeout(LIMIT).expect("each part tells that it is connected") {
                return Err(LoadError::Process(error));
            }
        }
        Ok(Machines { controls, zero_ns, lease })
    };
    coordinate(options, &machines, others, observer)
}

/// An echo that counts what it has received.
pub fn counting_target() -> (SocketAddr, Arc<AtomicU64>) {
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    let address = target(move |mut stream| {
        let mut message = [0; SIZE];
        while stream.read_exact(&mut message).is_ok() {
            count.fetch_add(1, SeqCst);
            if stream.write_all(&message).is_err() {
                return;
            }
        }
    });
    (address, served)
}

#[test]
fn parts_add_up_to_the_load() {
    let (address, served) = counting_target();
    let threads = vec![None; 3];
    let duration = 2200 * MS;
    let options = Options { rate: Some(900.0), connections: 6, threads, duration, ..options(address) };
    let report = run_in_parts(&options, &[0..1, 1..3], 10 * LIMIT).unwrap();
    result_is_consistent(&options, &report);
    let requests = &report.result.requests;
    assert_eq!((requests.due, report.result.errors.total()), (Some(1980), 0), "{requests:?}");
    assert_eq!(requests.completed + requests.unanswered, 1980, "{requests:?}");
    assert_eq!(report.seconds.iter().map(|second| second.completed).sum::<u64>(), requests.completed);
    assert_eq!((report.result.connections.opened, report.lost), (6, None));
    // To the nanosecond, though each part has a clock of its own.
    assert_eq!(report.seconds.iter().map(|second| second.at_s).collect::<Vec<_>>(), [1.0, 2.0, 2.2]);
    let served = served.load(SeqCst);
    assert!((requests.completed..=1980).contains(&served), "{served} served, {requests:?}");
}

/// What an observer of a number of requests is told.
#[derive(Default)]
struct Watch {
    opened: u32,
    closed: u32,
    completed: u64,
}

impl Observer for Watch {
    fn window_opened(&mut self) {
        self.opened += 1;
    }

    fn window_closed(&mut self) {
        assert_eq!(self.opened, 1);
        self.closed += 1;
    }

    fn second(&mut self, second: &mut Second) {
        self.completed += if second.warmup { 0 } else { second.completed };
    }
}

/// Makes a load of so many requests in parts, and checks that these are what the target gets and the report has.
fn counted(options: &Options, parts: &[Range<usize>]) {
    counted_at(&counting_target(), options, parts);
}

fn counted_at((address, served): &(SocketAddr, Arc<AtomicU64>), options: &Options, parts: &[Range<usize>]) {
    let address = *address;
    let target = Target::Echo { address: address.into(), size: SIZE, reuse: None };
    // A load that does not end by its requests does not end.
    let options = Options { duration: Duration::from_secs(24 * 3600), target, ..options.clone() };
    let mut watch = Watch::default();
    let report = observe_in_parts(&options, parts, 10 * LIMIT, &mut watch).unwrap();
    result_is_consistent(&options, &report);
    let (result, wanted) = (&report.result, options.requests.unwrap());
    let requests = &result.requests;
    let context = format!("{parts:?} of {options:?}: {requests:?}");
    assert_eq!((requests.completed, requests.unanswered, result.errors.total()), (wanted, 0, 0), "{context}");
    assert_eq!((requests.due, result.load.requests), (options.rate.map(|_| wanted), Some(wanted)), "{context}");
    assert_eq!((report.lost.as_ref(), result.interrupted, result.latency.response.count), (None, false, wanted));
    assert_eq!((watch.opened, watch.closed, watch.completed), (1, 1, wanted), "{context}");
    let served = served.load(SeqCst);
    assert!(if options.warmup.is_zero() { served == wanted } else { served >= wanted }, "{served} served, {context}");
    // The window ends with the last part, and with a rate not before the request behind the last would be due.
    let (last, measured_s) = (report.seconds.last().unwrap(), result.load.measured_s);
    assert!((last.at_s - result.load.warmup_s - measured_s).abs() < 1e-6, "{} {measured_s}, {context}", last.at_s);
    let is_paced = options.arrival == Arrival::Constant;
    let paced_s = options.rate.filter(|_| is_paced).map_or(0.0, |rate| wanted as f64 / rate);
    assert!(measured_s > paced_s - 1e-6, "{measured_s}, {context}");
}

#[test]
fn parts_of_a_number_of_requests_send_exactly_as_many() {
    let threads = vec![None; 4];
    let base = options("127.0.0.1:1".parse::<SocketAddr>().unwrap());
    let base = Options { connections: 7, threads, ..base };
    let parts = [0..1, 1..3, 3..4];
    for requests in [1, 2, 7, 501] {
        let closed = Options { requests: Some(requests), ..base.clone() };
        counted(&closed, &parts);
        let rate = Some(requests.max(20) as f64 * 20.0);
        counted(&Options { rate, ..closed.clone() }, &parts);
        for seed in [1, 2, 3] {
            counted(&Options { rate, seed, arrival: Arrival::Poisson, ..closed.clone() }, &parts);
        }
    }
    // One of 40 connections has a request, and a part whose share is 0 makes the warm-up.
    let few = Options { connections: 40, requests: Some(1), warmup: 50 * MS, ..base.clone() };
    counted(&few, &parts);
    counted(&Options { rate: Some(100.0), ..few }, &parts);
    // Longer than a second.
    let long = Options { requests: Some(1100), rate: Some(1000.0), ..base };
    counted(&long, &[0..2, 2..4]);
}

#[test]
fn the_window_of_a_number_of_requests_ends_with_the_last_part() {
    const EACH: u64 = 50;
    let served = Arc::new(AtomicU64::new(0));
    let (of_others, sent) = (Arc::new((Mutex::new(0), Condvar::new())), Arc::clone(&served));
    let first = Arc::new(AtomicBool::new(true));
    let address = target(move |mut stream| {
        let (count, changed) = &*of_others;
        let mut message = [0; SIZE];
        let mut is_first = false;
        while stream.read_exact(&mut message).is_ok() {
            sent.fetch_add(1, SeqCst);
            is_first |= first.swap(false, SeqCst);
            // The first one to send has no reply before the other has sent all of its share.
            let mut count = count.lock().unwrap();
            if is_first {
                drop(changed.wait_while(count, |count| *count < EACH).unwrap());
            } else {
                *count += 1;
                changed.notify_all();
                drop(count);
            }
            if stream.write_all(&message).is_err() {
                return;
            }
        }
    });
    let base = options("127.0.0.1:1".parse::<SocketAddr>().unwrap());
    let options = Options { requests: Some(2 * EACH), threads: vec![None; 2], ..base };
    counted_at(&(address, served), &options, &[0..1, 1..2]);
}

#[test]
fn a_time_limit_that_comes_before_the_requests_are_done_ends_all_parts() {
    let (address, _) = counting_target();
    let options = Options { requests: Some(u64::MAX), duration: 50 * MS, threads: vec![None; 2], ..options(address) };
    let report = run_in_parts(&options, &[0..1, 1..2], 10 * LIMIT).unwrap();
    result_is_consistent(&options, &report);
    assert!((report.result.load.measured_s - 0.05).abs() < 1e-9, "{}", report.result.load.measured_s);
}

#[test]
fn a_part_whose_lease_is_over_ends_by_itself() {
    let duration = Duration::from_secs(3600);
    let options = Options { threads: vec![None; 2], duration, ..options(target(echo)) };
    // Since the run was set up.
    let report = run_in_parts(&options, &[0..1, 1..2], LEASE).unwrap();
    let last = report.seconds.last().map_or(0.0, |second| second.at_s);
    assert!(last <= LEASE.as_secs_f64(), "{last}");
}

#[test]
fn a_part_without_a_connection_says_why() {
    let options = options("127.0.0.1:1".parse::<std::net::SocketAddr>().unwrap());
    let error = run_in_parts(&options, std::slice::from_ref(&(0..1)), LIMIT).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1") && error.contains("refused"), "{error}");
}
