//! Scripts whose load threads are those of agents, which have none of their files.

use super::fleet::stderr;
use super::fleet_files::{Asked, load};
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::json;
use brunt_testkit::{assert_code, home, text};
use std::fs;
use std::process::Command;

/// Each request has a row of a file that no other request has; threads count what they have sent, and `done` adds it up.
const ROWS: &str = r#"
local steps = require("steps")
local threads = {}
function setup(thread)
    table.insert(threads, thread)
    thread:set("number", #threads)
end
function init(args)
    rows, sent, replies = {}, 0, 0
    for row in io.lines(args[1] .. ".csv") do table.insert(rows, row) end
end
function request()
    sent += 1
    local row = rows[(sent - 1) * 2 + number]
    return wrk.format("GET", "/" .. row), steps[number]
end
function response() replies += 1 end
function done(summary)
    local all, last = 0, {}
    for number, thread in ipairs(threads) do
        all += thread:get("replies")
        table.insert(last, thread:get("rows")[number])
    end
    print("done", all == summary.requests, table.concat(last, "+"))
end
"#;

#[test]
fn a_script_on_agents_sends_what_it_sends_from_one_process() {
    if !is_here() {
        return;
    }
    let (fleet, folder) = (Fleet::up(2), home());
    fs::create_dir(folder.join("lib")).unwrap();
    fs::write(folder.join("lib/rows.lua"), ROWS).unwrap();
    fs::write(folder.join("lib/steps.lua"), "return { 'odd', 'even' }").unwrap();
    fs::write(folder.join("data.csv"), (1..=60).map(|row| format!("row-{row}\n")).collect::<String>()).unwrap();
    let flags = "-s lib/rows.lua -c 4 -n 40 -R 400 --json result.json --allow-untrusted --fail-if even:failed>0";
    let mut seen = Vec::new();
    for on in ["-t 2", "--on 2"] {
        let target = Asked::start();
        let output = if on == "--on 2" {
            let mut command = fleet.command(&format!("load {} {flags} {on} --quiet", target.url("/")));
            command.args(["--", "data"]).current_dir(folder.path()).output().unwrap()
        } else {
            let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
            command.arg("load").arg(target.url("/")).args(flags.split(' ')).args(on.split(' '));
            command.args(["--quiet", "--", "data"]).current_dir(folder.path()).output().unwrap()
        };
        assert_code(&output, &[0]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let done = printed.lines().find(|line| line.starts_with("done")).map(str::to_owned);
        let result: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
        let mut names: Vec<(String, u64)> = result["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| (part["name"].as_str().unwrap().to_owned(), part["completed"].as_u64().unwrap()))
            .collect();
        names.sort();
        seen.push((on, target.counted(), done, names));
    }
    let [(_, here, done, names), (_, there, done_there, names_there)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((here, done, names), (there, done_there, names_there));
    // Each row once.
    assert!(here.len() == 40 && here.values().all(|times| *times == 1), "{here:?}");
    assert_eq!(done.as_deref(), Some("done\ttrue\trow-1+row-2"));
    assert_eq!(names, &[("even".to_owned(), 20), ("odd".to_owned(), 20)]);
    fleet.until_idle();
}

#[test]
fn what_a_script_cannot_do_on_agents_is_said_with_the_reason() {
    if !is_here() {
        return;
    }
    let (fleet, folder, target) = (Fleet::up(1), home(), Asked::start());
    fs::write(folder.join("late.csv"), "row\n").unwrap();
    for (script, needle, code) in [
        ("os.getenv('HOME')", "os.getenv(\"HOME\") and --on", 2),
        ("function init() wrk.connect(wrk.addrs[1]) end", "use it in setup()", 2),
        ("function response() wrk.thread:stop() end", "thread:stop() and --on", 1),
        ("function request() for row in io.lines('late.csv') do end end", "it is no file of the load that was sent", 1),
        ("function request() error('broken') end", "broken", 1),
    ] {
        fs::write(folder.join("script.lua"), script).unwrap();
        let words = format!("{} -s script.lua --on 1 -c 1 -R 20 -d 5 --warmup 0s", target.url("/"));
        let output = load(&fleet, &folder, &words);
        assert_code(&output, &[code]);
        let told = stderr(&output);
        assert!(told.contains(needle) && told.lines().count() == 1, "{script}: {}", text(&output));
        fleet.until_idle();
    }
    // The agent is as it was.
    fs::write(folder.join("script.lua"), "function request() return wrk.format('GET', '/good') end").unwrap();
    let words = format!("{} -s script.lua --on 1 -c 1 -n 3 --json - --allow-untrusted", target.url("/"));
    let output = load(&fleet, &folder, &words);
    assert_code(&output, &[0]);
    assert_eq!(json(&output)["requests"]["completed"], 3);
}
