//! Work before a response: how long it keeps other connections waiting, and its CPU time.

use crate::shared::server::*;
use brunt_serve::{Concurrency, MODELS, ServerModel};
use brunt_testkit::{alone, at_most, judge};
use std::cell::RefCell;
use std::time::Duration;

/// Models with this concurrency, with `--pool POOL` where it decides.
fn models_with(concurrency: Concurrency, pool: usize) -> Vec<String> {
    let word = |model: &&ServerModel| match model.concurrency {
        Concurrency::Pool => Some(format!("{} --pool {pool}", model.word)),
        other => (other == concurrency).then(|| model.word.to_owned()),
    };
    MODELS.iter().filter_map(word).collect()
}

#[test]
fn sleeping_work_blocks_the_other_connections_of_a_loop() {
    let _alone = alone();
    for model in models_with(Concurrency::Serial, 1) {
        let server = Server::of_model(&model, "--work sleep=20ms");
        assert!(server.backend.ends_with("; sleep=20ms before each answer"), "{}", server.backend);
        let took = ten_at_once(&server);
        assert!(took >= Duration::from_millis(200), "{model}: {took:?}");
    }
}

#[test]
fn sleeping_work_does_not_block_others_where_it_is_concurrent() {
    let _alone = alone();
    for model in models_with(Concurrency::Unlimited, 10) {
        let server = Server::of_model(&model, "--work sleep=20ms");
        assert!(ten_at_once(&server) >= Duration::from_millis(20), "{model}: no work was done");
        // The control is the serial model, which takes at least 200 ms.
        let serial = Server::of_model("epoll-one", "--work sleep=20ms");
        judge(&format!("{model} works for several at once"), || {
            at_most(5, 0.5, || (ten_at_once(&server).as_secs_f64(), ten_at_once(&serial).as_secs_f64()))
        });
    }
}

#[test]
fn computing_uses_cpu_time() {
    let _alone = alone();
    for model in models() {
        let servers = ["none", "spin=10ms", "sha256=14"].map(|work| {
            let server = Server::of_model(model, &format!("--work {work}"));
            let client = connect(server.address());
            (server, RefCell::new(client))
        });
        // CPU time of four requests. A running process is accounted up to its last tick.
        let [none, spin, hash] = servers.each_ref().map(|(server, client)| {
            move || {
                let before = server.cpu_time();
                (0..4).for_each(|_| ask(&mut client.borrow_mut(), b"think"));
                server.cpu_time().saturating_sub(before).as_secs_f64()
            }
        });
        assert!(spin() >= 0.035, "{model}: 4 times 10 ms");
        judge(&format!("{model} spins"), || at_most(5, 0.5, || (none(), spin())));
        judge(&format!("{model} computes hashes"), || at_most(5, 1.0, || (none(), hash())));
    }
}
