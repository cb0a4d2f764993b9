//! Command-line answers of `brunt run` and `brunt report`, whose transcripts are in `tests/cmd`, and words of earlier
//! versions.

mod old_words;

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/run-*.trycmd").case("tests/cmd/report-*.trycmd");
}
