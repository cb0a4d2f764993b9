//! What `brunt run` answers on the command line; the transcripts are in `tests/cmd/run-*.trycmd`.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/run-*.trycmd");
}
