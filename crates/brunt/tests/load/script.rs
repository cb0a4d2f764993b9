//! `brunt load --script` end to end: wrk scripts against a real web server process.

use crate::shared::target::{Target, json, load, number};
use brunt_testkit::{assert_code, text};
use std::path::Path;

/// Runs one of the scripts of `brunt-load`, or a script given as text.
fn run(target: &Target, script: &str, flags: &str) -> std::process::Output {
    let home = brunt_testkit::home();
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../load/tests/wrk").join(script);
    let file = if script.ends_with(".lua") {
        known
    } else {
        let file = home.path().join("test.lua");
        std::fs::write(&file, script).unwrap();
        file
    };
    let mut command = load(&target.http("/a"), "-c 2 --warmup 0s --quiet --allow-untrusted --no-meter");
    command.arg("-s").arg(file).args(flags.split_whitespace()).output().unwrap()
}

#[test]
fn a_script_makes_requests_of_every_kind() {
    let target = Target::start_web();
    for (script, flags) in [
        ("", "--expect-body GET"),
        ("", "-X PUT --body hi --expect-body PUT"),
        ("post.lua", "--expect-body name=value"),
        ("counter.lua", "--expect-body /item/"),
        ("pipeline.lua", ""),
        ("auth.lua", "--expect-body /login"),
        ("addr.lua", "-t 2 --expect-body /a"),
        (
            "function request() return wrk.format(nil, '/x', {['X-Say'] = wrk.headers['x-say']}) end",
            "-H X-Say:so --expect-body so",
        ),
        (
            "function init(args) path = args[1] end function request() return wrk.format(nil, path) end",
            "--expect-body /arg -- /arg",
        ),
    ] {
        let output = run(&target, script, &format!("-n 200 --json - {flags}"));
        assert_code(&output, &[0]);
        // Output of the script precedes the result.
        let said = String::from_utf8_lossy(&output.stdout);
        let result: serde_json::Value = serde_json::from_str(&said[said.find('{').unwrap()..])
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
        // This server answers HEAD, sent by pipeline.lua, with a body, so that run may report errors.
        if script != "pipeline.lua" {
            assert_eq!(
                (number(&result, "requests.completed"), number(&result, "requests.failed")),
                (200.0, 0.0),
                "{script}"
            );
        }
    }
}

#[test]
fn a_script_receives_the_summary_of_the_run() {
    let target = Target::start_web();
    let output = run(&target, "setup.lua", "-n 300 -t 2");
    assert_code(&output, &[0]);
    let page = text(&output);
    let made: Vec<u32> = page
        .lines()
        .filter(|line| line.starts_with("thread "))
        .map(|line| line.split(' ').nth(3).unwrap().parse().unwrap())
        .collect();
    assert!(made.len() == 2 && made.iter().sum::<u32>() >= 300, "{page}");

    let output = run(&target, "report.lua", "-n 100");
    assert_code(&output, &[0]);
    let page = text(&output);
    assert!(page.lines().any(|line| line.ends_with(",0,0,0,0,0") && line.split(',').nth(1) == Some("100")), "{page}");

    let output = run(
        &target,
        "function done(s) print('status', s.errors.status, s.requests) end wrk.path = '/status/500'",
        "-n 50",
    );
    assert!(text(&output).contains("status\t50\t50"), "{}", text(&output));
}

#[test]
fn a_script_stops_its_run_and_pauses_between_its_requests() {
    let target = Target::start_web();
    let output = run(&target, "stop.lua", "-d 600s --json -");
    assert_code(&output, &[0]);
    let completed = number(&json(&output), "requests.completed");
    assert!((3.0..600.0).contains(&completed), "{}", text(&output));
    let output = run(&target, "delay.lua", "-n 10 --json -");
    assert_code(&output, &[0]);
    assert_eq!(number(&json(&output), "requests.completed"), 10.0);
}

#[test]
fn an_invalid_script_is_an_error_with_its_line() {
    let target = Target::start_web();
    for (script, flags, code, words) in [
        ("x =", "", 2, "test.lua:1: "),
        ("\nfunction setup() error('no') end", "", 2, "test.lua:2: no"),
        ("none.lua", "", 2, "cannot read the script"),
        ("", "--pipeline 3", 2, "--pipeline and --script"),
        ("", "--reuse 3", 2, "--reuse and --script"),
        (
            "local other = wrk.lookup('127.0.0.2', '80') function setup(t) t.addr = other[1] end",
            "",
            2,
            "sends a thread to 127.0.0.2:80",
        ),
        ("function init() error('late') end", "-n 5", 1, "test.lua:1: late"),
        ("function request() return 'x' end", "-n 5", 1, "is not whole"),
        ("function request() while true do end end", "-n 5", 1, "ran longer than the 1s"),
        ("function response() error('seen') end", "-n 500", 1, "test.lua:1: seen"),
        ("function done() error('end') end", "-n 5", 1, "test.lua:1: end"),
    ] {
        let output = run(&target, script, flags);
        let said = text(&output);
        assert!(output.status.code() == Some(code) && said.contains(words), "{script}: {said}");
        let errors = String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{said}");
    }
    let output = load(&target.http("/"), "-- argument").output().unwrap();
    assert!(output.status.code() == Some(2) && text(&output).contains("add --script FILE"), "{}", text(&output));
    let output = load(&target.url(), "-s x.lua").output().unwrap();
    assert!(
        output.status.code() == Some(2) && text(&output).contains("means nothing with tcp://"),
        "{}",
        text(&output)
    );
}

const STEPS: &str = r#"
local home = wrk.format("GET", "/home")
local count = 0
function request()
	count += 1
	if count % 4 == 0 then
		return wrk.format("GET", "/status/404"), "checkout"
	elseif count % 4 == 1 then
		return home
	end
	return string.gsub(home, "home", "cart"), "cart"
end
"#;

#[test]
fn steps_of_a_script_have_figures_and_bounds_of_their_own() {
    let target = Target::start_web();
    // In an open loop a machine that stops leaves any number of requests unanswered, which count as failed, beyond the 400 that are
    // answered; the simulated world counts that loop exactly.
    for (flags, bound) in [("-n 400", "failed>300"), ("-n 400 -t 2", "failed>300"), ("-n 400 -R 4k", "errors>100%")] {
        let output = run(&target, STEPS, &format!("{flags} --json - --fail-if {bound}"));
        assert_code(&output, &[0]);
        let result = json(&output);
        let names = result["names"].as_array().unwrap();
        let of = |name: &str| names.iter().find(|part| part["name"] == name).unwrap();
        assert_eq!(names.len(), 2, "{names:#?}");
        let count = |part: &serde_json::Value, key: &str| part[key].as_u64().unwrap();
        let (cart, checkout) = (of("cart"), of("checkout"));
        let unanswered = number(&result, "requests.unanswered") as u64;
        let is_near = |found: u64, wanted: u64| found + unanswered >= wanted * 9 / 10 && found <= wanted * 11 / 10;
        assert!(is_near(count(cart, "completed"), 200), "{flags}: {cart:#}");
        assert!(is_near(count(checkout, "failed"), 100), "{flags}: {checkout:#}");
        assert_eq!((count(cart, "failed"), count(checkout, "completed")), (0, 0), "{flags}");
        assert_eq!(checkout["errors"]["status"], checkout["failed"]);
        assert_eq!(number(&result, "requests.failed"), count(checkout, "failed") as f64);
        assert!(cart["response"]["p50_us"].as_f64() > Some(0.0));
    }
    for (bounds, code, says) in [
        ("--fail-if failed>300 --fail-if cart:p50>30s", 0, "  cart  "),
        ("--fail-if failed>300 --fail-if cart:p50>1ns", 99, "cart:p50>1ns: it was"),
        ("--fail-if failed>300 --fail-if carts:p50>1s", 2, "its names are"),
    ] {
        let output = run(&target, STEPS, &format!("-n 400 {bounds}"));
        assert_code(&output, &[code]);
        assert!(text(&output).contains(says), "{says}: {}", text(&output));
    }
    let colon = "function request() return wrk.format(), 'a:b' end";
    let output = run(&target, colon, "-n 10");
    assert_code(&output, &[1]);
    assert!(text(&output).contains("'a:b' is not a name"), "{}", text(&output));
    let many = "n = 0 function request() n += 1 return wrk.format(), 'user' .. n end";
    let result = json(&run(&target, many, "-n 500 --json -"));
    let names = result["names"].as_array().unwrap();
    assert_eq!((names.len(), names[100]["name"].as_str()), (101, Some("other")));
    assert!((380..=400).contains(&names[100]["completed"].as_u64().unwrap()), "{}", names[100]);
}
