//! `brunt colocate`: jobs stay in their groups and leave nothing, whoever is killed. On real control groups, where this
//! machine permits them.

mod containment;
mod controller;
mod exec;
mod guardian;
mod interference;
mod network;
mod probe;
mod run;
mod scene;
mod sources;

use brunt_testkit::alone;

#[test]
fn golden_sessions() {
    let _alone = alone();
    trycmd::TestCases::new().case("tests/cmd/colocate-probe.trycmd").case("tests/cmd/colocate-recover.trycmd");
}
