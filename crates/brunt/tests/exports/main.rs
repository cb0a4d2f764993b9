//! `brunt export`, and the figures of a running load: each format is read by a program made for it, if installed, and every figure shown is compared
//! with the recorded one. `BRUNT_CONSUMERS=fortio,hyperfine,junitparser,k6,opentelemetry,promtool,vegeta,zod` names the
//! programs that must be present; absent others are reported.

mod ci;
#[path = "../common/mod.rs"]
mod common;
mod fortio;
#[path = "../common/head.rs"]
mod head;
mod hyperfine;
mod junit;
mod k6;
mod live;
mod metrics;
mod prometheus;
mod push;
#[path = "../load/recorder.rs"]
mod recorder;
mod scene;
mod vegeta;

/// True if a program is missing; fails if it is required.
#[track_caller]
fn lacks(program: &str, is_here: bool) -> bool {
    let must = std::env::var("BRUNT_CONSUMERS").is_ok_and(|names| names.split(',').any(|name| name == program));
    assert!(is_here || !must, "BRUNT_CONSUMERS names {program}, which is not installed here");
    if !is_here {
        println!("skipped: {program} is not here");
    }
    !is_here
}

/// True if the command runs and exits with 0.
fn runs(command: &str, args: &[&str]) -> bool {
    let mut command = std::process::Command::new(command);
    command.args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/export-*.trycmd");
}
