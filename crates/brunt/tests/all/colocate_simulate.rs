//! `brunt colocate simulate` and `replay`, as typed.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn brunt(home: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brunt")).args(line.split(' ')).current_dir(home).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn policies_are_compared_with_the_service_alone_and_with_the_best_static_setting() {
    let home = brunt_testkit::home();
    let line = "colocate simulate --load 60% --time 2m --policy graded,heracles-prototype,none --search --json";
    let output = brunt(home.path(), line);
    assert!(output.status.success(), "{}", stderr(&output));
    let outcomes: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let bad = |name: &str| {
        let of = outcomes.iter().find(|outcome| outcome["policy"].as_str().unwrap().starts_with(name));
        of.unwrap_or_else(|| panic!("{name}: {outcomes:?}"))["bad_seconds"].as_u64().unwrap()
    };
    assert!(bad("alone") <= 1 && bad("none") > 100, "{outcomes:?}");
    assert!(bad("graded") < bad("heracles-prototype") && bad("best static: static=") <= 3, "{outcomes:?}");
    let table = stdout(&brunt(home.path(), "colocate simulate --load 60% --time 10s"));
    assert!(table.contains("bad s %") && table.lines().count() == 5, "{table}");
}

#[test]
fn a_logged_simulation_is_replayed_and_another_policy_asked() {
    let home = brunt_testkit::home();
    let run = |line: &str| brunt(home.path(), line);
    let line = "colocate simulate --load 20%-80% --time 2m --policy graded --lost 5% --audit log.jsonl";
    assert!(run(line).status.success());
    let same = run("colocate replay log.jsonl");
    assert!(same.status.success(), "{}", stderr(&same));
    assert!(stdout(&same).starts_with("6000 decisions of graded, 6000 of graded are equal\n"), "{}", stdout(&same));
    let other = run("colocate replay log.jsonl --policy static=1.5 --json");
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert_eq!((other["equal"].as_u64(), other["cores"][1].as_f64()), (Some(0), Some(1.5)));
    // A log whose decisions are not those of its policy.
    let log = std::fs::read_to_string(home.path().join("log.jsonl")).unwrap();
    std::fs::write(home.path().join("log.jsonl"), log.replacen("graded", "heracles", 1)).unwrap();
    assert_eq!(run("colocate replay log.jsonl").status.code(), Some(1));
}

#[test]
fn wrong_usage_names_the_value_and_the_remedy() {
    let home = brunt_testkit::home();
    std::fs::write(home.path().join("plan.toml"), "[service]\n").unwrap();
    for (line, code, said) in [
        ("colocate simulate --policy gradual", 2, "'gradual' is no policy: graded, heracles"),
        ("colocate simulate --load 60", 2, "'60' is no load: 60%, 20%-80%"),
        ("colocate simulate --time 0s", 2, "from 1s to 30d"),
        ("colocate simulate --lost 101%", 2, "from 0% to 100%"),
        ("colocate simulate --audit x.jsonl", 2, "--audit takes the log of one policy, and --policy names 3"),
        ("colocate simulate --time 1s --policy none --audit no/x.jsonl", 1, "no/x.jsonl: No such file"),
        ("colocate simulate --policy graded,none,graded", 2, "--policy names graded twice"),
        ("colocate simulate --time 1m --job cpu,memory", 2, "--turn 5m: in 1m the second kind never has a turn"),
        ("colocate replay missing.jsonl", 2, "missing.jsonl: No such file"),
        ("colocate replay plan.toml", 2, "plan.toml: line 1 is no header of an audit log"),
    ] {
        let output = brunt(home.path(), line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{line}: {}", stderr(&output));
    }
}
