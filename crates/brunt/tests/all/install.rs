//! `brunt completions` and `brunt man`, as typed and as shells read them.

use std::process::{Command, Output};

fn brunt(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brunt")).args(args).output().unwrap()
}

#[test]
fn bash_completes_commands_and_flags() {
    let (script, home) = (brunt(&["completions", "bash"]), brunt_testkit::home());
    assert!(script.status.success());
    let file = home.path().join("completions.sh");
    std::fs::write(&file, &script.stdout).unwrap();
    // The function that the script registers, for the words of a command line whose last one is begun.
    let complete = |words: &str| {
        let count = words.split(' ').count() - 1;
        let ask = format!(
            ". {}\nCOMP_WORDS=({words}) COMP_CWORD={count}\n_brunt brunt \"${{COMP_WORDS[$COMP_CWORD]}}\" \"\"\necho \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("brunt com"), "compare completions");
    assert_eq!(complete("brunt load --expect-st"), "--expect-status");
}

#[test]
fn every_command_has_a_manual_page() {
    let home = brunt_testkit::home();
    let dir = home.path().join("man/man1");
    let dir = dir.to_str().unwrap();
    assert!(brunt(&["man", dir]).status.success());
    for page in ["brunt", "brunt-load", "brunt-run", "brunt-colocate-simulate"] {
        let text = std::fs::read_to_string(format!("{dir}/{page}.1")).unwrap();
        assert!(text.contains(".TH") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    let load = std::fs::read_to_string(format!("{dir}/brunt-load.1")).unwrap();
    assert!(load.contains("expect\\-status"), "{load}");
    let failed = brunt(&["man", "/proc/none"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("/proc/none"));
}
