//! Command-line answers of `brunt run` and `brunt report`; the transcripts are in `tests/cmd`.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/run-*.trycmd").case("tests/cmd/report-*.trycmd");
}
