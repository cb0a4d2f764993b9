//! Numbers of connections that change during a closed loop, on targets with a known service time.

use crate::shared::*;
use brunt_load::{Options, Stage, Target};
use brunt_results::result::Step;
use brunt_testkit::{alone, until};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{thread, time::Duration};

const SERVICE: Duration = Duration::from_millis(20);

/// What a target saw of its connections.
#[derive(Debug, Default)]
struct Seen {
    opened: AtomicUsize,
    open: AtomicUsize,
    /// Ended between two messages.
    ended: AtomicUsize,
}

/// Each message is answered after [`SERVICE`], on all connections at the same time.
fn slow(protocol: Protocol) -> (brunt_runtime::net::Address, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let saw = Arc::clone(&seen);
    let address = target_on(protocol, move |mut stream| {
        saw.opened.fetch_add(1, SeqCst);
        saw.open.fetch_add(1, SeqCst);
        let mut message = [0; SIZE];
        let mut got = 0;
        while let Ok(count @ 1..) = stream.read(&mut message[got..]) {
            got += count;
            if got == SIZE {
                thread::sleep(SERVICE);
                stream.write_all(&message).unwrap();
                got = 0;
            }
        }
        saw.open.fetch_sub(1, SeqCst);
        saw.ended.fetch_add(usize::from(got == 0), SeqCst);
    });
    (address, seen)
}

fn stage(from: u32, to: u32, ms: u64) -> Stage {
    Stage { from: f64::from(from), to: f64::from(to), length: Duration::from_millis(ms) }
}

fn staged(address: brunt_runtime::net::Address, stages: &[Stage], threads: usize) -> Options {
    let most = stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max);
    Options {
        connections: most as usize,
        connection_stages: stages.to_vec(),
        duration: stages.iter().map(|stage| stage.length).sum(),
        warmup: Duration::from_millis(200),
        threads: vec![None; threads],
        ..options(address)
    }
}

/// The rate of each step is that of its connections, each of which waits for one reply after the other; a few more or fewer
/// requests begin in a step of a line, which lasts a few service times. An error is a rate that a pause of the machine may have
/// lowered.
fn check_rates(steps: &[Step]) -> Result<(), String> {
    let most = if steps.len() > 4 { 1.25 } else { 1.06 };
    let mut low = Ok(());
    for step in steps {
        let expected = step.connections.unwrap() / SERVICE.as_secs_f64();
        let ratio = step.figures.rate / expected;
        assert!(ratio <= most, "{ratio}: {step:#?}");
        assert_eq!((step.offered_rate, step.figures.failed), (None, 0));
        assert!(step.figures.response.p50_us.unwrap() >= 19_900.0, "{step:#?}");
        if ratio < 0.75 {
            low = Err(format!("{ratio}: {step:#?}"));
        }
    }
    low
}

#[test]
fn each_step_has_the_rate_of_its_connections() {
    let _turn = alone();
    for (protocol, threads) in [(PROTOCOLS[0], 1), (PROTOCOLS[0], 3), (PROTOCOLS[1], 2)] {
        attempt(|| {
            let (address, seen) = slow(protocol);
            let stages = [stage(2, 2, 600), stage(10, 10, 600), stage(5, 5, 600), stage(12, 12, 600)];
            let report = run(&staged(address, &stages, threads));
            let result = report.result;
            let connections: Vec<f64> = result.steps.iter().map(|step| step.connections.unwrap()).collect();
            assert_eq!(connections, [2.0, 10.0, 5.0, 12.0]);
            let rates = check_rates(&result.steps);
            assert_eq!((result.failures(), result.requests.failed), (0, 0), "{:?}", result.errors);
            // Those that were closed are opened again.
            assert_eq!((result.connections.opened, result.connections.peak), (17, 12));
            assert_eq!((result.connections.served_percent, result.load.connections), (None, 12));
            assert!(report.seconds.iter().any(|second| second.connections < 12));
            assert_eq!(seen.opened.load(SeqCst), 17);
            assert!(seen.ended.load(SeqCst) >= 5);
            rates
        });
    }
}

#[test]
fn a_line_rises_and_falls_and_connections_that_are_replaced_take_part() {
    let _turn = alone();
    for reuse in [None, Some(3)] {
        attempt(|| {
            let (address, seen) = slow(Protocol::Tcp);
            let options = staged(address.clone(), &[stage(4, 44, 1500), stage(44, 44, 300), stage(44, 4, 1500)], 2);
            let options = Options { target: Target::Echo { address, size: SIZE, reuse }, ..options };
            let result = run(&options).result;
            assert_eq!(result.steps.len(), 21);
            assert_eq!((result.steps[0].connections, result.steps[20].connections), (Some(6.0), Some(6.0)));
            let rates = check_rates(&result.steps);
            assert_eq!(result.failures(), 0, "{:?}", result.errors);
            assert_eq!(result.connections.peak, 44);
            assert!(reuse.is_some() || result.connections.opened == 44, "{:?}", result.connections);
            assert!(seen.ended.load(SeqCst) >= 40, "{seen:?}");
            rates
        });
    }
}

#[test]
fn connections_of_stages_share_the_connect_rate_and_close_with_the_load() {
    let _turn = alone();
    let (address, seen) = slow(Protocol::Tcp);
    let options = staged(address, &[stage(1, 1, 300), stage(11, 11, 1000)], 2);
    let result = run(&Options { connect_rate: Some(20.0), ..options }).result;
    // Ten more at 20 a second take half a second of the second step.
    let later = &result.steps[1];
    let expected = 11.0 * 0.75 / SERVICE.as_secs_f64();
    assert!((0.75..=1.15).contains(&(later.figures.rate / expected)), "{later:#?}");
    assert_eq!((result.failures(), result.connections.opened), (0, 11));
    until("all connections are closed", || seen.open.load(SeqCst) == 0);
}

#[test]
fn stages_of_connections_need_a_closed_loop_and_fit_the_connections() {
    let _turn = alone();
    let (address, _) = slow(Protocol::Tcp);
    let valid = staged(address, &[stage(1, 3, 300)], 1);
    for (options, says) in [
        (Options { rate: Some(10.0), ..valid.clone() }, "closed loop alone"),
        (Options { connections: 2, ..valid.clone() }, "from 1 to 2"),
    ] {
        let error = brunt_load::run(&options, &mut brunt_load::Silent).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
