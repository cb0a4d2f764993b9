//! `brunt compare` on results written here, and on a plan whose tester is a script.

use brunt_results::RunResult;
use brunt_results::ValidityIssue;
use brunt_results::directory::Directory;
use brunt_testkit::told;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Repeats with about 2 % variation, as on a quiet machine.
const FACTORS: [f64; 8] = [1.0, 1.012, 0.988, 1.004, 0.995, 1.008, 0.985, 1.001];

fn result(rate: f64) -> RunResult {
    let mut result = RunResult::new("brunt");
    result.requests.rate = rate;
    result.requests.completed = rate as u64;
    result.latency.response.count = 50_000;
    result.latency.response.p50_us = Some(80e6 / rate);
    result.latency.response.p99_us = Some(160e6 / rate);
    result.server.cpu_us_per_request = Some(1e6 / rate);
    result
}

/// A directory of repeats with this rate.
fn repeats(home: &Path, name: &str, count: usize, rate: f64, change: impl Fn(&mut RunResult)) {
    for (number, factor) in FACTORS.iter().take(count).enumerate() {
        let mut result = result(rate * factor);
        change(&mut result);
        Directory::create(home.join(name).join(number.to_string())).unwrap().write_result(&result).unwrap();
    }
}

fn compare(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", "state").arg("compare").args(args);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_slower_version_is_different_and_crosses_a_bound() {
    let home = brunt_testkit::home();
    repeats(home.path(), "before", 8, 200_000.0, |_| ());
    repeats(home.path(), "after", 8, 190_000.0, |_| ());
    let (stdout, _) = told(&compare(home.path(), &["before", "after"]), 0);
    let rate = stdout.lines().find(|line| line.trim_start().starts_with("rate")).unwrap();
    assert!(rate.contains("-5.0 %") && rate.contains("-6.0..-4.0 %") && rate.ends_with("different"), "{stdout}");
    let (_, stderr) = told(&compare(home.path(), &["before", "after", "--fail-if", "rate<-4%"]), 99);
    assert!(stderr.starts_with("threshold crossed: rate<-4%: it was -5.0 % (-6.0..-4.0 %)"), "{stderr}");
    told(&compare(home.path(), &["before", "after", "--fail-if", "rate<-6%", "--fail-if", "p99>7%"]), 0);
    // In the opposite direction the change is an improvement.
    told(&compare(home.path(), &["after", "before", "--fail-if", "rate<-4%"]), 0);
}

#[test]
fn a_page_has_the_answer_the_table_and_the_sources() {
    let home = brunt_testkit::home();
    repeats(home.path(), "before", 8, 200_000.0, |_| ());
    repeats(home.path(), "after", 8, 190_000.0, |_| ());
    let (stdout, stderr) = told(&compare(home.path(), &["before", "after", "--html", "page.html"]), 0);
    assert!(stdout.starts_with("A  before\n") && stderr == "page: page.html\n", "{stdout}{stderr}");
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    let answer = "<p class=\"answer\">after against before: rate is 5.0 % lower (95 % interval -6.0..-4.0 %)";
    assert!(page.contains(answer) && page.contains("class=\"card ratios\""), "{page}");
    assert!(page.contains("<b class=\"v-different\">different</b>"), "{page}");
    let (_, stderr) = told(&compare(home.path(), &["before", "after", "--html", "no/page.html"]), 2);
    assert!(stderr.starts_with("error: cannot write to no/page.html: "), "{stderr}");
}

#[test]
fn the_same_version_is_no_different() {
    let home = brunt_testkit::home();
    repeats(home.path(), "one", 8, 200_000.0, |_| ());
    repeats(home.path(), "two", 8, 200_300.0, |_| ());
    let (stdout, _) = told(&compare(home.path(), &["one", "two"]), 0);
    assert_eq!(stdout.matches("no difference within 3 %").count(), 4, "{stdout}");
    let json = told(&compare(home.path(), &["one", "two", "--json", "--margin", "0.5%"]), 0).0;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rate = &json["cells"][0]["figures"][0];
    assert_eq!(rate["figure"], "rate");
    assert!(rate["answer"]["cannot-tell"]["repeats"].as_u64().unwrap() > 8, "{rate}");
    assert!((rate["ratio"].as_f64().unwrap() - 1.0015).abs() < 1e-6, "{rate}");
}

#[test]
fn few_repeats_give_no_conclusion() {
    let home = brunt_testkit::home();
    repeats(home.path(), "one", 3, 200_000.0, |_| ());
    repeats(home.path(), "two", 3, 150_000.0, |_| ());
    let (stdout, _) = told(&compare(home.path(), &["one", "two"]), 0);
    assert!(stdout.contains("3 repeats of each") && stdout.contains("cannot tell: about 5 repeats would"), "{stdout}");
    // A single result is a valid side.
    let (stdout, stderr) = told(&compare(home.path(), &["one/0", "two/0", "--fail-if", "rate<-5%"]), 99);
    assert!(stdout.contains("cannot tell: more repeats"), "{stdout}");
    assert!(stderr.contains("the change is not known"), "{stderr}");
}

#[test]
fn results_that_may_not_be_believed_are_exit_3_unless_allowed() {
    let home = brunt_testkit::home();
    let disturbed = |result: &mut RunResult| {
        result.verdict.add(&ValidityIssue::Steal { percent: 9.0 });
    };
    repeats(home.path(), "good", 5, 200_000.0, |_| ());
    repeats(home.path(), "bad", 5, 200_000.0, disturbed);
    let (stdout, _) = told(&compare(home.path(), &["good", "bad"]), 3);
    assert!(stdout.contains("NOT to be believed: trials: B 5 disturbed"), "{stdout}");
    told(&compare(home.path(), &["good", "bad", "--allow-untrusted"]), 0);
}

#[test]
fn a_directory_without_results_is_an_error() {
    let home = brunt_testkit::home();
    fs::create_dir(home.path().join("empty")).unwrap();
    repeats(home.path(), "one", 3, 1000.0, |_| ());
    let (_, stderr) = told(&compare(home.path(), &["one", "empty"]), 2);
    assert!(stderr.starts_with("error: empty holds no results") && stderr.lines().count() == 1, "{stderr}");
    let (_, stderr) = told(&compare(home.path(), &["one", "missing"]), 2);
    assert!(stderr.starts_with("error: missing is no directory"), "{stderr}");
    fs::write(home.path().join("one/1/result.json"), "{ half").unwrap();
    let (_, stderr) = told(&compare(home.path(), &["one", "one"]), 1);
    assert!(stderr.contains("one/1/result.json"), "{stderr}");
}

const PLAN: &str = "name = 'scene'\n[load]\nconnections = 2\nduration = '50ms'\nwarmup = '0s'\n\
    [[target]]\nname = 'a'\nserve = { service = 'echo', model = 'epoll' }\n\
    [[target]]\nname = 'b'\nserve = { service = 'echo', model = 'epoll' }\n\
    [[target]]\nname = 'c'\nserve = { service = 'echo', model = 'epoll' }\n";

#[test]
fn two_targets_of_a_plan_are_measured_in_turns_and_compared() {
    let home = brunt_testkit::home();
    fs::write(home.path().join("plan.toml"), PLAN).unwrap();
    Directory::create(home.path()).unwrap().write_result(&result(5000.0)).unwrap();
    // Replaces `brunt load`: every trial has the same result.
    let script = "while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\ncp result.json $out/\n";
    fs::write(home.path().join("load"), script).unwrap();
    let args = ["--plan", "plan.toml", "--targets", "a,c", "--repeat", "4", "--quiet", "--allow-untrusted"];
    let args: Vec<&str> = args.into_iter().chain(["--", "--tester", "sh"]).collect();
    let (stdout, stderr) = told(&compare(home.path(), &args), 0);
    assert!(stdout.starts_with("A  a\nB  c\n") && stdout.contains("4 repeats of each"), "{stdout}");
    assert!(stdout.contains("no difference within 3 %"), "{stdout}");
    assert_eq!(stderr, "");
    let dir = home.path().join("runs/compare");
    let experiment: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("experiment.json")).unwrap()).unwrap();
    let order: Vec<String> = experiment["order"].as_array().unwrap().iter().map(|trial| trial.to_string()).collect();
    let of = |target: &str| order.iter().map(|trial| trial.contains(target)).collect::<Vec<bool>>();
    let a = of("target=a");
    // ABBA order, twice.
    assert!(a[0] == a[3] && a[1] == a[2] && a[0] != a[1] && a[4] == a[7] && a[5] == a[6] && a[4] != a[5], "{order:?}");
    // The directory can be compared again.
    told(&compare(home.path(), &["runs/compare", "--targets", "c,a", "--allow-untrusted"]), 0);
    let (_, stderr) = told(&compare(home.path(), &["runs/compare", "--targets", "a,b"]), 2);
    assert_eq!(stderr, "error: runs/compare has no results of a target 'b'; did you mean 'a'?\n");
    let (_, stderr) = told(&compare(home.path(), &["runs/compare", "--targets", "a,nope"]), 2);
    assert_eq!(stderr, "error: runs/compare has no results of a target 'nope'; known are a, c\n");
}

#[test]
fn a_rejected_plan_leaves_nothing_behind() {
    let home = brunt_testkit::home();
    fs::write(home.path().join("plan.toml"), PLAN).unwrap();
    let output = compare(home.path(), &["--plan", "plan.toml", "--targets", "a,d"]);
    let (_, stderr) = told(&output, 2);
    assert!(stderr.contains("--only target=d selects nothing"), "{stderr}");
    let output = compare(home.path(), &["--plan", "plan.toml", "--targets", "a,b", "--", "--ony", "size=1"]);
    let (_, stderr) = told(&output, 2);
    assert!(stderr.starts_with("error: unexpected argument '--ony' found"), "{stderr}");
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["plan.toml"]);
}

#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .case("tests/cmd/compare-*.trycmd")
        .case("tests/cmd/find-*.trycmd")
        .case("tests/cmd/cost-*.trycmd");
}
