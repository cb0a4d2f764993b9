//! `brunt export`, and `--metrics` and `--push` of a running load: each format is read by a program made for it, if installed, and every
//! figure shown is compared with the recorded one. `BRUNT_CONSUMERS=fortio,hyperfine,junitparser,k6,opentelemetry,promtool,vegeta,zod` names the
//! programs that must be present; absent others are reported.

mod ci;
mod fortio;
mod hyperfine;
mod junit;
mod k6;
mod metrics;
mod prometheus;
mod push;
mod scene;
mod vegeta;
mod versions;

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/export-*.trycmd");
}
