//! Agents as the views of a load show them: while it goes on, and in its page.

use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::Target;
use brunt_testkit::{Running, Signal, assert_code, signal, told, until};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn a_stopped_agent_is_shown_as_late_then_as_lost_and_is_in_the_page() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(2), Target::start());
    let (out, page) = (fleet.home().join("out"), fleet.home().join("page.html"));
    let words = format!("load {} --on 2 -c 4 -R 400 -d 600 --warmup 0s", target.url());
    let mut load = fleet.command(&words);
    let mut load = Running::start(load.arg("--out").arg(&out).arg("--html").arg(&page));
    target.until_answered();
    let agents = || serde_json::from_slice::<Vec<Value>>(&fs::read(out.join("agents.json")).unwrap_or_default());
    until("a second of both is there", || {
        agents()
            .is_ok_and(|agents| agents.len() == 2 && agents.iter().all(|agent| agent["completed"].as_u64() > Some(0)))
    });
    let mut watch = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let watching = Running::start(watch.arg("watch").arg(&out).stdin(Stdio::null()).stdout(Stdio::piped()));
    load.signal(Signal::USR1);
    load.line_after("  agents      2: all in time; p99 ");
    let agent = fleet.pid_of("local-2");
    signal(agent, Signal::STOP);
    load.line_after("agent local-2 late (its second ");
    load.line_after("agent local-2 LOST (");
    let output = load.output();
    signal(agent, Signal::CONT);
    assert_code(&output, &[1]);
    assert!(!out.join("agents.json").exists(), "it is gone with the load");
    let (watched, _) = told(&watching.output(), 0);
    assert!(watched.contains("  agents      2: local-2 LOST (no answer"), "{watched}");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("<h2>By agent</h2>").nth(1).unwrap_or_else(|| panic!("{page}"));
    let rows = table.split("</table>").next().unwrap();
    assert!(rows.contains("local-1") && rows.contains("local-2") && rows.contains(": no answer"), "{rows}");
}
