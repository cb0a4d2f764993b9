//! `brunt cost` on servers with a standing cost that is set.

use crate::shared::server::Server;
use brunt_testkit::{alone, judge};
use serde_json::Value;
use std::process::{Command, Stdio};

#[test]
fn a_standing_cost_is_what_its_server_uses_while_others_have_the_load() {
    let _alone = alone();
    let home = brunt_testkit::home();
    let server = |flags: &str| Server::of_model("epoll", &format!("--spin 0 {flags}"));
    let (known, bare) = (server("--standing 200us@1kHz"), server(""));
    let urls = [&known, &bare].map(|server| format!("tcp://{}", server.address()));
    let mut number = 0;
    judge("200 us a thousand times a second are 20 % of a core", || {
        number += 1;
        let flags = format!("--rates 500,2k -c 1 --slice 500ms -d 16s --precision 1% --json --quiet --out {number}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.current_dir(home.path()).env("BRUNT_STATE_DIR", "state").arg("cost").args(&urls);
        let output = command.args(flags.split_whitespace()).stdin(Stdio::null()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let targets = &report["targets"];
        let idle = targets[0]["idle_us_per_s"].as_f64().ok_or_else(|| report.to_string())? / 200e3;
        let standing = |index: usize| targets[index]["line"]["standing_us_per_s"]["value"].as_f64();
        let line = standing(0).zip(standing(1)).map(|(known, bare)| (known - bare) / 200e3).unwrap_or(0.0);
        // A line at two rates has the error of both of its points.
        match (idle - 1.0).abs() <= 0.03 && (line - 1.0).abs() <= 0.15 {
            true => Ok(()),
            false => Err(format!("idle {idle} of it, by the line {line}: {report}")),
        }
    });
}
