//! Loads whose parts are made as on other machines.

use crate::shared::*;
use brunt_load::remote::{Control, Order, Others, Part, Told, coordinate};
use brunt_load::{LoadError, Options, Silent};
use brunt_testkit::until;
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);

/// The parts of a load, which are of this process.
struct Machines {
    controls: Vec<Control>,
    lease: Duration,
}

impl Others for Machines {
    fn order(&self, order: Order) {
        for control in &self.controls {
            control.obey(order);
            if matches!(order, Order::Begin { .. }) {
                // As an agent does that hears nothing more.
                let (control, lease) = (control.clone(), self.lease.as_nanos() as u64);
                thread::spawn(move || {
                    until("the load is over", || !control.lease(lease));
                    control.obey(Order::Release);
                });
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
    let others = |feeds: Vec<brunt_load::remote::Feed>, zero_ns| {
        let (sender, connected) = mpsc::channel();
        let mut controls = Vec::new();
        for (mut feed, threads) in feeds.into_iter().zip(parts) {
            let part = Part::new(options.clone(), threads.clone(), zero_ns)?;
            let control = part.control();
            assert!(control.lease(lease.as_nanos() as u64));
            control.obey(Order::Connect { threads: options.threads.len() });
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
                    Told::Connecting(_) | Told::Ended => (),
                });
            });
        }
        for _ in parts {
            if let Some(error) = connected.recv_timeout(LIMIT).expect("each part tells that it is connected") {
                return Err(LoadError::Process(error));
            }
        }
        Ok(Machines { controls, lease })
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
    assert_eq!((report.seconds.len(), report.result.connections.opened, report.lost), (3, 6, None));
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
