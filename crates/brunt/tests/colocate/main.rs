//! `brunt colocate`: jobs stay in their groups and leave nothing, whoever is killed. On real control groups, where this
//! machine permits them.

#[path = "../common/mod.rs"]
mod common;
mod containment;
mod exec;
mod guardian;
mod network;
mod probe;
mod scene;
mod stand_in;

#[test]
fn golden_sessions() {
    let state = tempfile::tempdir().unwrap();
    trycmd::TestCases::new().env("BRUNT_STATE_DIR", state.path().to_str().unwrap()).case("tests/cmd/colocate-*.trycmd");
}
