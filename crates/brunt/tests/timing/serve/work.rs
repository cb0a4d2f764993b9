//! Work before a response: how long it keeps other connections waiting, and its CPU time.

use crate::shared::server::*;
use brunt_serve::{Concurrency, MODELS, ServerModel};
use brunt_testkit::alone;
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
        let server = Server::of_model(&model, "--work sleep=50ms");
        assert!(ten_at_once(&server) >= Duration::from_millis(50), "{model}: no work was done");
        // Control: the serial model at the same time on the same machine, which takes at least 500 ms. Scheduling noise adds to
        // both; the best of some attempts counts.
        let serial = Server::of_model("epoll-one", "--work sleep=50ms");
        let times: Vec<_> = (0..8).map(|_| (ten_at_once(&server), ten_at_once(&serial))).collect();
        let (best, control) = (times.iter().map(|(took, _)| *took).min(), times.iter().map(|(_, took)| *took).min());
        assert!(best.unwrap() * 2 < control.unwrap(), "{model}, epoll-one: {times:?}");
    }
}

#[test]
fn computing_uses_cpu_time() {
    let _alone = alone();
    for model in models() {
        // CPU time of four requests with this work, in ticks of 10 ms.
        let used = |work: &str| {
            let server = Server::of_model(model, &format!("--work {work}"));
            let mut client = connect(server.address());
            let before = server.cpu_time();
            (0..4).for_each(|_| ask(&mut client, b"think"));
            server.cpu_time().saturating_sub(before)
        };
        let (spin, none) = (used("spin=30ms"), used("none"));
        assert!(spin >= Duration::from_millis(100), "{model}: {spin:?} for 4 times 30 ms");
        assert!(none < spin / 2, "{model}: {none:?} without work, {spin:?} with 120 ms");
        // The cost of a hash depends on the machine: those of 18 bits take more than a tick on any.
        let hash = used("sha256=18");
        assert!(hash > none, "{model}: {hash:?} for 18 zero bits, {none:?} without");
    }
}
