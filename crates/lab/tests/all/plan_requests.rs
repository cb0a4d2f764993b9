//! Plans with files of requests, replays, stages and names: as arguments of `brunt load`, and what they exclude.

use brunt_lab::plan::read;
use brunt_lab::run::endpoint::Endpoint;
use brunt_lab::schedule::{Machine, Schedule};
use brunt_lab::testers::Tester;
use std::collections::BTreeMap;
use std::path::Path;

fn plan(load: &str) -> String {
    format!("name = 'p'\norder = 'trials'\n[load]\n{load}\n[[target]]\nname = 'a'\ncommand = ['s', '{{port}}']\n")
}

/// The arguments of `brunt load` for the only cell of the plan.
fn words(load: &str) -> String {
    let plan = read("p.toml", &plan(load)).unwrap();
    let machine = Machine { cores: vec![0, 1, 2, 3], open_files: 20_000 };
    let schedule = Schedule::new(&plan, &machine, &BTreeMap::new(), &[]).unwrap();
    let cell = schedule.selected().into_iter().next().unwrap().clone();
    Tester::brunt("brunt").args(&cell, &Endpoint::here(80, 7), 1, Path::new("out")).unwrap().join(" ") + " "
}

fn refused(load: &str, says: &str) {
    let error = read("p.toml", &plan(load)).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[test]
fn stages_take_the_place_of_rate_or_connections_and_of_the_duration() {
    let of_rate = words("connections = 8\nstages = '1k@1s,1k:5k@2s'");
    assert!(of_rate.contains(" --stages 1k@1s,1k:5k@2s ") && of_rate.contains(" -c 8 "), "{of_rate}");
    assert!(!of_rate.contains(" -R ") && !of_rate.contains(" -d "), "{of_rate}");
    let of_connections = words("stages = 'c=10@1s,c=10:200@2s'");
    assert!(of_connections.contains(" --stages c=10@1s,c=10:200@2s "), "{of_connections}");
    for other in [" -c ", " -R ", " -d "] {
        assert!(!of_connections.contains(other), "{of_connections}");
    }
    refused("connections = 8\nstages = '1k@1s'\nrate = '1k'", "stages and rate exclude each other");
    refused("connections = 8\nstages = '1k@1s'\nduration = '1s'", "stages and duration exclude each other");
    refused("connections = 8\nstages = '1k'", "5k@1m");
    refused("connections = 8\nstages = '1k@1s'\n[sweep]\nrate = ['1k', '2k']", "varies rate, which stages");
    refused("connections = 8\n[sweep]\nstages = ['1k@1s', '2k@1s']", "stages cannot be an axis");
    let sliced = plan("connections = 8\nstages = '1k@1s'").replace("'trials'", "'slices'");
    let sliced = format!("{sliced}[[target]]\nname = 'b'\ncommand = ['s', '{{port}}']\n");
    assert!(read("p.toml", &sliced).unwrap_err().to_string().contains("changes in stages"));
}

#[test]
fn files_and_names_are_those_of_brunt_load() {
    let words_of = |load: &str| words(&format!("connections = 8\npath = '/'\n{load}"));
    assert!(words_of("request_file = 'a.har'").contains("http://127.0.0.1:80/ "));
    assert!(words_of("request_file = 'a.har'").contains(" --requests a.har "));
    let replay = words_of("replay = 'access.log'\nspeed = 2\nduration = '1s'");
    assert!(replay.contains(" --replay access.log --speed 2 ") && replay.contains(" -d 1s "), "{replay}");
    let names = words("connections = 8\npath = '/ /cart?a={size}'\nnames = 'home,cart'");
    assert!(names.contains(" http://127.0.0.1:80/ http://127.0.0.1:80/cart?a=100 "), "{names}");
    assert!(names.contains(" --names home,cart "), "{names}");
    for (load, says) in [
        ("connections = 8\nrequest_file = 'a.har'", "request_file is of HTTP requests: add path"),
        ("connections = 8\nnames = 'a'", "names is of HTTP requests"),
        ("connections = 8\npath = '/'\nrequest_file = 'a'\nreplay = 'b'", "exclude each other"),
        ("connections = 8\npath = '/'\n[sweep]\nreplay = ['a', 'b']", "replay cannot be an axis"),
    ] {
        refused(load, says);
    }
}
