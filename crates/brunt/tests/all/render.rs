//! `brunt report` and `brunt export`: stored results are rendered again and readable by other programs.

use brunt_results::{RunResult, directory::Directory, env::Env};
use brunt_testkit::told;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn brunt(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("BRUNT_STATE_DIR", "state").args(args).stdin(Stdio::null()).output().unwrap()
}

/// A run of two trials in `runs/scene`, with a script in place of `brunt load`.
fn scene() -> brunt_testkit::Home {
    let home = brunt_testkit::home();
    let plan = "name = 'scene'\nrepeats = 2\n[load]\nconnections = 2\nduration = '50ms'\nwarmup = '0s'\n\
        [[target]]\nname = 'echo'\nserve = { service = 'echo', model = 'epoll' }\n";
    fs::write(home.path().join("plan.toml"), plan).unwrap();
    let mut result = RunResult::new("a \"script\", no more");
    result.requests.rate = 1234.5;
    result.load.url = "tcp://127.0.0.1:1".to_owned();
    let directory = Directory::create(home.path().join("made")).unwrap();
    directory.write_env(&Env::default()).unwrap();
    directory.write_result(&result).unwrap();
    let script = "while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\ncp made/* $out/\n";
    fs::write(home.path().join("load"), script).unwrap();
    told(&brunt(home.path(), &["run", "plan.toml", "--quiet", "--tester", "sh"]), 0);
    home
}

#[test]
fn a_report_is_rendered_again_from_the_directory_alone() {
    let home = scene();
    let written = fs::read_to_string(home.path().join("runs/scene/report.md")).unwrap();
    fs::remove_file(home.path().join("runs/scene/report.md")).unwrap();
    fs::rename(home.path().join("runs/scene"), home.path().join("moved")).unwrap();
    assert_eq!(told(&brunt(home.path(), &["report", "moved", "--markdown", "--write"]), 0).0, written);
    assert_eq!(fs::read_to_string(home.path().join("moved/report.md")).unwrap(), written);
    // A run and a single result in one command.
    let (stdout, stderr) = told(&brunt(home.path(), &["report", "moved", "made"]), 0);
    assert!(
        stdout.starts_with("scene\n") && stdout.contains("closed loop") && stdout.contains("1234 requests/s"),
        "{stdout}"
    );
    assert_eq!(stderr, "");
    let (_, stderr) = told(&brunt(home.path(), &["report", "."]), 2);
    assert!(stderr.starts_with("error: . holds no results"), "{stderr}");
}

#[test]
fn a_run_leaves_a_page_that_can_be_rendered_elsewhere() {
    let home = scene();
    let left = fs::read_to_string(home.path().join("runs/scene/report.html")).unwrap();
    assert!(left.starts_with("<!doctype html>") && left.contains("<h1>scene</h1>"), "{left}");
    let (stdout, stderr) = told(&brunt(home.path(), &["report", "runs/scene", "--html", "mine.html"]), 0);
    assert!(stdout.starts_with("scene\n") && stderr == "page: mine.html\n", "{stdout}{stderr}");
    // Identical except for the path to the trials.
    let mine = fs::read_to_string(home.path().join("mine.html")).unwrap();
    assert!(mine.contains("\"runs/scene/trials/"), "{mine}");
    // Both have it in the command lines of the trials.
    let own = |page: &str| page.replace("\"runs/scene/trials/", "\"trials/");
    assert_eq!(own(&mine), own(&left));
    let (stdout, _) = told(&brunt(home.path(), &["report", "runs/scene", "--style", "ping-pong"]), 0);
    assert!(stdout.contains("echo: 1 server core") && stdout.contains("mean"), "{stdout}");
    // The plan's style is the default; the flag overrides it.
    let plan = fs::read_to_string(home.path().join("plan.toml")).unwrap();
    fs::write(home.path().join("plan.toml"), format!("style = 'ping-pong'\n{plan}")).unwrap();
    let run = ["run", "plan.toml", "--quiet", "--tester", "sh", "--out", "styled"];
    assert!(told(&brunt(home.path(), &run), 0).0.contains("echo: 1 server core"));
    assert_eq!(told(&brunt(home.path(), &["report", "styled"]), 0).0.matches("echo: 1 server core").count(), 1);
    let (plain, _) = told(&brunt(home.path(), &["report", "styled", "--style", "plain"]), 0);
    assert!(!plain.contains("echo: 1 server core"), "{plain}");
    // A page of one load, which has no plan.
    let (_, stderr) = told(&brunt(home.path(), &["report", "made", "--html", "one.html"]), 0);
    assert_eq!(stderr, "page: one.html\n");
    let one = fs::read_to_string(home.path().join("one.html")).unwrap();
    assert!(one.contains("<h1>made</h1>") && !one.contains(", plan"), "{one}");
    for flags in [&["--markdown"][..], &["--wide"], &["--style", "plain"], &["--write"], &["--published", "none.toml"]]
    {
        let (stdout, stderr) = told(&brunt(home.path(), &[&["report", "made"], flags].concat()), 2);
        let expected =
            format!("error: made holds the result of one load: {} needs the directory of brunt run", flags[0]);
        assert!(stdout.is_empty() && stderr.contains(&expected), "{stderr}");
    }
    let (_, stderr) = told(&brunt(home.path(), &["report", "runs/scene", "--html", "no/such/folder.html"]), 1);
    assert!(stderr.starts_with("error: --html no/such/folder.html: "), "{stderr}");
}

#[test]
fn a_page_is_printed_and_compared_as_the_directory_it_was_made_of() {
    let home = scene();
    for (dir, page) in [("runs/scene", "run.html"), ("made", "one.html")] {
        let (printed, _) = told(&brunt(home.path(), &["report", dir, "--html", page]), 0);
        assert_eq!(told(&brunt(home.path(), &["report", page]), 0).0, printed);
        let (_, stderr) = told(&brunt(home.path(), &["report", page, "--html", "again.html"]), 0);
        assert_eq!(stderr, "page: again.html\n");
        // The page of a page has the results, too.
        assert_eq!(told(&brunt(home.path(), &["report", "again.html"]), 0).0, printed);
        let (stdout, _) = told(&brunt(home.path(), &["compare", page, dir, "--allow-untrusted"]), 0);
        assert!(stdout.starts_with(&format!("A  {page}\nB  {dir}\n")) && stdout.contains("1.2 k/s"), "{stdout}");
    }
    let (_, stderr) = told(&brunt(home.path(), &["report", "run.html", "--write"]), 2);
    assert!(stderr.starts_with("error: run.html is a page: --write needs the directory"), "{stderr}");
    let page = fs::read_to_string(home.path().join("run.html")).unwrap();
    assert!(page.contains("<code>brunt run plan.toml") && page.contains(" serve echo "), "the commands");
    // Damaged pages, and files of another kind.
    let damaged = page.replacen("\"schema\":\"brunt.page/1\"", "\"schema\":7", 1);
    fs::write(home.path().join("damaged.html"), damaged).unwrap();
    fs::write(home.path().join("binary.html"), [0xff; 100]).unwrap();
    for (file, why) in [
        ("damaged.html", "damaged.html: the results in this page cannot be read (invalid type"),
        ("binary.html", "binary.html: no directory, nor a page with results"),
        ("plan.toml", "plan.toml: no directory, nor a page with results"),
    ] {
        for command in ["report", "compare"] {
            let (stdout, stderr) = told(&brunt(home.path(), &[command, file, "run.html"]), 2);
            assert!(stdout.is_empty() && stderr.starts_with(&format!("error: {why}")), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
    }
}

#[test]
fn runs_share_a_page_with_series_named_by_run() {
    let home = scene();
    let run = ["run", "plan.toml", "--quiet", "--tester", "sh", "--out", "later"];
    told(&brunt(home.path(), &run), 0);
    let (stdout, stderr) = told(&brunt(home.path(), &["report", "runs/scene", "later", "--html", "both.html"]), 0);
    assert_eq!((stdout.matches("closed loop").count() > 1, stderr.as_str()), (true, "page: both.html\n"), "{stdout}");
    let page = fs::read_to_string(home.path().join("both.html")).unwrap();
    for part in [
        "<h1>scene</h1>",
        "[\"scene: echo\",\"later: echo\"]",
        "<h3>later</h3>",
        "\"runs/scene/trials/",
        "\"later/trials/",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let refused = |dirs: [&str; 2]| told(&brunt(home.path(), &["report", dirs[0], dirs[1], "--html", "no.html"]), 2);
    for (dirs, why) in [
        (["later", "runs/../later"], "--html no.html: later and runs/../later are one directory: name it once"),
        (["later", "runs"], "runs holds no results: neither experiment.json"),
    ] {
        let (stdout, stderr) = refused(dirs);
        assert!(stdout.is_empty() && stderr.starts_with(&format!("error: {why}")), "{stdout}{stderr}");
    }
    assert!(!home.path().join("no.html").exists());
}

/// Whether a Python script ends well, or there is no Python.
fn python_accepts(home: &Path, script: &str, argument: &str) -> bool {
    let python = Command::new("python3").args(["-", argument]).current_dir(home).stdin(Stdio::piped()).spawn();
    let Ok(mut python) = python else {
        println!("skipped: python3 is not here");
        return true;
    };
    python.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    python.wait().unwrap().success()
}

#[test]
fn pythons_csv_reader_finds_every_trial_and_key() {
    let home = scene();
    told(&brunt(home.path(), &["export", "--to", "csv", "runs/scene", "--out", "all.csv"]), 0);
    let text = fs::read_to_string(home.path().join("all.csv")).unwrap();
    assert_eq!(text.matches("\r\n").count(), 3, "{text}");
    let script = "import csv, sys\n\
        rows = list(csv.DictReader(open(sys.argv[1], newline='')))\n\
        assert len(rows) == 2 and all(None not in row and None not in row.values() for row in rows)\n\
        assert [row['repeat'] for row in rows] == ['1', '2'] and rows[0]['target'] == 'echo'\n\
        assert rows[0]['tester'] == 'a \"script\", no more' and float(rows[1]['requests.rate']) == 1234.5\n\
        assert rows[0]['latency.response.p99_us'] == '' and rows[0]['connections'] == '2'\n";
    assert!(python_accepts(home.path(), script, "all.csv"), "{text}");
    // A result of brunt load has no cell but still a line.
    let (stdout, _) = told(&brunt(home.path(), &["export", "--to", "csv", "made"]), 0);
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
}

#[test]
fn pythons_csv_reader_finds_every_slice_of_a_published_run() {
    let home = brunt_testkit::home();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/quick");
    let run = run.to_str().unwrap();
    let (text, _) = told(&brunt(home.path(), &["export", "--to", "slices", run]), 0);
    fs::write(home.path().join("slices.csv"), text).unwrap();
    let script = "import csv, glob, json, sys\n\
        found = {}\n\
        for row in csv.DictReader(open('slices.csv', newline='')):\n\
        \x20   found[row['rate'], row['start'], row['round'], row['target']] = row\n\
        files = glob.glob(sys.argv[1] + '/slices/*/slices.jsonl')\n\
        assert len(files) == 2, files\n\
        for file in files:\n\
        \x20   rate = file.split('/')[-2].split('=')[1]\n\
        \x20   for slice in map(json.loads, open(file)):\n\
        \x20       row = found.pop((rate, str(slice['start']), str(slice['round']), slice['target']))\n\
        \x20       assert int(row['completed']) == slice['completed'] and int(row['replies']) == slice['replies'], row\n\
        \x20       assert abs(float(row['server_cpu_us']) - slice['server_cpu_us']) < 1e-3, row\n\
        \x20       assert float(row['latency.p99_us']) == slice['latency']['p99_us'] and 'response' not in row, row\n\
        assert not found, found\n";
    assert!(python_accepts(home.path(), script, run));
    let (_, stderr) = told(&brunt(home.path(), &["export", "--to", "slices", "."]), 2);
    assert!(stderr.starts_with("error: . holds no slices"), "{stderr}");
}

#[test]
fn errors_of_export_name_the_cause() {
    let home = scene();
    let (_, stderr) = told(&brunt(home.path(), &["export", "--to", "hgrm", "runs/scene"]), 2);
    assert!(stderr.contains("name one of them, as runs/scene/trials/CELL/1"), "{stderr}");
    let (_, stderr) = told(&brunt(home.path(), &["export", "--to", "hgrm", "made"]), 2);
    assert!(stderr.starts_with("error: made/latency.hlog: "), "{stderr}");
    let (_, stderr) = told(&brunt(home.path(), &["export", "--to", "csv", "."]), 2);
    assert!(stderr.starts_with("error: . holds no results"), "{stderr}");
    fs::write(home.path().join("made/latency.hlog"), "not a log\n").unwrap();
    let (_, stderr) = told(&brunt(home.path(), &["export", "--to", "hgrm", "made"]), 1);
    assert!(stderr.contains("made/latency.hlog: the interval log of 'response' cannot be read"), "{stderr}");
}
