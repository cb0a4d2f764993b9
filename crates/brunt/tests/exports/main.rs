//! `brunt export`: each format is read back by a program that is made for it, where that program is installed, and every
//! figure it shows is compared with the one that was recorded. `BRUNT_CONSUMERS=fortio,hyperfine,k6,promtool,vegeta` names the
//! programs that must be there; of the others a line says that they are not.

#[path = "../common/mod.rs"]
mod common;
mod fortio;
mod hyperfine;
mod k6;
mod prometheus;
mod scene;
mod vegeta;

/// Whether a program is missing; fails if it must not be.
#[track_caller]
fn lacks(program: &str, is_here: bool) -> bool {
    let must = std::env::var("BRUNT_CONSUMERS").is_ok_and(|names| names.split(',').any(|name| name == program));
    assert!(is_here || !must, "BRUNT_CONSUMERS names {program}, which is not installed here");
    if !is_here {
        println!("skipped: {program} is not here");
    }
    !is_here
}

/// Whether that command can be run and ends well.
fn runs(command: &str, args: &[&str]) -> bool {
    let mut command = std::process::Command::new(command);
    command.args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/export-*.trycmd");
}
