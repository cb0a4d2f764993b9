//! The published JSON Schema of plans is current and agrees with the parser, and the commented example has every key.
//! To regenerate it: `UPDATE_SCHEMA=1 cargo test -p brunt-lab --test all plan_schema`.

use brunt_lab::plan::key::Key;
use brunt_lab::plan::keys::{
    CO_RUNNER, COLOCATION, LIMITS, NGINX, OVERRIDE, PHASE, PLAN, SERVE, SERVICE, SETTINGS, TARGET, names,
};
use brunt_lab::plan::read;
use brunt_lab::plan::schema::json_schema;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn clone(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn example() -> String {
    fs::read_to_string(clone("experiments/example.toml")).unwrap()
}

#[test]
fn the_published_schema_is_current() {
    let path = clone("docs/schema/plan.schema.json");
    let mut current = serde_json::to_string_pretty(&json_schema()).unwrap();
    current.push('\n');
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    let remedy = "UPDATE_SCHEMA=1 cargo test -p brunt-lab --test all plan_schema";
    assert!(published == current, "docs/schema/plan.schema.json is stale: {remedy}");
}

/// The keys of these tables, all together.
fn keys_of<'a>(tables: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    tables.into_iter().filter_map(Value::as_object).flat_map(|table| table.keys().cloned()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn the_example_explains_every_key() {
    let text = example();
    let plan: Value = toml::from_str(&text).unwrap();
    let (sweeps, phases, overrides) = (list(&plan["sweep"]), list(&plan["phase"]), list(&plan["override"]));
    let targets = list(&plan["target"]);
    let within = |key: &'static str| targets.iter().map(move |target| &target[key]);
    let settings = [&plan["load"]].into_iter().chain(sweeps).chain(phases);
    let expected: [(&[Key], BTreeSet<String>); 10] = [
        (PLAN, keys_of([&plan])),
        (SETTINGS, keys_of(settings)),
        (OVERRIDE, keys_of(overrides)),
        (TARGET, keys_of(targets)),
        (SERVE, keys_of(within("serve"))),
        (NGINX, keys_of(within("nginx"))),
        (LIMITS, keys_of(within("limits"))),
        (SERVICE, keys_of(within("service"))),
        (COLOCATION, keys_of([&plan["colocation"]])),
        (CO_RUNNER, keys_of(list(&plan["co_runner"]))),
    ];
    assert!(keys_of(phases).contains(PHASE[0].name) && keys_of(sweeps).contains("when"));
    let lines: Vec<&str> = text.lines().collect();
    for (keys, present) in expected {
        // `retries` has no effect and is accepted for old plans.
        for name in names(keys).into_iter().filter(|name| *name != "retries") {
            // Excludes another key of the example, or names a file.
            let is_commented = |line: &&str| line.starts_with(&format!("# {name} = ")) && line[2..].contains("# ");
            if lines.iter().any(is_commented) {
                continue;
            }
            assert!(present.contains(name), "experiments/example.toml has no {name}");
            let is_head = |line: &str| line == format!("[{name}]") || line == format!("[[{name}]]");
            let is_here = |line: &str| is_head(line) || line.split([' ', '{']).any(|word| word == name);
            let is_said = lines.iter().enumerate().any(|(at, line)| {
                let above = at.checked_sub(1).is_some_and(|above| lines[above].starts_with('#'));
                !line.starts_with('#') && is_here(line) && (above || line.contains("# "))
            });
            assert!(is_said, "experiments/example.toml says nothing about {name}");
        }
    }
}

#[test]
fn plans_in_the_guide_are_valid() {
    for (page, count) in [("docs/guide/run.md", 6), ("docs/reference/testers.md", 1)] {
        let text = fs::read_to_string(clone(page)).unwrap();
        let blocks: Vec<&str> = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert_eq!(blocks.len(), count, "{page}");
        // A block without a name continues the plan before it.
        let mut whole = String::from("name = \"x\"\n");
        for block in blocks {
            whole = if block.starts_with("name = ") { block.to_owned() } else { format!("{whole}\n{block}") };
            read(page, &whole).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

/// Errors of each document by Python's `jsonschema`; `None` if that is not installed.
fn validated(documents: &[Value]) -> Option<Vec<Option<String>>> {
    const SCRIPT: &str = "import json, sys, jsonschema\n\
        schema, documents = json.load(sys.stdin)\n\
        jsonschema.Draft202012Validator.check_schema(schema)\n\
        check = jsonschema.Draft202012Validator(schema)\n\
        error = lambda d: next((e.json_path + ': ' + e.message for e in check.iter_errors(d)), None)\n\
        json.dump([error(d) for d in documents], sys.stdout)\n";
    let has = Command::new("python3").args(["-c", "import jsonschema"]).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("BRUNT_JSONSCHEMA").is_none(), "no python3 with jsonschema here");
        println!("skipped: no python3 with jsonschema here");
        return None;
    }
    let mut python = Command::new("python3");
    let mut python =
        python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 was there");
    let mut stdin = python.stdin.take().unwrap();
    stdin.write_all(json!([json_schema(), documents]).to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "the schema itself is wrong");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn every_plan_in_the_tree_matches_the_schema() {
    let entries = fs::read_dir(clone("experiments")).unwrap().map(|entry| entry.unwrap().path());
    let plans: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    let documents: Vec<Value> =
        plans.iter().map(|path| toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect();
    let Some(errors) = validated(&documents) else { return };
    for (path, error) in plans.iter().zip(errors) {
        assert_eq!(error, None, "{}", path.display());
    }
}

/// The example with one passage replaced.
fn changed(from: &str, to: &str) -> String {
    let text = example();
    assert!(text.contains(from), "the example has no {from}");
    text.replacen(from, to, 1)
}

#[test]
fn the_schema_rejects_forms_that_the_parser_rejects() {
    let refused = [
        ("repeats = 1 ", "repeat = 1 "),
        ("repeats = 1 ", "repeats = 0 "),
        ("repeats = 1 ", "repeats = \"1\" "),
        ("name = \"example\"", "name = \"a/b\""),
        ("name = \"example\"", "naem = \"example\""),
        ("keepalive = true", "keepalife = true"),
        ("keepalive = true", "keepalive = 3"),
        ("vary = 1 ", "vary = true "),
        ("timeout = \"2s\"", "timeout = 2"),
        ("timeout = \"2s\"", "timeout = \"2\""),
        ("tester = \"brunt\"", "tester = \"wrq\""),
        ("client_cores = 1 ", "client_cores = \"some\" "),
        ("path = \"/", "path = \""),
        ("size = [\"100B\", \"1KiB\"]", "size = [\"100B\", \"1KB\"]"),
        ("size = [\"100B\", \"1KiB\"]", "size = []"),
        ("size = [\"100B\", \"1KiB\"]", "port = [1]\nsize = [\"100B\", \"1KiB\"]"),
        ("size = [\"100B\", \"1KiB\"]", "'the size' = [\"100B\", \"1KiB\"]"),
        ("except = { size = \"1KiB\", target = \"nginx\" }", "except = []"),
        ("except = { size = \"1KiB\", target = \"nginx\" }", "except = {}"),
        ("except = { size = \"1KiB\", target = \"nginx\" }", "except = \"nginx\""),
        ("rate_per_core = \"2k\"", "rate_per_cor = \"2k\""),
        ("rate_per_core = \"2k\"", "server_cores = 2"),
        ("arrival = \"poisson\"", "arrival = \"bursty\""),
        ("name = \"warm\"", "# no name"),
        ("set = { duration", "sett = { duration"),
        ("set = { duration", "set = { lenght"),
        ("pin = false", "pin = 3"),
        ("pin = false", "pin = \"all\""),
        ("nofile = \"4k\"", "nofiles = \"4k\""),
        ("body = \"", "text = \""),
        ("service = \"http\"", "service = \"htttp\""),
        ("model = \"epoll\", ", ""),
        ("hook_timeout = \"30s\"", "hook_timeout = 30"),
        ("before = [\"sh\"", "before = []\nbefor = [\"sh\""),
        ("command = [", "serve = { service = \"http\", model = \"epoll\" }\ncommand = ["),
        ("command = [", "# ["),
        ("ready = \"connect\"", "ready = \"log\""),
        ("env = { RUST_LOG", "env = { \"A=B\""),
        ("env = { RUST_LOG = \"off\"", "env = { RUST_LOG = [\"off\"]"),
        ("wrk = [", "wrq = ["),
        ("wrk = [\"--latency\"]", "wrk = \"--latency\""),
    ];
    for (from, to) in refused {
        let text = changed(from, to);
        assert!(read("example.toml", &text).is_err(), "the reader takes {to}");
    }
    // A duplicate key is invalid TOML; every other case is a document.
    let documents: Vec<Value> = refused.iter().map(|(from, to)| toml::from_str(&changed(from, to)).unwrap()).collect();
    let Some(errors) = validated(&documents) else { return };
    for ((_, to), error) in refused.iter().zip(errors) {
        assert!(error.is_some(), "the schema takes {to}");
    }
}

#[test]
fn the_schema_accepts_forms_that_the_parser_accepts() {
    let mut taken = Vec::new();
    for (from, values) in [
        ("timeout = \"2s\"", &["\"1.5s\"", "\"1500ms\"", "\"2m\"", "\"1h\"", "\"50000us\""][..]),
        ("client_cores = 1 ", &["\"4x\"", "\"rest\"", "\"2\"", "3"]),
        ("keepalive = true", &["false", "\"true\""]),
        ("vary = 1 ", &["\"4k\"", "1000"]),
        ("connections_per_core = 20 ", &["\"20\"", "\"2k\"", "1_000", "20.0"]),
        ("rate_per_core = \"2k\"", &["\"max\"", "2000", "0.5", "\"20k/s\"", "\".5\"", "\"1M\""]),
        ("size = \"100B\"", &["100", "\"1Ki\"", "\"2MiB\"", "[\"0.5KiB\"]", "\"100\""]),
        ("pin = false", &["true", "\"0,2-3\"", "\"1\""]),
        ("warmup = \"0s\"", &["0", "\"0\"", "\"1s\""]),
        ("seed = 1 ", &["0x10", "0"]),
    ] {
        let key = from.split(' ').next().unwrap();
        taken.extend(values.iter().map(|value| (from, format!("{key} = {value} "))));
    }
    for (from, to) in &taken {
        read("example.toml", &changed(from, to)).unwrap_or_else(|fault| panic!("{fault}"));
    }
    let documents: Vec<Value> = taken.iter().map(|(from, to)| toml::from_str(&changed(from, to)).unwrap()).collect();
    let Some(errors) = validated(&documents) else { return };
    for ((_, to), error) in taken.iter().zip(errors) {
        assert_eq!(error, None, "{to}");
    }
}
