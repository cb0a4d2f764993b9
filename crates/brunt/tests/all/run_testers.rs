//! `brunt run` with external testers and with nginx as a target. Testers are scripts on PATH that print output
//! captured from the real tools; nginx is the real one, if installed.

use brunt_testkit::program;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

struct Scene {
    home: brunt_testkit::Home,
}

const HEAD: &str = "name = 'scene'\nrepeats = 1\n[load]\npath = '/hello'\nconnections = 4\n\
                    duration = '400ms'\nwarmup = '0s'\n";
const EPOLL: &str = "[[target]]\nname = 'epoll'\nserve = { service = 'http', model = 'epoll' }\n";

impl Scene {
    fn new(plan: &str) -> Self {
        let home = brunt_testkit::home();
        fs::create_dir(home.path().join("bin")).unwrap();
        fs::write(home.path().join("plan.toml"), format!("{HEAD}{plan}")).unwrap();
        Self { home }
    }

    /// Installs a script as the tester of this name on PATH.
    fn tester(self, name: &str, script: &str) -> Self {
        let path = self.home.path().join("bin").join(name);
        program(&path, &format!("#!/bin/sh\n{script}\n"));
        self
    }

    /// Runs with only these testers and their dependencies on PATH.
    fn run(&self, args: &str) -> Output {
        let path = self.home.path().join("bin");
        for tool in ["bash", "cat", "date", "sleep"] {
            let _ = std::os::unix::fs::symlink(format!("/bin/{tool}"), path.join(tool));
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("BRUNT_STATE_DIR", "state")
            .args(["run", "plan.toml"]);
        command.args(args.split_whitespace()).output().unwrap()
    }

    fn json(&self, path: &str) -> serde_json::Value {
        let text = fs::read_to_string(self.home.path().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        serde_json::from_str(&text).unwrap()
    }
}

fn said(file: &str) -> String {
    format!("{}/../lab/tests/testers/said/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn tester_output_becomes_a_result_with_metered_figures() {
    // Busy for most of its time, like a generator at its limit.
    let work = "end=$(($(date +%s%N) + 1200000000)); while [ $(date +%s%N) -lt $end ]; do :; done";
    let scene = Scene::new(&format!("tester = 'wrk'\ntimeout = '5s'\n[testers]\nwrk = ['-H', 'X: y']\n{EPOLL}"))
        .tester("wrk", &format!("{work}\nsleep 0.05\ncat {}", said("wrk-good.txt")));
    let output = scene.run("");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let trial = "runs/scene/trials/target=epoll/1";
    let result = scene.json(&format!("{trial}/result.json"));
    assert_eq!(result["tester"], "wrk");
    assert_eq!(result["requests"]["completed"], 26_128);
    assert_eq!(result["latency"]["service"]["p50_us"], 270.0);
    assert_eq!(result["latency"]["response"], result["latency"]["service"]);
    assert_eq!((&result["load"]["mode"], &result["load"]["connections"]), (&"closed".into(), &4.into()));
    assert!(result["server"]["pid"].is_u64() && result["server"]["cpu_us_per_request"].is_f64(), "{result}");
    // On a busy machine its CPU share may be small.
    assert!(result["generator"]["cpu_percent"].as_f64().unwrap() > 0.0, "{}", result["generator"]);
    let env = scene.json(&format!("{trial}/env.json"));
    for figure in ["latency.lag", "latency.service.p999_us", "bytes.sent", "requests.unanswered"] {
        assert!(env["absent"][figure].is_string(), "{figure} has no reason: {}", env["absent"]);
    }
    let words: Vec<String> =
        serde_json::from_value(scene.json(&format!("{trial}/trial.json"))["tester"].clone()).unwrap();
    let line = words.join(" ");
    assert!(line.starts_with("wrk -t1 -c4 -d1s --latency --timeout 5s -H X: y http://127.0.0.1:"), "{line}");
    assert!(line.ends_with("/hello"), "{line}");
    assert_eq!(env["command"], serde_json::json!(words));
    let series = fs::read_to_string(scene.home.path().join(format!("{trial}/series.jsonl"))).unwrap();
    let seconds: Vec<serde_json::Value> = series.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!seconds.is_empty() && seconds.is_sorted_by_key(|second| second["at_s"].as_f64()), "{series}");
    for second in &seconds {
        assert!(second["server_rss_bytes"].as_u64().unwrap() > 0, "{second}");
        assert!(second["server_cpu_user_percent"].is_f64() && second["server_cpu_system_percent"].is_f64(), "{second}");
        for figure in ["sent", "completed", "failed", "connections", "offered", "p50_us", "p99_us", "lag_p99_us"] {
            assert!(second[figure].is_null(), "{figure} must be null: {second}");
        }
    }
}

#[test]
fn at_a_rate_only_the_service_time_is_known_and_the_report_shows_it() {
    let own =
        "command = ['{brunt}', 'serve', 'http', '--listen', '{listen}', '--model', 'epoll', '--cores', '{cores}']";
    let scene = Scene::new(&format!("tester = 'fortio'\nrate = '5k'\n[[target]]\nname = 'epoll'\n{own}\n"))
        .tester("fortio", &format!("sleep 0.6\ncat {}", said("fortio-good.json")));
    let output = scene.run("--wide");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result = scene.json("runs/scene/trials/target=epoll/1/result.json");
    assert_eq!(result["requests"]["offered_rate"], 5000.0);
    assert!(result["latency"]["response"]["p50_us"].is_null(), "{}", result["latency"]);
    assert_eq!(result["connections"]["opened"], 20);
    let stdout = told(&output);
    // 235 us; 385 and 625 us as ratios to it.
    for word in ["service", "235 us", "164 %", "266 %", "sockets", "159", "GET /hello", "tester fortio"] {
        assert!(stdout.contains(word), "{word} is not in\n{stdout}");
    }
    assert!(!stdout.contains("too-few-samples"), "{stdout}");
}

#[test]
fn a_tester_that_fails_or_prints_nonsense_fails_its_trial_and_a_missing_one_is_skipped() {
    let scene = Scene::new(&format!("[sweep]\ntester = ['wrk', 'ab', 'hey', 'h2load']\n{EPOLL}"))
        .tester("wrk", "echo nothing that can be read")
        .tester("ab", "echo cannot start here >&2; exit 3")
        .tester("h2load", "sleep 0.1; kill -ABRT $$");
    let output = scene.run("");
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    for (tester, why) in [
        ("wrk", "wrk: its output has no 'Requests/sec:'"),
        ("ab", "the tester ended with status 3"),
        ("h2load", "the tester was killed by signal 6"),
    ] {
        let failure = scene.json(&format!("runs/scene/trials/target=epoll,tester={tester}/1/failed.json"));
        assert!(failure["why"].as_str().unwrap().contains(why), "{failure}");
    }
    let told = told(&output);
    assert!(told.contains("skipped: 1 cell of epoll: no hey on PATH: apt install hey"), "{told}");
}

/// Two servers in slices of a tester; few starts and seconds.
const IN_SLICES: &str = "tester = 'wrk'\n\
    [[target]]\nname = 'dies'\ncommand = ['bash', '-c', 'echo $$ >pid; exec \"$0\" \"$@\"', '{brunt}', 'serve', 'http', \
    '--service', 'httpbin', '--listen', '{listen}', '--model', 'epoll', '--cores', '{cores}']\n\
    [[target]]\nname = 'stays'\nserve = { service = 'http', model = 'epoll', args = ['--service', 'httpbin'] }\n";

/// Runs `fault` in the second run against the first port it sees, where it does not end there.
fn faulty(fault: &str) -> String {
    format!(
        "for url; do :; done\nport=${{url##*:}}; port=${{port%%/*}}\nn=0; [ -f n.$port ] && read n <n.$port\n\
         n=$((n+1)); echo $n >n.$port\n[ -f victim ] || echo $port >victim\nread victim <victim\n\
         if [ $port = $victim ] && [ $n = 2 ]; then {fault}; fi\nsleep 0.02\ncat {}",
        said("wrk-good.txt")
    )
}

/// The slices of the only load, as JSON.
fn slices(scene: &Scene) -> Vec<serde_json::Value> {
    let path = scene.home.path().join("runs/scene/slices/all/slices.jsonl");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn several_targets_get_a_run_of_the_tester_for_each_slice() {
    let scene = Scene::new(IN_SLICES).tester("wrk", &faulty(":"));
    let output = scene.run("--repeat 2 --budget 4s --wide");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let all = slices(&scene);
    for round in all.chunks(2) {
        let names: std::collections::BTreeSet<&str> =
            round.iter().map(|slice| slice["target"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 2, "{round:?}");
        assert_eq!((&round[0]["round"], &round[0]["start"]), (&round[1]["round"], &round[1]["start"]));
    }
    let slice = &all[0];
    assert_eq!((&slice["completed"], &slice["window_us"]), (&26_128.into(), &1_010_000.into()), "{slice}");
    assert_eq!(slice["latency"]["p50_us"], 270.0);
    assert!(slice["generator_cpu_us"].as_f64().unwrap() > 0.0 && slice["server_cpu_us"].is_f64(), "{slice}");
    assert!(slice["response"].is_null() && slice["busy_us"].as_u64().unwrap() > 20_000, "{slice}");
    let trial = "runs/scene/trials/target=stays/2";
    let result = scene.json(&format!("{trial}/result.json"));
    assert_eq!((&result["tester"], &result["latency"]["service"]["p50_us"]), (&"wrk".into(), &270.0.into()));
    assert_eq!(result["latency"]["response"], result["latency"]["service"]);
    let env = scene.json(&format!("{trial}/env.json"));
    for figure in ["latency.service.p999_us", "requests.unanswered", "bytes.sent", "generator.ceiling_rate"] {
        assert!(env["absent"][figure].is_string(), "{figure} has no reason: {}", env["absent"]);
    }
    let words: Vec<String> =
        serde_json::from_value(scene.json(&format!("{trial}/trial.json"))["tester"].clone()).unwrap();
    assert!(words.join(" ").starts_with("wrk -t1 -c4 -d1s --latency http://127.0.0.1:"), "{words:?}");
}

#[test]
fn a_fault_in_the_middle_of_slices_ends_one_target_of_one_start() {
    for (fault, why) in [
        ("echo no route >&2; exit 3", "wrk ended with status 3: no route"),
        ("echo nothing to read; exit 0", "or is a version that prints something else: nothing to read"),
        ("read pid <pid; kill -9 $pid", "the target was killed by signal 9 under load"),
    ] {
        let scene = Scene::new(IN_SLICES).tester("wrk", &faulty(fault));
        let output = scene.run("--repeat 2 --budget 4s");
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        let failed = |name: &str, start: u32| format!("runs/scene/trials/target={name}/{start}/failed.json");
        let victims: Vec<&str> =
            ["dies", "stays"].into_iter().filter(|name| scene.home.path().join(failed(name, 1)).exists()).collect();
        let [victim] = victims[..] else { panic!("one target fails: {victims:?}\n{}", told(&output)) };
        let failure = scene.json(&failed(victim, 1));
        assert!(failure["why"].as_str().unwrap().contains(why), "{failure}");
        let other = if victim == "dies" { "stays" } else { "dies" };
        let count = |name: &str| slices(&scene).iter().filter(|slice| slice["target"] == name).count();
        assert!(count(other) > count(victim), "the other target goes on: {} and {}", count(other), count(victim));
        for (name, start) in [(other, 1), (victim, 2), (other, 2)] {
            scene.json(&format!("runs/scene/trials/target={name}/{start}/result.json"));
        }
    }
}

#[test]
fn installed_testers_in_slices() {
    for tester in ["wrk", "ab"] {
        let places = ["/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(tester));
        let Some(program) = places.iter().find(|path| path.exists()) else {
            println!("skipped: there is no {tester} here: apt install wrk apache2-utils");
            continue;
        };
        let scene = Scene::new(&IN_SLICES.replace("'wrk'", &format!("'{tester}'")));
        std::os::unix::fs::symlink(program, scene.home.path().join("bin").join(tester)).unwrap();
        // Replies after a while: what is done with them does not depend on how many there are.
        let output = scene.run("--repeat 1 --budget 2s --set path=/delay/0.005");
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let all = slices(&scene);
        assert!(all.len() >= 4, "{all:?}");
        for slice in all {
            let figure = |name: &str| slice[name].as_f64().unwrap_or(0.0);
            assert!(figure("completed") > 0.0 && figure("window_us") > 9e5, "{slice}");
            assert!(figure("server_cpu_us") > 0.0 && figure("generator_cpu_us") > 0.0, "{slice}");
            assert!(figure("busy_us") > figure("window_us") * 0.9 && figure("opened") >= 4.0, "{slice}");
            assert!(slice["latency"]["p50_us"].as_f64().unwrap() > 0.0, "{slice}");
        }
    }
}

#[test]
fn loads_that_a_tester_cannot_make_are_skipped_with_a_remedy() {
    let plan = "[[sweep]]\ntester = ['wrk', 'fortio']\nrate = '1k'\narrival = 'poisson'\n\
                [[sweep]]\ntester = 'h2load'\nkeepalive = false\n";
    let any = "exit 1";
    let scene = Scene::new(&format!("{plan}{EPOLL}")).tester("wrk", any).tester("fortio", any).tester("h2load", any);
    let told = told(&scene.run("--dry-run"));
    for words in [
        "wrk does not support a rate",
        "fortio does not support poisson arrivals",
        "h2load cannot open a connection for each",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    let echo = "[[target]]\nname = 'a'\ncommand = ['bash']\n";
    let scene = Scene::new(&format!("{plan}{echo}")).tester("wrk", any);
    let plan = fs::read_to_string(scene.home.path().join("plan.toml")).unwrap().replace("path = '/hello'\n", "");
    fs::write(scene.home.path().join("plan.toml"), plan).unwrap();
    let told = self::told(&scene.run("--dry-run"));
    assert!(told.contains("wrk speaks HTTP: add path = \"/\""), "{told}");
}

#[test]
fn nginx_is_configured_started_and_stopped() {
    let Some(nginx) = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].iter().find(|path| Path::new(path).exists()) else {
        println!("skipped: there is no nginx here: apt install nginx-light");
        return;
    };
    let fetch = "for word in \"$@\"; do url=$word; done; port=${url#http://127.0.0.1:}; port=${port%%/*}";
    // Uses bash's /dev/tcp as the client.
    let client = "exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 >&2";
    let scene = Scene::new(
        "tester = 'wrk'\n[[target]]\nname = 'nginx'\nnginx = { body = \"size {size} is \\\"here\\\"\\n\" }\n",
    )
    .tester(
        "wrk",
        &format!(
            "{fetch}\nport=$port bash -c \"{}\"\ncat {}",
            client.replace('"', "\\\"").replace('$', "\\$"),
            said("wrk-good.txt")
        ),
    );
    std::os::unix::fs::symlink(nginx, scene.home.path().join("bin/nginx")).unwrap();
    let output = scene.run("");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let trial = scene.home.path().join("runs/scene/trials/target=nginx/1");
    let reply = fs::read_to_string(trial.join("tester.log")).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK") && reply.ends_with("\r\n\r\nsize 100 is \"here\"\n"), "{reply}");
    let config = fs::read_to_string(trial.join("nginx.conf")).unwrap();
    assert!(config.contains("worker_processes 1;") && config.contains("access_log off;"), "{config}");
    let result = scene.json("runs/scene/trials/target=nginx/1/result.json");
    assert!(result["connections"]["opened"].as_u64().unwrap() >= 1, "{}", result["connections"]);
    assert!(result["server"]["threads"].as_u64().unwrap() >= 2, "master and worker: {}", result["server"]);
}

#[test]
fn a_plan_has_files_of_requests_names_of_paths_and_bounds_on_them() {
    let names = "fail_if = ['cart:p50>30s', 'cart:p50>1ns', 'errors>1%']\n";
    let plan = format!(
        "[[phase]]\nname = 'named'\npath = '/hello /echo'\nnames = 'home,cart'\n\
                        [[phase]]\nname = 'file'\nrequest_file = 'data/requests.txt'\nstages = 'c=2@300ms,c=4@300ms'\n{EPOLL}"
    );
    let scene = Scene::new(&plan);
    let file = scene.home.path().join("plan.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::create_dir(scene.home.path().join("plans")).unwrap();
    fs::write(scene.home.path().join("plans/plan.toml"), format!("{names}{text}")).unwrap();
    fs::remove_file(file).unwrap();
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command
            .current_dir(scene.home.path())
            .env("BRUNT_STATE_DIR", "state")
            .args(["run", "plans/plan.toml"])
            .output()
            .unwrap()
    };
    let missing = run();
    assert_eq!(missing.status.code(), Some(2), "{}", told(&missing));
    assert!(
        told(&missing).contains("'data/requests.txt' does not exist (no plans/data/requests.txt)"),
        "{}",
        told(&missing)
    );
    fs::create_dir(scene.home.path().join("plans/data")).unwrap();
    let requests = "GET http://example.net/hello\n\nPOST http://example.net/echo\n";
    fs::write(scene.home.path().join("plans/data/requests.txt"), requests).unwrap();
    let output = run();
    // A bound on a part that the other phase has not is an error of its load.
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let result = scene.json("runs/scene/trials/target=epoll,phase=named/1/result.json");
    let told_names = |result: &serde_json::Value| {
        result["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(told_names(&result), ["home", "cart"]);
    assert!(told(&output).contains("phase=named, repeat 1: cart:p50>1ns: it was"), "{}", told(&output));
    assert!(!told(&output).contains("cart:p50>30s: it was"), "{}", told(&output));
    let plan = fs::read_to_string(scene.home.path().join("plans/plan.toml")).unwrap();
    fs::write(scene.home.path().join("plans/plan.toml"), plan.replace(names, "fail_if = ['p50>1ns']\n")).unwrap();
    fs::remove_dir_all(scene.home.path().join("runs")).unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(99), "{}", told(&output));
    let result = scene.json("runs/scene/trials/target=epoll,phase=file/1/result.json");
    assert_eq!(told_names(&result), ["GET /hello", "POST /echo"]);
    let connections: Vec<f64> =
        result["steps"].as_array().unwrap().iter().map(|step| step["connections"].as_f64().unwrap()).collect();
    assert_eq!(connections, [2.0, 4.0]);
}
