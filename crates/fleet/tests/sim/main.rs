//! Agents and coordinators in a simulated world: clocks that are off and drift, a network that loses, delays, repeats and
//! reorders, machines that stand still, crash and come back.
//!
//! Everything follows from a seed. `BRUNT_SEED=7 cargo test -p brunt-fleet --test sim histories` tries one,
//! `BRUNT_SEEDS=100000` many.

mod center;
mod checks;
mod clock;
mod host;
mod network;
mod on_agents;
mod on_centers;
mod plan;
mod queue;
mod targets;
mod world;

use brunt_testkit::{each_seed, number};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Histories that a usual run of the tests tries.
const HISTORIES: u64 = 2000;

#[test]
fn histories() {
    let told = Mutex::new(BTreeMap::new());
    each_seed("--test sim histories", HISTORIES, |seed| {
        let history = world::run(seed);
        let mut told = told.lock().unwrap();
        history.kinds.into_iter().for_each(|kind| *told.entry(kind).or_insert(0u64) += 1);
        history.digest
    });
    let told = told.into_inner().unwrap();
    println!("{told:#?}");
    if number("BRUNT_SEED").is_none() && number("BRUNT_SEEDS").unwrap_or(HISTORIES) >= HISTORIES {
        let expected = [
            "ok",
            "interrupted",
            "tolerated",
            "agent-lost",
            "busy",
            "no-answer",
            "failed",
            "clock",
            "not-committed",
            "crashed",
            "some-started",
            "lease-over",
            "taken-over",
            "not-drained",
            "late",
            "refused",
            "finished",
        ];
        let never: Vec<&str> = expected.into_iter().filter(|kind| !told.contains_key(kind)).collect();
        assert!(never.is_empty(), "no history has {never:?}");
    }
}
