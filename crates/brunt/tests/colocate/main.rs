//! `brunt colocate`: jobs stay in their groups and leave nothing, whoever is killed. On real control groups, where this
//! machine permits them.

#[path = "../common/mod.rs"]
mod common;
mod containment;
mod controller;
mod exec;
mod guardian;
mod interference;
mod network;
mod probe;
#[path = "../common/random.rs"]
mod random;
mod run;
mod scene;
mod sources;

#[test]
fn golden_sessions() {
    trycmd::TestCases::new().case("tests/cmd/colocate-probe.trycmd").case("tests/cmd/colocate-recover.trycmd");
}
