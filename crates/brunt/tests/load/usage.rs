//! Golden sessions: help and usage errors, byte for byte. `TRYCMD=overwrite` regenerates them.

#[test]
fn golden_sessions() {
    trycmd::TestCases::new().case("tests/cmd/load-*.trycmd");
}
