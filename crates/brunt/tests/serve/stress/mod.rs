//! `brunt stress` as typed: figures, dose, ends and refusals.

mod endings;
mod figures;

/// Golden sessions: help and usage errors, byte for byte. `TRYCMD=overwrite` regenerates them.
#[test]
fn golden_sessions() {
    trycmd::TestCases::new().case("tests/cmd/stress-*.trycmd");
}
