//! docs/guide/fleet.md, typed as it stands on machines of its addresses, but for lengths and rates of loads: from fresh machines to merged
//! results. A command that stands there and is not known here fails.

mod machines;

use super::fleet_ssh::server;
use crate::shared::fleet::is_here;
use brunt_testkit::{Running, Signal, assert_code, text, until};
use machines::{Machine, Network, can_be_made};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

const PAGE: &str = include_str!("../../../../docs/guide/fleet.md");
const BRUNT: &str = env!("CARGO_BIN_EXE_brunt");
/// On the machine of the server.
const SUT: &str = "brunt agent --fleet sut.fleet --targets targets.toml";
/// The machines that ssh reaches.
const PLACES: [(&str, &str); 2] = [("web-1", "10.0.0.11"), ("web-2", "10.0.0.12")];

/// Lines of the fenced blocks that name no language.
fn commands() -> Vec<String> {
    let blocks = PAGE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix('\n'));
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The text of the block that stands first after these words.
fn block(after: &str) -> &str {
    let rest = PAGE.split_once(after).unwrap_or_else(|| panic!("no {after:?}")).1;
    let (_, rest) = rest.split_once("```").unwrap();
    rest.split_once('\n').unwrap().1.split_once("```").unwrap().0
}

/// The command with a load that this machine makes in a second.
fn shortened(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    for at in 1..words.len() {
        match words[at - 1] {
            "-d" => words[at] = "1",
            "-R" => words[at] = "1k",
            "-c" => words[at] = "8",
            _ => (),
        }
    }
    if words[1] == "find" {
        words[1] = "find --from 100 --to 200 --step 1s --confirm 1s --out found";
    }
    let more = match words[1] {
        find if find.starts_with("find") => " --warmup 100ms",
        "load" if words.contains(&"--bearer") => " -k -R 100 -c 4 -d 1",
        _ => "",
    };
    words.join(" ").replace("'p99<6ms'", "'p99<10s'") + more
}

/// It runs there as a user types it, whose PATH has brunt.
fn typed(machine: &Machine, command: &str) -> Command {
    let bin = Path::new(BRUNT).parent().unwrap();
    let mut shell = machine.command();
    shell.args(["bash", "-c", &format!("exec {command}")]);
    shell.env("PATH", format!("{}:{}", bin.display(), env::var("PATH").unwrap()));
    shell
}

#[track_caller]
fn told(machine: &Machine, command: &str, codes: &[i32]) -> (String, Output) {
    let output = Running::start(&mut typed(machine, command)).output();
    assert_code(&output, codes);
    (String::from_utf8_lossy(&output.stdout).into_owned(), output)
}

#[test]
fn every_command_of_the_guide_does_what_the_page_says() {
    if !is_here() || !can_be_made() || !server::is_here() {
        return;
    }
    let names = ["hub", "web-1", "web-2", "web-3", "web-4", "target"];
    let addresses = ["10.0.0.5", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14", "10.0.0.9"];
    let network = Network::new(&std::iter::zip(names, addresses).collect::<Vec<_>>());
    let [hub, web @ .., target] = &network.machines[..] else { panic!() };
    let mut running = vec![serve(target, "10.0.0.9:8080", ""), serve(target, "10.0.0.9:443", " --tls")];
    let of_hub = hub.home.join("state/fleet");
    let (mut is_up, mut all, mut beside_the_server) = (false, 0, None);
    for command in commands() {
        let load = shortened(&command);
        match command.as_str() {
            "brunt fleet up --listen 10.0.0.5:4222 --agents web-1,web-2" => {
                let mut up = Running::start(&mut typed(hub, &command));
                // It tells on stdout.
                up.child().stderr.take();
                up.line_after("fleet at 10.0.0.5:4222");
                running.push(up);
                is_up = true;
            }
            "brunt agent --fleet web-1.fleet --config agent.toml" => {
                assert!(is_up, "the page starts the server first");
                running.extend(
                    std::iter::zip(&web[..2], &names[1..]).map(|(machine, name)| agent(machine, &of_hub, name)),
                );
            }
            "brunt fleet ls" => {
                let (page, _) = told(hub, &command, &[0]);
                assert!(page.contains("web-1") && page.contains("web-2") && page.ends_with("2 agents\n"), "{page}");
            }
            "brunt load http://10.0.0.9:8080/ --on 2 -c 400 -R 100k -d 30" => {
                let (page, _) = told(hub, &load, &[0, 3]);
                assert!(page.contains("2 agents, began within") && page.contains("web-2: "), "{page}");
                let (page, _) = told(hub, "brunt fleet doctor", &[0, 3]);
                assert!(page.contains("web-1: clock"), "{page}");
            }
            "brunt load http://10.0.0.9:8080/ --on ssh://web-1,ssh://web-2 -c 400 -d 30" => {
                over_ssh(hub, &web[..2], &load)
            }
            "brunt load http://10.0.0.9:8080/ --on 2 -c 400 -d 30 --calibrate" => {
                let (page, _) = told(hub, &load, &[0, 3]);
                assert!(page.matches(", ceiling ").count() == 2, "{page}");
            }
            "brunt find --slo 'p99<6ms' http://10.0.0.9:8080/ --on 4 -c 400" => {
                // The page names the first of them.
                for (machine, name) in std::iter::zip(&web[2..], &names[3..]) {
                    told(hub, &format!("brunt fleet key {name}"), &[0]);
                    running.push(agent(machine, &of_hub, name));
                }
                told(hub, &load, &[0, 3]);
                let steps = fs::read_dir(hub.home.join("found/steps")).unwrap().flatten();
                let step = steps.map(|step| step.path()).find(|step| step.is_dir()).expect("a step");
                let result: Value = serde_json::from_slice(&fs::read(step.join("result.json")).unwrap()).unwrap();
                assert_eq!(result["fleet"]["agents"].as_array().unwrap().len(), 4, "{result}");
            }
            "brunt fleet key 'brunt-agent-*'" => {
                told(hub, &command, &[0]);
                assert!(of_hub.join("launches/brunt-agent.fleet").is_file());
            }
            "brunt load http://10.0.0.9:8080/ --meter sut -c 400 -R 100k -d 30" => {
                beside_the_server = Some(server_agent(hub, target, &of_hub));
                let (page, _) = told(hub, &load, &[0, 3]);
                assert!(page.contains("metered by agent sut"), "{page}");
            }
            "brunt load http://10.0.0.9:8080/ --on web-1,web-2 -c 400 -R 100k -d 30 --probe web-3" => {
                let (page, _) = told(hub, &load, &[0, 3]);
                assert!(page.contains("agent web-3 on "), "{page}");
            }
            SUT => assert!(beside_the_server.is_some(), "it has been started"),
            "brunt fleet start sut web" => {
                let mut start = Running::start(&mut typed(hub, &command));
                start.line_after("web is up on the machine of agent sut: 10.0.0.9:");
                start.signal(Signal::INT);
                assert_code(&start.output(), &[0]);
                // It makes no load.
                beside_the_server = None;
            }
            // Kubernetes and Slurm have tests of their own.
            _ if command.starts_with("kubectl") || command.starts_with("sbatch") => (),
            _ if command.starts_with("brunt fleet launch ") => {
                let (printing, _) = command.split_once(['|', '>']).unwrap();
                assert!(!told(hub, printing, &[0]).0.is_empty());
            }
            _ => panic!("no test for '{command}' of docs/guide/fleet.md"),
        }
        all += 1;
    }
    assert!(all >= 10, "{all} commands");
    with_a_secret(hub, web);
    // Those of the sentences.
    for (command, needle) in [("brunt fleet ps", "no agent has a load"), ("brunt fleet stop all", "")] {
        assert!(PAGE.contains(&format!("`{command}`")), "{command}");
        let output = Running::start(&mut typed(hub, command)).output();
        assert!(
            output.status.code().is_some_and(|code| code <= 1) && text(&output).contains(needle),
            "{}",
            text(&output)
        );
    }
}

/// What the guide loads.
#[track_caller]
fn serve(target: &Machine, listen: &str, flags: &str) -> Running {
    let mut server = Running::start(&mut typed(target, &format!("brunt serve http --listen {listen}{flags}")));
    server.line_after("http on");
    server
}

/// An agent with the two files of the page.
#[track_caller]
fn agent(machine: &Machine, of_hub: &Path, name: &str) -> Running {
    let file = format!("{name}.fleet");
    fs::copy(of_hub.join("agents").join(&file), machine.home.join(&file)).unwrap();
    let secrets = machine.home.join("secrets");
    fs::create_dir_all(&secrets).unwrap();
    fs::write(secrets.join("token"), "a-secret\n").unwrap();
    let settings = [block("with what its owner allows"), block("An agent without it refuses the load.")].concat();
    let settings = settings.replace("/etc/brunt/secrets", &secrets.display().to_string());
    fs::write(machine.home.join("agent.toml"), settings).unwrap();
    let mut agent = Running::start(&mut typed(machine, &format!("brunt agent --fleet {file} --config agent.toml")));
    agent.line_after("is ready");
    agent
}

/// The agent on the machine of the server, with the targets of the page.
#[track_caller]
fn server_agent(hub: &Machine, target: &Machine, of_hub: &Path) -> Running {
    assert!(PAGE.contains("`brunt fleet key sut`"));
    told(hub, "brunt fleet key sut", &[0]);
    fs::copy(of_hub.join("agents/sut.fleet"), target.home.join("sut.fleet")).unwrap();
    let targets = block("those of a plan, by their names.");
    let server = format!("\"{BRUNT}\", \"serve\", \"http\"");
    fs::write(target.home.join("targets.toml"), targets.replace("\"/opt/web/server\"", &server)).unwrap();
    let mut agent = Running::start(&mut typed(target, SUT));
    agent.line_after("is ready");
    agent
}

/// With an sshd on each machine.
#[track_caller]
fn over_ssh(hub: &Machine, web: &[Machine], command: &str) {
    let keys = server::Server::start("");
    let (path, mut hosts) = (keys.home.path().display().to_string(), String::new());
    let servers: Vec<Running> =
        web.iter().zip(PLACES).map(|(machine, (_, address))| keys.another(machine.command(), address)).collect();
    for (name, address) in PLACES {
        hosts += &format!("Host {name}\nHostName {address}\n");
    }
    fs::write(keys.home.join("hosts"), format!("{hosts}Match all\nInclude {path}/ssh_config\n")).unwrap();
    let ssh = format!("ssh -F {path}/hosts -i {path}/user");
    for (name, address) in PLACES {
        until(name, || {
            let mut there = hub.command();
            there.args(["bash", "-c", &format!(": </dev/tcp/{address}/{}", keys.port)]);
            there.output().unwrap().status.success()
        });
    }
    let mut load =
        typed(hub, &command.replace("web-1", &format!("web-1{BRUNT}")).replace("web-2", &format!("web-2{BRUNT}")));
    let output = Running::start(load.env("BRUNT_SSH", ssh)).output();
    assert_code(&output, &[0, 3]);
    assert!(text(&output).contains("web-2-2: "), "{}", text(&output));
    drop(servers);
}

/// The load of the section on secrets, which stands within a sentence.
#[track_caller]
fn with_a_secret(hub: &Machine, web: &[Machine]) {
    let command = "brunt load https://10.0.0.9/ --bearer token --on 2";
    assert!(PAGE.contains(&format!("`{command}`")) && web.len() == 4);
    let (page, _) = told(hub, &shortened(command), &[0, 3]);
    assert!(page.contains("2 agents"), "{page}");
}
