//! A hundred thousand connections opened, reset, closed and aborted at random on each backend under load. At the end no
//! descriptor, buffer, slot or byte may be missing.
//!
//! `cargo test -p brunt-runtime --release --test abuse day -- --ignored --nocapture`

use crate::churn::{self, every_buffer_can_be_lent_at_once};
use crate::ledger::{Holdings, address_space};
use crate::shared::*;
use brunt_runtime::time::{sleep, timeout};
use brunt_runtime::{BackendKind, JoinHandle, spawn};
use brunt_testkit::Random;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

const CONNECTIONS: u32 = 100_000;
/// Concurrent clients, and steady connections that must not be disturbed.
const CLIENTS: u64 = 250;
const STEADY: u64 = 16;
/// Far more than needed.
const STORM_LIMIT: Duration = Duration::from_secs(900);

#[test]
#[ignore = "a minute of two cores; the head of this file says how to run it"]
fn a_days_worth_of_abuse_leaves_nothing_behind() {
    in_own_process("day::a_days_worth_of_abuse_leaves_nothing_behind", || {
        for backend in backends() {
            // Warm-up: allocates what is per thread or process.
            abuse(backend, CONNECTIONS / 50);
            // A leak grows each time; the allocator's caches grow once.
            let keeps_none = |_| {
                let (before, space) = (Holdings::now(), address_space());
                let (asked, took) = timed(|| abuse(backend, CONNECTIONS));
                assert_eq!(Holdings::now(), before, "{backend}");
                let grown = address_space().saturating_sub(space);
                println!(
                    "{backend}: {CONNECTIONS} connections, {asked} questions beside them in {took:?}; {grown} KiB more"
                );
                // Smaller than the smallest mapping of a runtime.
                grown < 1024
            };
            assert!((0..3).any(keeps_none), "{backend}: each run leaks a megabyte of address space");
        }
    });
}

/// Runs one runtime; returns how many requests of steady connections were answered.
fn abuse(backend: BackendKind, connections: u32) -> u64 {
    let runtime = build(backend);
    let asked = runtime.block_on(async { timeout(STORM_LIMIT, storm(connections)).await.expect("the storm hangs") });
    drop(runtime);
    asked
}

async fn storm(connections: u32) -> u64 {
    let idle = open_descriptors();
    let (listener, address) = listen();
    let served: churn::Served = Rc::default();
    let server = spawn(churn::serve(listener, served.clone()));
    let left = Rc::new(Cell::new(connections));
    let asked = Rc::new(Cell::new(0));
    let mut steady = Vec::new();
    for seed in 0..STEADY {
        let (client, server) = pair().await;
        spawn(echo(server));
        steady.push(spawn(steadily(client, seed, left.clone(), asked.clone())));
    }
    let clients: Rc<RefCell<Vec<JoinHandle<()>>>> = Rc::default();
    clients.borrow_mut().extend((0..CLIENTS).map(|seed| spawn(churn::client(address, seed, left.clone()))));
    let hunters = [spawn(churn::aborter(served.clone())), spawn(hunt(address, clients.clone(), left.clone()))];
    // Aborted clients are replaced until all connections have been opened; then waits for the last ones.
    while left.get() > 0 {
        sleep(Duration::from_millis(2)).await;
    }
    hunters.iter().for_each(JoinHandle::abort);
    for client in clients.take() {
        if let Err(error) = client.await {
            assert!(error.is_aborted(), "{error}");
        }
    }
    for task in steady {
        task.await.expect("an undisturbed connection failed");
    }
    server.abort();
    served.borrow_mut().clear();
    assert_eq!(brunt_runtime::drain(LIMIT).await, 0, "tasks leaked");
    until_no_connection_is_left().await;
    until_descriptors_are(idle).await;
    assert_eq!((brunt_runtime::metrics().tasks, open_descriptors()), (0, idle));
    every_buffer_can_be_lent_at_once().await;
    until_no_connection_is_left().await;
    until_descriptors_are(idle).await;
    assert_eq!(open_descriptors(), idle);
    asked.get()
}

/// Sends requests and checks every byte until the clients are done.
async fn steadily(mut stream: brunt_runtime::net::TcpStream, seed: u64, left: Rc<Cell<u32>>, asked: Rc<Cell<u64>>) {
    let mut random = Random::new(seed + 1000);
    while left.get() > 0 {
        let most = [500, 50_000][usize::from(random.below(10) == 0)];
        let size = 1 + random.below(most) as usize;
        let question: Vec<u8> = (0..size).map(|n| (n as u64 ^ seed ^ asked.get()) as u8).collect();
        ask(&mut stream, &question).await.unwrap();
        asked.set(asked.get() + 1);
        sleep(Duration::from_micros(random.below(300))).await;
    }
}

/// Aborts clients at random points and replaces them.
async fn hunt(address: SocketAddr, clients: Rc<RefCell<Vec<JoinHandle<()>>>>, left: Rc<Cell<u32>>) {
    let mut random = Random::new(99);
    for seed in CLIENTS.. {
        sleep(Duration::from_micros(random.below(500))).await;
        let mut clients = clients.borrow_mut();
        let prey = random.below(clients.len() as u64) as usize;
        clients[prey].abort();
        clients[prey] = spawn(churn::client(address, seed, left.clone()));
    }
}
