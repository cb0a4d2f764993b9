//! `brunt run` end to end: tables, exit codes, signals, and no leftover processes.

use brunt_testkit::{Running, Signal, assert_code, judge, until, until_some};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder with a plan `plan.toml` and, optionally, a script `load` that replaces `brunt load`: the tester `sh`
/// reads it.
struct Scene {
    home: brunt_testkit::Home,
}

const HEAD: &str =
    "name = 'scene'\nrepeats = 2\n[load]\nconnections = 2\nduration = '100ms'\nwarmup = '0s'\ntimeout = '1s'\n";
const ECHO: &str = "[[target]]\nname = 'echo'\nserve = { service = 'echo', model = 'epoll' }\n";
const FIND_OUT: &str = "while [ $# -gt 0 ]; do case $1 in --out) out=$2;; esac; shift; done\n";

impl Scene {
    fn new(targets: &str) -> Self {
        let home = brunt_testkit::home();
        fs::write(home.path().join("plan.toml"), format!("{HEAD}{targets}")).unwrap();
        Self { home }
    }

    /// A tester that runs a shell command and then writes a result with this verdict.
    fn tester(self, verdict: &str, first: &str) -> Self {
        let result = format!(
            r#"{{"schema":"brunt.result/1","measurement_revision":1,"tester":"fake","verdict":{{"kind":"{verdict}","why":["because"],"remedy":["do"]}},"interrupted":false,"load":{{"url":"","mode":"closed","arrival":null,"request_bytes":null,"connections":2,"measured_s":1,"warmup_s":0,"seed":1}},"requests":{{"completed":5000,"failed":0,"unanswered":0,"rate":5000.0,"offered_rate":null,"waited":null}},"latency":{{"response":{E},"service":{E},"lag":{E},"error":{E}}},"errors":{{"connect":0,"timeout":0,"reset":0,"protocol":0,"status":0}},"connections":{{"opened":2,"peak":2}},"bytes":{{"sent":0,"received":0}},"generator":{{"cpu_percent":null,"spin_percent":null,"cores":[],"thread_cpu_percent":[],"instructions_user_per_request":null}},"server":{{}}}}"#,
            E = r#"{"count":5000,"mean_us":5.0,"p50_us":5.0,"p90_us":5.0,"p99_us":5.0,"p999_us":5.0,"max_us":5.0}"#
        );
        fs::write(self.home.path().join("template.json"), result).unwrap();
        let script = format!("{FIND_OUT}{first}\ncp template.json $out/result.json\n");
        fs::write(self.home.path().join("load"), script).unwrap();
        self
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.current_dir(self.home.path()).env("BRUNT_STATE_DIR", "state").arg("run").args(args.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs with the script as the tester.
    fn fake(&self, args: &str) -> Command {
        self.command(&format!("{args} --tester sh"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Process groups registered by a running experiment, once there are `count`.
    fn groups(&self, count: usize) -> Vec<String> {
        until_some(&format!("{count} process groups are started"), || {
            let page = fs::read(self.path("runs/scene/running.json")).unwrap_or_default();
            let page: serde_json::Value = serde_json::from_slice(&page).unwrap_or_default();
            let groups = page["groups"].as_array().into_iter().flatten();
            let groups: Vec<String> = groups.map(|group| group["group"].to_string()).collect();
            (groups.len() >= count).then_some(groups)
        })
    }
}

fn told(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn quick_measures_three_models_and_prints_a_table() {
    let scene = Scene::new("");
    let output = scene.command("quick --duration 200ms --set warmup=50ms --repeat 1").output().unwrap();
    assert_code(&output, &[0]);
    let (stdout, stderr) = told(&output);
    // Where io_uring is forbidden, its target is skipped with a message.
    let trials = if stdout.contains("needs io_uring") { 4 } else { 6 };
    for word in ["uring", "epoll", "tokio", "k req/s", "p50", "verdict", "Started 20"] {
        assert!(stdout.contains(word), "{word} is not in\n{stdout}");
    }
    // One line per trial, because stderr is not a terminal.
    let told = stderr.lines().filter(|line| line.contains(&format!("/{trials}] target="))).count();
    assert_eq!(told, trials, "{stderr}");
    let report = scene.read("runs/quick/report.md");
    assert!(report.contains("| epoll |") && report.contains("Started 20"), "{report}");
    assert!(report.contains("- Source hashes: load ") && !report.contains("stress"), "{report}");
    let trial = "runs/quick/trials/target=epoll,rate=20k/1";
    for file in ["result.json", "env.json", "latency.hlog", "trial.json", "target.log"] {
        assert!(scene.path(trial).join(file).exists(), "{file} is missing");
    }
    let slices = scene.read("runs/quick/slices/rate=20k/slices.jsonl");
    assert!(slices.lines().count() >= 5 * trials / 2, "at least five rounds: {slices}");
    let result: serde_json::Value = serde_json::from_str(&scene.read(&format!("{trial}/result.json"))).unwrap();
    assert!(result["requests"]["completed"].as_u64().unwrap() > 0);
    assert!(result["server"]["cpu_user_percent"].is_number(), "the server was not metered: {result}");
}

#[test]
fn a_dry_run_prints_cells_and_duration_and_starts_nothing() {
    let scene = Scene::new("");
    let output = scene.command("ping-pong-peak --dry-run").output().unwrap();
    assert_code(&output, &[0]);
    let (stdout, _) = told(&output);
    assert!(stdout.contains(" trials; about "), "{stdout}");
    assert!(stdout.contains("peers' does not exist") && stdout.contains("clone"), "{stdout}");
    assert!(!scene.path("runs").exists());
}

#[test]
fn a_finished_run_is_kept_and_the_next_is_written_beside_it() {
    let scene = Scene::new(ECHO).tester("ok", ":");
    assert_code(&scene.fake("plan.toml --quiet").output().unwrap(), &[0]);
    assert_code(&scene.fake("plan.toml --quiet").output().unwrap(), &[0]);
    assert!(scene.path("runs/scene-2/trials/target=echo/2/result.json").exists());
    let again = scene.fake("plan.toml --out runs/scene").output().unwrap();
    assert_code(&again, &[0]);
    let (stdout, stderr) = told(&again);
    assert!(stderr.contains("nothing to run") && stdout.contains("echo"), "{stderr}");
    fs::write(scene.path("plan.toml"), format!("{HEAD}size = '1KiB'\n{ECHO}")).unwrap();
    let other = scene.fake("plan.toml --out runs/scene").output().unwrap();
    assert_code(&other, &[2]);
    let (_, stderr) = told(&other);
    assert!(stderr.contains("--fresh") && stderr.contains("--out"), "{stderr}");
    assert_code(&scene.fake("plan.toml --out runs/scene --fresh --quiet").output().unwrap(), &[0]);
}

#[test]
fn resume_continues_the_last_run_and_never_starts_one() {
    let scene = Scene::new(ECHO).tester("ok", ":");
    let none = scene.fake("plan.toml --resume").output().unwrap();
    assert_code(&none, &[2]);
    assert!(told(&none).1.contains("--resume: there is no run in runs/scene to continue"), "{}", told(&none).1);
    assert_code(&scene.fake("plan.toml --quiet").output().unwrap(), &[0]);
    fs::remove_dir_all(scene.path("runs/scene/trials/target=echo/2")).unwrap();
    let rest = scene.fake("plan.toml --resume").output().unwrap();
    assert_code(&rest, &[0]);
    assert!(told(&rest).1.contains("1 of them done already"), "{}", told(&rest).1);
    let finished = scene.fake("plan.toml --resume").output().unwrap();
    assert_code(&finished, &[0]);
    assert!(told(&finished).1.contains("nothing to run"), "{}", told(&finished).1);
    assert!(!scene.path("runs/scene-2").exists());
}

#[test]
fn phases_and_filters_show_in_the_dry_run_and_in_the_table() {
    let targets = format!("{ECHO}when = {{ size = '1B' }}\n");
    let phases = "[sweep]\nsize = ['1B', '2B']\n[[phase]]\nname = 'warm'\n[[phase]]\nname = 'peak'\nrate = '2k'\n";
    let scene = Scene::new(&format!("{phases}{targets}")).tester("ok", ":");
    let output = scene.command("plan.toml --dry-run").output().unwrap();
    assert_code(&output, &[0]);
    let (stdout, _) = told(&output);
    assert!(stdout.contains("2 cells x 2 repeats = 4 trials"), "{stdout}");
    assert!(stdout.contains("target=echo,size=1B,phase=peak") && stdout.contains("2k req/s, 100ms"), "{stdout}");
    assert!(stdout.contains("left out by the plan's when and except: 2 cells"), "{stdout}");
    let output = scene.fake("plan.toml").output().unwrap();
    assert_code(&output, &[0]);
    let (stdout, stderr) = told(&output);
    assert!(stdout.contains("phase") && stdout.contains("warm") && stdout.contains("peak"), "{stdout}");
    assert!(stderr.contains("[2/4] target=echo,size=1B,phase=peak repeat 1"), "{stderr}");
}

#[test]
fn quiet_prints_only_the_table() {
    let scene = Scene::new(ECHO).tester("ok", ":");
    let output = scene.fake("plan.toml --quiet").output().unwrap();
    assert_code(&output, &[0]);
    let (stdout, stderr) = told(&output);
    assert_eq!(stderr, "");
    assert!(stdout.starts_with("scene"), "{stdout}");
}

#[test]
fn ctrl_c_keeps_finished_trials_and_leaves_no_process() {
    // The first trial ends at once, the second only by a signal.
    let scene = Scene::new(ECHO).tester("ok", "[ -e first ] && sleep 300; touch first");
    let run = Running::start(&mut scene.fake("plan.toml"));
    until("the second trial begins", || {
        assert!(!run.is_over(), "it ended");
        fs::read_dir(scene.path("runs/scene/trials/target=echo")).map_or(0, |trials| trials.count()) >= 2
    });
    // The second trial's target, and perhaps its tester.
    let groups = scene.groups(1);
    run.signal(Signal::INT);
    let output = run.output();
    assert_code(&output, &[1]);
    let (stdout, stderr) = told(&output);
    assert!(stdout.contains("not run: 1 of 2 trials"), "{stdout}");
    assert!(stderr.contains("interrupted") && stderr.contains("brunt run plan.toml"), "{stderr}");
    assert!(groups.iter().all(|pid| !is_alive(pid)), "{groups:?}");
    // The same command runs the remaining trials.
    let scene = scene.tester("ok", ":");
    let output = scene.fake("plan.toml").output().unwrap();
    assert_code(&output, &[0]);
    assert!(told(&output).1.contains("1 of them done already"), "{}", told(&output).1);
}

#[test]
fn a_killed_run_is_continued_and_its_leftovers_are_killed() {
    let scene = Scene::new(ECHO).tester("ok", "touch began; sleep 300");
    let mut run = Running::start(&mut scene.fake("plan.toml"));
    let groups = scene.groups(2);
    // Before that the shell may read the script that replaces this one.
    until("the tester begins", || scene.path("began").exists());
    // Alone: what it started goes on.
    run.signal(Signal::KILL);
    assert_eq!(run.child().wait().unwrap().signal(), Some(9));
    assert!(groups.iter().all(|pid| is_alive(pid)), "a killed run cannot clean up; is this test still right?");

    let scene = scene.tester("ok", ":");
    let output = scene.fake("plan.toml").output().unwrap();
    assert_code(&output, &[0]);
    assert!(groups.iter().all(|pid| !is_alive(pid)), "{groups:?}");
    let (stdout, stderr) = told(&output);
    assert!(stderr.contains("killed 2 process groups left over"), "{stderr}");
    assert!(!stdout.contains("not run"), "{stdout}");
}

#[test]
fn a_failed_trial_is_exit_1_and_in_the_table_with_its_reason() {
    let dies = "[[target]]\nname = 'dies'\ncommand = ['sh', '-c', 'echo out of luck >&2; exit 4']\n";
    let scene = Scene::new(&format!("{dies}{ECHO}")).tester("ok", ":");
    let output = scene.fake("plan.toml").output().unwrap();
    assert_code(&output, &[1]);
    let (stdout, _) = told(&output);
    assert!(stdout.contains("2 failed") && stdout.contains("status 4") && stdout.contains("out of luck"), "{stdout}");
}

#[test]
fn a_target_that_burns_while_it_idles_is_frozen_and_named() {
    // Ends by itself: a job of another test in the idle class that starts a program on this core would hold up, for as long as
    // this takes the core, all that read its files in /proc, the run that ends this target among them.
    let burn = "(ulimit -t 10; while :; do :; done) & exec";
    let burn = format!("{burn} {} serve echo --listen 127.0.0.1:$0", env!("CARGO_BIN_EXE_brunt"));
    let burner = format!("[[target]]\nname = 'burner'\ncommand = ['sh', '-c', '{burn}', '{{port}}']\n");
    judge("a loop uses more than half a percent of a core", || {
        let scene = Scene::new(&format!("{ECHO}{burner}"));
        let output = scene.command("plan.toml --repeat 1 --duration 200ms").output().unwrap();
        assert_code(&output, &[0]);
        let (stdout, stderr) = told(&output);
        assert!(stderr.contains("/2] target=burner start 1: "), "{stderr}");
        let env: serde_json::Value =
            serde_json::from_str(&scene.read("runs/scene/trials/target=burner/1/env.json")).unwrap();
        let idle = &env["idle"];
        let is_busy = idle["cpu_percent"].as_f64().unwrap() > 0.5;
        assert_eq!(
            (idle["frozen_by"].is_string(), stdout.contains("frozen: burner uses ")),
            (is_busy, is_busy),
            "{idle}"
        );
        if is_busy { Ok(()) } else { Err(idle.to_string()) }
    });
}

#[test]
fn a_trial_in_which_most_requests_fail_is_exit_1() {
    let http = |path: &str| {
        let target = "serve = { service = 'http', model = 'epoll', args = ['--service', 'httpbin'] }";
        let scene = Scene::new(&format!("path = '{path}'\n[[target]]\nname = 'web'\n{target}\n"));
        // It ends after its requests, however long they take.
        let requests = "--repeat 1 --duration 10m --set requests=20 --set timeout=10m";
        scene.command(&format!("plan.toml --quiet {requests}")).output().unwrap()
    };
    let output = http("/status/404");
    assert_code(&output, &[1]);
    let (stdout, stderr) = told(&output);
    assert!(stdout.contains("errors"), "{stdout}");
    let line = "error: most requests failed in 1 trial, such as target=web repeat 1: ";
    assert!(stderr.starts_with(line) && stderr.contains(" status)"), "{stderr}");
    assert_code(&http("/status/200"), &[0]);
}

#[test]
fn results_not_to_be_trusted_are_exit_3_when_asked_for() {
    let scene = Scene::new(ECHO).tester("client-limited", ":");
    let output = scene.fake("plan.toml --quiet").output().unwrap();
    assert_code(&output, &[0]);
    assert!(told(&output).0.contains("client-limited: 2 of 2 trials"), "{}", told(&output).0);
    assert_code(&scene.fake("plan.toml --quiet --out runs/scene --strict").output().unwrap(), &[3]);
}

#[test]
fn a_missing_tool_skips_its_target_with_a_remedy() {
    let needy = "[[target]]\nname = 'needy'\nneeds = ['no-such-compiler']\ncommand = ['sh']\n";
    let scene = Scene::new(&format!("{needy}{ECHO}")).tester("ok", ":");
    let output = scene.fake("plan.toml").output().unwrap();
    assert_code(&output, &[0]);
    let line = "skipped: 1 cell of needy: needs 'no-such-compiler', which is not on PATH";
    assert!(told(&output).0.contains(line), "{}", told(&output).0);
    let alone = Scene::new(needy).command("plan.toml").output().unwrap();
    assert_code(&alone, &[1]);
    assert!(told(&alone).1.contains("nothing can be run here"), "{}", told(&alone).1);
}

#[test]
fn a_directory_that_cannot_be_written_is_one_line_and_exit_1() {
    let scene = Scene::new(ECHO);
    fs::write(scene.path("taken"), "").unwrap();
    let output = scene.command("plan.toml --quiet --out taken/run").output().unwrap();
    assert_code(&output, &[1]);
    let (_, stderr) = told(&output);
    assert!(stderr.starts_with("error: cannot write to taken/run") && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn a_mistake_in_a_plan_is_exit_2_and_pointed_at() {
    let scene = Scene::new("[[target]]\nname = 'x'\nserve = { service = 'echo', model = 'epol' }\n");
    let output = scene.command("plan.toml").output().unwrap();
    assert_code(&output, &[2]);
    let (_, stderr) = told(&output);
    assert!(stderr.starts_with("error: plan.toml:10:37: unknown model 'epol'; did you mean 'epoll'?"), "{stderr}");
    assert!(stderr.contains("^^^^^^"), "{stderr}");
    assert!(!scene.path("runs").exists());
}

#[test]
fn two_runs_do_not_share_a_directory() {
    let scene = Scene::new(ECHO).tester("ok", "while [ ! -e go ]; do sleep 0.05; done");
    let mut first = Running::start(&mut scene.fake("plan.toml --out shared --repeat 1"));
    until("the first run has its directory", || scene.path("shared/experiment.json").exists());
    let second = scene.fake("plan.toml --out shared --repeat 1").output().unwrap();
    assert_code(&second, &[1]);
    assert!(told(&second).1.contains("another run is writing to shared"), "{}", told(&second).1);
    fs::write(scene.path("go"), "").unwrap();
    assert!(first.end().success());
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let scene = Scene::new(ECHO).tester("ok", ":");
    let mut run = Running::start(&mut scene.fake("plan.toml"));
    drop(run.child().stdout.take());
    drop(run.child().stderr.take());
    assert!(run.end().success());
}

#[test]
fn a_junit_file_has_cells_comparisons_and_failed_trials() {
    let scene = Scene::new(ECHO).tester("disturbed", "");
    assert_code(&scene.fake("plan.toml --quiet --order trials --junit trials.xml").output().unwrap(), &[0]);
    let junit = scene.read("trials.xml");
    let case = "<testcase classname=\"brunt run\" name=\"target=echo\" time=";
    assert!(junit.contains(case) && junit.contains("><skipped message=\"because\"/>"), "{junit}");
    let scene = Scene::new(&format!("{ECHO}[[target]]\nname = 'gone'\ncommand = ['false', '{{listen}}']\n"));
    let output = scene.command("plan.toml --quiet --repeat 1 --budget 500ms --junit slices.xml").output().unwrap();
    assert_code(&output, &[1]);
    let junit = scene.read("slices.xml");
    assert!(
        junit.contains("<testsuites tests=\"2\" failures=\"1\"") && junit.contains("name=\"target=gone\""),
        "{junit}"
    );
    assert!(junit.contains("<failure message=\"repeat 1: the target ended with status 1"), "{junit}");
}
