//! Loads whose parts are made as on other machines.

use crate::shared::*;
use brunt_load::remote::{Control, Order, Others, Part, Told, coordinate};
use brunt_load::{LoadError, Options, Silent};
use brunt_testkit::until;
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
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
    coordinate(options, &machines, others, &mut Silent)
}

#[test]
fn parts_add_up_to_the_load() {
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
