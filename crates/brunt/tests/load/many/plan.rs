//! A plan with more connections than the target's limit of open files: the target starts several processes.

use brunt_testkit::text;
use std::process::Command;

#[test]
fn a_cell_that_one_process_cannot_hold_gets_several() {
    let home = brunt_testkit::home();
    let plan = home.path().join("many.toml");
    let lines = r#"
name = "many"
repeats = 1
[load]
connections = 300
duration = "1s"
warmup = "200ms"
timeout = "30s"
[[target]]
name = "epoll"
serve = { service = "echo", model = "epoll" }
limits = { nofile = 200 }
"#;
    std::fs::write(&plan, lines).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    brunt.env("BRUNT_STATE_DIR", home.path().join("state"));
    let output = brunt.arg("run").arg(&plan).arg("--out").arg(home.path().join("out")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let trial = home.path().join("out/trials/target=epoll/1");
    let record = std::fs::read_to_string(trial.join("trial.json")).unwrap();
    assert!(record.contains("--connections") && record.contains("\"300\""), "{record}");
    let result = std::fs::read_to_string(trial.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["connections"]["peak"], 300, "{result}");
    assert_eq!(result["errors"]["timeout"], 0, "{result}");
}
