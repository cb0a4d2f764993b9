//! Plans of `brunt colocate run` that name what this machine does not have: nothing is started, and nothing is left.

use std::process::{Command, id};
use std::{fs, net};

const PLAN: &str = r#"out = "out"
[service]
pid = OWN
slo = "p99<6ms"
[source]
file = "counts.jsonl"
[[job]]
command = ["true"]
"#;

#[test]
fn what_is_not_on_this_machine_is_refused_with_the_key_and_leaves_nothing() {
    let home = brunt_testkit::home();
    let plan = PLAN.replace("OWN", &id().to_string());
    let pid = format!("pid = {}", id());
    let free = net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (from, to, flags, said) in [
        (&*pid, "pid = 0", "", "plan.toml: [service] pid = 0: "),
        (&*pid, "pid = 4194305", "", "plan.toml: [service] pid = 4194305: "),
        (&*pid, &*format!("listen = \"{free}\""), "", "[service] listen = "),
        (&*pid, "cgroup = \"/no/group\"", "", "[service] cgroup = \"/no/group\": No such file or directory"),
        (&*pid, "cgroup = \"/proc\"", "", "[service] cgroup = \"/proc\": it has no account of CPU time"),
        (&*pid, "command = [\"/no/server\"]", "", "[service] command: /no/server: there is no such program"),
        (
            "file = \"counts.jsonl\"",
            "command = [\"no-such-program\"]",
            "",
            "[source] command: no-such-program: there is",
        ),
        ("[service]", "cores = \"4000\"\n[service]", "", "plan.toml: cores: there is no core 4000 for this process"),
        ("[service]", "floor = 4000\n[service]", "", "plan.toml: floor = 4000: jobs have "),
        (
            "[[job]]",
            "[limits.disk]\nplace = \"/no/disk\"\nrate = \"1MiB\"\n[[job]]",
            "",
            "[limits] disk /no/disk: No such file",
        ),
        (
            "[[job]]",
            "[limits.network]\ninterfaces = [\"none0\"]\nfloor = \"1MiB\"\n[[job]]",
            "",
            "[limits] interface 'none0': there is none; ip link lists them",
        ),
        ("p99<6ms", "fast", "", "plan.toml:4: 'fast' is not a limit of one percentile"),
        ("[[job]]", "[[jobs]]", "", "plan.toml:7: unknown field `jobs`"),
        ("[[job]]", "[[job]]", "--policy static=4000", "policy static = 4000: jobs have "),
        ("[[job]]", "[[job]]", "--time 0s", "--time 0s: a run has to last"),
    ] {
        fs::write(home.path().join("plan.toml"), plan.replacen(from, to, 1)).unwrap();
        let flags: Vec<&str> = flags.split_whitespace().collect();
        for dry_run in [None, Some("--dry-run")] {
            let mut run = Command::new(env!("CARGO_BIN_EXE_brunt"));
            run.args(["colocate", "run", "plan.toml"]).args(&flags).args(dry_run);
            let output =
                run.current_dir(home.path()).env("BRUNT_STATE_DIR", home.path().join("state")).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{to} {flags:?} {dry_run:?}: {stderr}");
            assert!(stderr.contains(said) && stderr.lines().count() == 1, "{to} {flags:?} {dry_run:?}: {stderr}");
            assert!(!home.path().join("out").exists(), "{to} {flags:?}: a directory is left");
        }
    }
}
