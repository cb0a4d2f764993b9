//! Errors in plans: each message points at the place and names a remedy.

use brunt_lab::plan::read;

const GOOD: &str = r#"name = "x"

[load]
connections = 80

[sweep]
size = ["100B", "1KiB"]

[[target]]
name = "mine"
command = ["server", "--listen", "{listen}"]
"#;

/// The message for [`GOOD`] with one passage replaced.
#[track_caller]
fn mistake(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the good plan has no {from}");
    let text = GOOD.replacen(from, to, 1);
    read("x.toml", &text).expect_err(&text).to_string()
}

#[track_caller]
fn assert_mistake(from: &str, to: &str, expected: &str) {
    assert_eq!(mistake(from, to), expected.trim_start_matches('\n'));
}

#[test]
fn the_good_plan_is_good() {
    let plan = read("x.toml", GOOD).unwrap();
    assert_eq!(plan.sweeps[0].axes[0].values, ["100B", "1KiB"]);
    assert_eq!((plan.repeats, plan.seed), (3, 1));
}

#[test]
fn an_unknown_key_is_reported_with_the_closest_name() {
    assert_mistake(
        "connections = 80",
        "conections = 80",
        "
x.toml:4:1: unknown key 'conections' in [load]; did you mean 'connections'?
 4 | conections = 80
   | ^^^^^^^^^^",
    );
    assert_mistake(
        "name = \"x\"",
        "name = \"x\"\nrepeat = 5",
        "
x.toml:2:1: unknown key 'repeat'; did you mean 'repeats'?
 2 | repeat = 5
   | ^^^^^^",
    );
    assert_mistake(
        "command",
        "comand",
        "
x.toml:11:1: unknown key 'comand' in [[target]]; did you mean 'command'?
 11 | comand = [\"server\", \"--listen\", \"{listen}\"]
    | ^^^^^^",
    );
}

#[test]
fn an_unused_axis_is_reported_with_the_closest_name() {
    assert_mistake(
        "size = [",
        "szie = [",
        "
x.toml:7:1: no target uses {szie}, so the axis 'szie' would change nothing; did you mean 'size'?
 7 | szie = [\"100B\", \"1KiB\"]
   | ^^^^",
    );
}

#[test]
fn an_invalid_value_is_reported_with_valid_forms() {
    assert_mistake(
        "\"1KiB\"",
        "\"1KB\"",
        "
x.toml:7:17: size: '1KB' is not a size such as 100B, 1KiB or 2MiB
 7 | size = [\"100B\", \"1KB\"]
   |                 ^^^^^",
    );
    assert_mistake(
        "connections = 80",
        "connections = 80\nduration = 3",
        "
x.toml:5:12: duration: '3' is not a time such as 50us, 10ms, 1.5s, 2m or 1h30m
 5 | duration = 3
   |            ^",
    );
    assert_mistake(
        "connections = 80",
        "connections = [80, 90]",
        "
x.toml:4:15: connections takes one value; several belong in [sweep]
 4 | connections = [80, 90]
   |               ^^^^^^^^",
    );
}

#[test]
fn an_unknown_placeholder_is_reported() {
    assert_mistake(
        "{listen}",
        "{lisen}",
        "
x.toml:11:34: unknown placeholder {lisen}; did you mean 'listen'?
 11 | command = [\"server\", \"--listen\", \"{lisen}\"]
    |                                  ^^^^^^^^^",
    );
}

// Over 60 lines: a table of the errors.
#[test]
fn every_other_error_names_a_remedy() {
    for (from, to, expected) in [
        ("name = \"x\"\n", "", "add name = "),
        ("name = \"x\"", "name = \"a/b\"", "x.toml:1:8: name 'a/b' must be"),
        ("connections = 80", "connections = 80\nconnections_per_core = 4", "exclude each other"),
        ("connections = 80", "", "the number of connections is not set"),
        ("[\"100B\", \"1KiB\"]", "[]", "size has no values"),
        ("[\"100B\", \"1KiB\"]", "[1024, \"1KiB\"]", "size: 1KiB is listed twice"),
        ("[sweep]", "[sweep]\n'a b' = [1]", "'a b' cannot name an axis: up to 32 letters, digits, - and _"),
        (
            "size = [",
            "Size = [",
            "no target uses {Size}, so the axis 'Size' would change nothing; did you mean 'size'?",
        ),
        ("[sweep]", "[sweep]\nport = [1]", "'port' is reserved"),
        ("[[target]]", "[target]", "[[target]], in double brackets"),
        ("command = [\"server\", \"--listen\", \"{listen}\"]", "", "neither serve, command, nginx nor on"),
        ("command = [\"server\"", "serve = {}\ncommand = [\"server\"", "serve needs a service and a model"),
        ("command = [\"server\", \"--listen\", \"{listen}\"]", "command = \"server\"", "no shell reads it"),
        ("command = [\"server\"", "ready = \"log\"\ncommand = [\"server\"", "ready 'log' is not known"),
        ("command = [", "serve = { service = \"echo\", model = \"urin\" }\n#", "did you mean 'uring'?"),
        ("command = [", "serve = { service = \"echo\", model = \"epol-each\" }\n#", "did you mean 'epoll-each'?"),
        (
            "command = [",
            "serve = { service = \"http\", model = \"pool\" }\n#",
            "http has no model 'pool'; known are uring, epoll, tokio",
        ),
        (
            "name = \"mine\"",
            "name = \"mine\"\ncommand = [\"a\"]\n[[target]]\nname = \"mine\"",
            "two targets have the name 'mine'",
        ),
        ("size = [", "size = [\"1B\"]\nsize = [", "duplicate key"),
        ("connections = 80", "connections = 80\ntester = \"wrq\"", "'wrq' is not a tester; did you mean 'wrk'?"),
        ("connections = 80", "connections = 80\npath = \"x\"", "'x' is not a path"),
        (
            "connections = 80",
            "connections = 80\npath = \"/{sise}\"",
            "x.toml:5:8: unknown placeholder {sise}; did you mean 'size'?",
        ),
        ("connections = 80", "connections = 80\nkeepalive = 1", "'1' is neither true nor false"),
        ("connections = 80", "connections = 80\nvary = \"4k\"", "x.toml:5:8: vary is of HTTP requests: add path"),
        ("[sweep]", "[sweep]\nvary = [1, \"4k\"]", "x.toml:7:1: vary is of HTTP requests"),
        ("[load]", "[[phase]]\nname = \"a\"\nvary = 2\n[load]", "x.toml:5:1: vary is of HTTP requests"),
        ("connections = 80", "connections = 80\nvary = 0", "vary: '0' is not a count from 1 to 1048576"),
        ("size = [", "path = [\"/a\", \"/b\"]\nsize = [", "path cannot be an axis"),
        ("[load]", "[testers]\nwrq = []\n[load]", "'wrq' is not a tester; did you mean 'wrk'?"),
        ("[load]", "[testers]\nwrk = \"-t2\"\n[load]", "wrk must be a list of texts"),
        ("command = [", "nginx = { text = \"a\" }\n#", "unknown key 'text' in nginx"),
        ("command = [", "nginx = {}\n#", "nginx needs a body"),
        ("command = [", "nginx = { body = \"5 $\" }\n#", "interprets $"),
        ("command = [", "nginx = { body = \"a\" }\n#", "target 'mine' speaks HTTP: add path"),
        ("command = [", "serve = { service = \"http\", model = \"epoll\" }\n#", "target 'mine' speaks HTTP: add path"),
        (
            "connections = 80\n\n[sweep]\nsize = [\"100B\", \"1KiB\"]\n\n[[target]]\nname = \"mine\"\n",
            "connections = 80\npath = \"/\"\n[[target]]\nname = \"mine\"\nserve = { service = \"echo\", model = \"epoll\" }\n#",
            "target 'mine' speaks no HTTP",
        ),
        ("[load]", "[load", "x.toml:3"),
        ("[sweep]", "[sweep]\nphase = [1]", "'phase' is reserved"),
        (
            "[sweep]",
            "[sweep]\nwhen = { siez = 1 }",
            "x.toml:7:10: 'siez' is not a value of cells; did you mean 'size'?",
        ),
        ("[sweep]", "[sweep]\nexcept = { size = \"2KiB\" }", "no cell has size=2KiB; known are 100B, 1KiB"),
        ("[sweep]", "[sweep]\nexcept = { rate = \"2k\" }", "no cell has rate=2k; known are max"),
        ("[sweep]", "[sweep]\nexcept = { phase = \"warm\" }", "'phase' is not a value of cells"),
        ("[sweep]", "[sweep]\nwhen = {}", "when names no value, so it would match every cell"),
        ("[sweep]", "[sweep]\nexcept = { size = [] }", "except names no value, so it would match none"),
        ("[sweep]", "[sweep]\nexcept = []", "except is an empty list"),
        ("[sweep]", "[sweep]\nwhen = \"size\"", "when must be a table such as"),
        ("[sweep]", "[sweep]\nexcept = { target = \"mnie\" }", "no cell has target=mnie; did you mean 'mine'?"),
        ("command = [", "when = { target = \"mine\" }\ncommand = [", "'target' is not a value of cells"),
        ("command = [", "before = \"make\"\ncommand = [", "before must be a list of words"),
        ("command = [", "after = []\ncommand = [", "after names no program"),
        (
            "command = [",
            "after = [\"rm\", \"{prot}\"]\ncommand = [",
            "unknown placeholder {prot}; did you mean 'port'?",
        ),
        ("command = [", "hook_timeout = 5\ncommand = [", "hook_timeout: '5' is not a time"),
        ("command = [", "pin = \"3-1\"\ncommand = [", "pin: '3-1' is not a list of cores"),
        ("command = [", "pin = 1\ncommand = [", "pin takes true, false or a list of cores"),
        (
            "command = [",
            "limits = { nofiles = 5 }\ncommand = [",
            "unknown key 'nofiles' in limits; did you mean 'nofile'?",
        ),
        ("command = [", "limits = { nofile = 1 }\ncommand = [", "nofile is too small for any server: the minimum is 5"),
        (
            "command = [",
            "limits = { memory = \"1KiB\" }\ncommand = [",
            "memory is too small for any server: the minimum is 1MiB",
        ),
        ("[load]", "[phase]\nname = \"a\"\n[load]", "x.toml:3:2: phase is written as [[phase]], in double brackets"),
        ("[load]", "[[phase]]\nrate = 5\n[load]", "this phase has no name"),
        ("[load]", "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"a\"\n[load]", "two phases have the name 'a'"),
        ("[load]", "[[phase]]\nname = \"a\"\nrat = 5\n[load]", "unknown key 'rat' in [[phase]]; did you mean 'rate'?"),
        ("[load]", "[[phase]]\nname = \"a\"\nserver_cores = 2\n[load]", "no phase can change it"),
        ("[load]", "[[phase]]\nname = \"a\"\nsize = \"1B\"\n[load]", "[sweep] varies size"),
        ("[load]", "[[phase]]\nname = \"a\"\nrate = 1\nrate_per_core = 1\n[load]", "exclude each other"),
        ("[load]", "[[phase]]\nname = \"a\"\npath = \"/\"\n[load]", "path can only replace another path"),
        (
            "[load]",
            "[[phase]]\nname = \"a\"\nrate = \"50%\"\n[load]",
            "x.toml:5:8: 50% is a share of the cell's rate, and cells have none: add rate to [load] or to every [[sweep]]",
        ),
        (
            "[sweep]",
            "[[phase]]\nname = \"a\"\nrate = \"50%\"\n[sweep]\nrate = [\"max\", \"9k\"]",
            "50% is a share of the cell's rate, and cells with rate=max have none: leave max out of rate",
        ),
        (
            "[load]",
            "[[phase]]\nname = \"a\"\nrate = \"0%\"\n[load]",
            "'0%' is not a share of the cell's rate: above 0%",
        ),
        ("[load]", "[[phase]]\nname = \"a\"\nrate = \"half%\"\n[load]", "'half%' is not a share of the cell's rate"),
        ("[load]", "[[phase]]\nname = \"a\"\nrate_per_core = \"50%\"\n[load]", "write rate = \"50%\""),
        ("[load]", "[load]\nrate = \"50%\"", "'50%' is not a rate"),
        ("[load]", "[[override]]\nset = { rate = 5 }\n[load]", "this override has neither when nor except"),
        ("[load]", "[[override]]\nwhen = { size = \"100B\" }\n[load]", "this override sets nothing"),
        (
            "[load]",
            "[[override]]\nwhen = { size = \"100B\" }\nset = { rat = 1 }\n[load]",
            "unknown key 'rat' in set; did you mean 'rate'?",
        ),
        ("[load]", "[[override]]\nwhen = { size = \"100B\" }\nset = { size = \"9B\" }\n[load]", "[sweep] varies size"),
        ("[load]", "[[override]]\nwhen = { size = \"100B\" }\nsett = { rate = 1 }\n[load]", "did you mean 'set'?"),
        ("[load]", "[testers]\nwrk = [\"{sise}\"]\n[load]", "unknown placeholder {sise}; did you mean 'size'?"),
        ("connections = 80", "connections = 99999999999999", "'99999999999999' is not a count"),
    ] {
        let message = mistake(from, to);
        assert!(message.contains(expected), "{to:?} gave\n{message}\nwithout {expected:?}");
    }
}

#[test]
fn too_many_cells_are_rejected_before_they_are_built() {
    let values: Vec<String> = (1..200).map(|n| n.to_string()).collect();
    let axes = ["a", "b", "c", "d", "e"].map(|axis| format!("{axis} = [{}]", values.join(",")));
    let command = "command = [\"s\", \"{a}{b}{c}{d}{e}\"]";
    let text = GOOD.replace("size = [\"100B\", \"1KiB\"]", &axes.join("\n"));
    let text = text.replace("command = [\"server\", \"--listen\", \"{listen}\"]", command);
    let message = read("x.toml", &text).unwrap_err().to_string();
    assert!(message.contains("more than 10000"), "{message}");
}

#[test]
fn a_custom_axis_must_be_in_every_sweep() {
    let text = "name = 'x'\n[load]\nconnections = 1\n[[sweep]]\nbacklog = [1, 2]\n[[sweep]]\nsize = 5\n[[target]]\nname = 't'\ncommand = ['s', '{backlog}']\n";
    let message = read("x.toml", text).unwrap_err().to_string();
    assert!(message.contains("{backlog} is not an axis of every [[sweep]]"), "{message}");
    assert!(read("x.toml", &text.replace("size = 5", "size = 5\nbacklog = 7")).is_ok());
}

#[test]
fn an_axis_may_be_used_only_in_the_path() {
    let text = "name = 'x'\n[load]\nconnections = 1\npath = '/{page}?{{}}'\n[sweep]\npage = ['a', 'b']\n\
                [[target]]\nname = 't'\ncommand = ['s']\n";
    assert_eq!(read("x.toml", text).unwrap().load.path.as_deref(), Some("/{page}?{{}}"));
    let message = read("x.toml", &text.replace("{page}", "page")).unwrap_err().to_string();
    assert!(message.contains("the axis 'page' would change nothing"), "{message}");
}

#[test]
fn a_command_cannot_use_a_value_in_which_phases_differ() {
    let text = "name = 'x'\n[load]\nconnections = 1\n[[phase]]\nname = 'few'\n[[phase]]\nname = 'many'\nconnections_per_core = 9\n\
                [[target]]\nname = 't'\ncommand = ['s', '{connections}']\n";
    let message = read("x.toml", text).unwrap_err().to_string();
    assert!(
        message.starts_with("x.toml:11:17: {connections} has no single value here: the phases differ in"),
        "{message}"
    );
    assert!(read("x.toml", &text.replace("'{connections}'", "'{rate}'")).is_ok());
    // Only an override that filters by phase makes phases differ.
    let text = text
        .replace("connections_per_core = 9\n", "[[override]]\nwhen = { phase = 'many' }\nset = { connections = 9 }\n");
    let message = read("x.toml", &text).unwrap_err().to_string();
    assert!(message.contains("{connections} has no single value here"), "{message}");
    assert!(read("x.toml", &text.replace("phase = 'many'", "target = 't'")).is_ok());
    let message =
        read("x.toml", &text.replace("set = { conn", "set = { server_cores = 2, conn")).unwrap_err().to_string();
    assert!(message.contains("server_cores is fixed when the target is started"), "{message}");
}
