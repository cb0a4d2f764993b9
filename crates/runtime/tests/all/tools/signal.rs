//! Signals.

use crate::shared::*;
use brunt_runtime::signal::{Signal, Signals};
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, CancellationToken, spawn};
use brunt_testkit::{Role, Running, role};
use signal_hook::consts::{SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::low_level::raise;
use std::{os::unix::process::ExitStatusExt, process::Stdio, sync::mpsc, thread, time::Duration};

#[test]
fn a_signal_wakes_a_sleeping_worker() {
    in_own_process("tools::signal::a_signal_wakes_a_sleeping_worker", || {
        for backend in backends() {
            on(backend, async {
                let mut signals = Signals::new(&[Signal::Terminate, Signal::Hangup]).unwrap();
                for (number, signal) in [(SIGTERM, Signal::Terminate), (SIGHUP, Signal::Hangup)] {
                    let thread = thread::spawn(move || {
                        thread::sleep(Duration::from_millis(20));
                        raise(number).unwrap();
                    });
                    assert_eq!(signals.recv().await, signal);
                    thread.join().unwrap();
                }
                assert!(timeout(Duration::from_millis(20), signals.recv()).await.is_err(), "a signal is returned once");
            });
        }
    });
}

#[test]
fn every_listener_receives_the_signals_it_named_only() {
    in_own_process("tools::signal::every_listener_receives_the_signals_it_named_only", || {
        for backend in backends() {
            on(backend, async {
                let mut both = Signals::new(&[Signal::User1, Signal::User2, Signal::User1]).unwrap();
                let mut first = Signals::new(&[Signal::User1]).unwrap();
                let mut none = Signals::new(&[]).unwrap();
                drop(Signals::new(&[Signal::User1, Signal::User2]).unwrap());
                let waiting = spawn(async move { none.recv().await });
                raise(SIGUSR1).unwrap();
                assert_eq!((both.recv().await, first.recv().await), (Signal::User1, Signal::User1));
                raise(SIGUSR2).unwrap();
                assert_eq!(both.recv().await, Signal::User2);
                assert!(timeout(Duration::from_millis(20), first.recv()).await.is_err());
                assert!(!waiting.is_finished());
                // A new listener receives no earlier signal.
                let mut late = Signals::new(&[Signal::User2]).unwrap();
                assert!(timeout(Duration::from_millis(20), late.recv()).await.is_err());
            });
        }
    });
}

/// Workers on three threads, each with a listener. A signal is raised after all have received the previous one, so each
/// listener must receive each.
#[test]
fn no_signal_is_lost_between_workers() {
    in_own_process("tools::signal::no_signal_is_lost_between_workers", || {
        let (heard, all_heard) = mpsc::channel();
        let stop = CancellationToken::new();
        let backends = [0, 1, 0].map(nth_backend);
        let workers = backends.map(|backend| {
            let (heard, stop) = (heard.clone(), stop.clone());
            thread::spawn(move || {
                build(backend).block_on(guarded(async move {
                    let mut signals = Signals::new(&[Signal::User1, Signal::User2]).unwrap();
                    let report = heard.clone();
                    heard.send(None).unwrap();
                    spawn(async move {
                        loop {
                            report.send(Some(signals.recv().await)).unwrap();
                        }
                    });
                    stop.cancelled().await;
                }));
            })
        });
        let next = || all_heard.recv_timeout(LIMIT).expect("a signal was lost");
        (0..3).for_each(|_| assert_eq!(next(), None));
        for n in 0..300 {
            let (number, signal) = if n % 3 == 0 { (SIGUSR2, Signal::User2) } else { (SIGUSR1, Signal::User1) };
            raise(number).unwrap();
            (0..3).for_each(|_| assert_eq!(next(), Some(signal)));
        }
        // Of two kinds at once both are returned; of many of one kind at least one.
        for _ in 0..100 {
            [SIGUSR1, SIGUSR2, SIGUSR1].into_iter().for_each(|number| raise(number).unwrap());
        }
        let mut seen = [0; 2];
        while seen.iter().any(|count| *count < 3) {
            seen[usize::from(next() == Some(Signal::User2))] += 1;
        }
        stop.cancel();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn the_default_action_can_be_emulated() {
    if role().is_some() {
        on(BackendKind::Epoll, async {
            let mut signals = Signals::new(&[Signal::Terminate]).unwrap();
            raise(SIGTERM).unwrap();
            let first = signals.recv().await;
            sleep(Duration::from_millis(1)).await;
            first.emulate_default().unwrap();
        });
        unreachable!("SIGTERM ends a process");
    }
    let this = Role("tools::signal::the_default_action_can_be_emulated");
    let status = Running::start(this.command("child").stdout(Stdio::null())).end();
    assert_eq!(status.signal(), Some(SIGTERM), "{status}");
}
