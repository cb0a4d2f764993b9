//! docs/guide/first-hour.md, typed as it stands, but for the length of loads: the commands of its `console` blocks run in one shell, end
//! with the status that the page gives, and print the lines that it shows, whatever their figures.

use brunt_testkit::{Running, free_port};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

const PAGE: &str = include_str!("../../../../docs/guide/first-hour.md");
const MARK: &str = "@@";

#[derive(Debug)]
struct Step {
    /// With the comment behind it, if it has one.
    command: String,
    /// Lines that the page shows.
    shown: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => is_console = line == "```console",
            Some(command) if is_console => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
            None if is_console => steps.last_mut().unwrap().shown.push(line.to_owned()),
            _ => (),
        }
    }
    steps
}

/// The words of a line before its first figure.
fn label(line: &str) -> String {
    let is_figure = |word: &&str| word.contains(|c: char| c.is_ascii_digit()) || matches!(*word, "-" | "...");
    line.split_whitespace().take_while(|word| !is_figure(word)).collect::<Vec<_>>().join(" ")
}

/// The ports of the page, as free ones.
fn with_free_ports(text: &str) -> String {
    let free = || std::iter::repeat_with(|| free_port().to_string()).find(|port| !port.contains("808")).unwrap();
    ["8080", "8081"].iter().fold(text.to_owned(), |text, port| text.replace(port, &free()))
}

/// The command with shorter loads: what it prints does not depend on their length, but for figures.
fn shortened(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    for at in 1..words.len() {
        match words[at - 1] {
            "-d" => words[at] = "1",
            "--budget" => words[at] = "4s",
            _ => (),
        }
    }
    words.join(" ")
}

/// All commands, each with a line behind it that tells its status. A command that is left running has to listen first.
fn script(steps: &[Step]) -> String {
    let mut script = String::from("exec 2>&1\ntrap 'kill $(jobs -p)' EXIT\n");
    for (number, Step { command, .. }) in steps.iter().enumerate() {
        let command = shortened(command);
        let _ = writeln!(script, "{command}\necho \"{MARK} {number} $?\"");
        if command.ends_with('&') {
            let port = command.split("127.0.0.1:").nth(1).unwrap().split(' ').next().unwrap();
            let _ = writeln!(
                script,
                "for i in $(seq 1200); do (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.1; done"
            );
        }
    }
    script
}

#[test]
fn every_command_of_the_first_hour_does_what_the_page_says() {
    let page = with_free_ports(PAGE);
    let steps = steps(&page);
    assert!(steps.len() >= 10, "{steps:#?}");
    let home = brunt_testkit::home();
    let bin = Path::new(env!("CARGO_BIN_EXE_brunt")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    fs::write(home.path().join("script"), script(&steps)).unwrap();
    let mut bash = Command::new("bash");
    bash.arg("script").current_dir(home.path()).env("PATH", path).env("BRUNT_STATE_DIR", home.path().join("state"));
    bash.env_remove("GITHUB_STEP_SUMMARY").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // The script puts its stderr on stdout.
    let mut bash = Running::start(&mut bash);
    let mut told: String = std::iter::from_fn(|| bash.line()).map(|line| line + "\n").collect();
    for (number, step) in steps.iter().enumerate() {
        let end = told.find(&format!("{MARK} {number} ")).unwrap_or_else(|| panic!("no end of {step:?} in\n{told}"));
        let (own, rest) = told.split_at(end);
        let status = rest.lines().next().unwrap().rsplit(' ').next().unwrap();
        // A busy machine leaves doubts, and may cross a bound; the status tells a crossed one as the output does.
        let is_crossed = own.contains("threshold crossed: ");
        let expected = step.command.split("# exits with ").nth(1);
        let is_usual = || matches!((status, is_crossed), ("0" | "3", false) | ("99", true));
        let is_expected = expected.map_or_else(is_usual, |expected| status == expected);
        assert!(is_expected, "{} exits with {status}:\n{own}", step.command);
        let lines: Vec<String> =
            own.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for label in step.shown.iter().map(|line| label(line)).filter(|label| !label.is_empty()) {
            // The word of a verdict depends on the machine.
            let label = if label.starts_with("verdict") { "verdict" } else { &label };
            assert!(lines.iter().any(|line| line.starts_with(label)), "{}: no {label:?} in\n{own}", step.command);
        }
        told = rest.split_once('\n').unwrap().1.to_owned();
    }
}
