//! Properties of cells, skips, selection and order, over plans and machines of any shape.

use brunt_lab::plan::{Plan, read};
use brunt_lab::run::endpoint::Endpoint;
use brunt_lab::schedule::{Cell, Machine, Schedule, cells, order};
use brunt_lab::testers::Tester;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn plan(axes: &str, targets: &[&str]) -> Plan {
    let targets: String =
        targets.iter().map(|name| format!("[[target]]\nname = '{name}'\ncommand = ['sh', '{{port}}']\n")).collect();
    read("p", &format!("name = 'p'\n[load]\nconnections = 10\n{axes}\n{targets}")).unwrap()
}

fn machine(cores: usize) -> Machine {
    Machine { cores: (0..cores).collect(), open_files: 20_000 }
}

fn all(plan: &Plan, cores: usize) -> Vec<Cell> {
    cells(plan, &machine(cores), &BTreeMap::new()).run
}

#[test]
fn ids_name_target_and_swept_values() {
    let plan = plan("[sweep]\nsize = ['100B', '1KiB']\nrate = ['max', '20k']", &["a", "b"]);
    let ids: Vec<String> = all(&plan, 2).into_iter().map(|cell| cell.id().to_owned()).collect();
    assert_eq!(ids.len(), 8);
    assert_eq!(ids[0], "target=a,size=100B,rate=max");
    assert_eq!(ids[7], "target=b,size=1KiB,rate=20k");
}

#[test]
fn cells_that_need_more_cores_are_skipped_with_the_numbers() {
    let plan = plan("[sweep]\nserver_cores = [1, 2, 4]\nclient_cores = '4x'", &["a"]);
    let cells = cells(&plan, &machine(6), &BTreeMap::new());
    assert_eq!(cells.run.len(), 1);
    assert_eq!(cells.run[0].placement.server.to_string(), "5");
    assert_eq!(cells.run[0].placement.client.to_string(), "0-3");
    let why: Vec<String> = cells.skipped.iter().map(|cell| cell.why.to_string()).collect();
    assert_eq!(
        why,
        [
            "needs 2 server + 8 generator cores, this machine has 6",
            "needs 4 server + 16 generator cores, this machine has 6"
        ]
    );
}

#[test]
fn unavailable_targets_are_skipped_with_the_reason() {
    let plan = plan("", &["a", "b"]);
    let cells = cells(&plan, &machine(2), &BTreeMap::from([("b".to_owned(), "no compiler".to_owned())]));
    assert_eq!(cells.run.len(), 1);
    assert_eq!((cells.skipped[0].id.as_str(), cells.skipped[0].why.to_string().as_str()), ("target=b", "no compiler"));
}

#[test]
fn amounts_per_core_scale_with_generator_cores() {
    let plan = plan("[sweep]\nclient_cores = [1, 3]\nconnections_per_core = 80\nrate_per_core = '10k'", &["a"]);
    let cells = all(&plan, 4);
    let totals: Vec<_> = cells.iter().map(|cell| (cell.connections(), cell.rate())).collect();
    assert_eq!(totals, [(80, Some(10_000.0)), (240, Some(30_000.0))]);
}

#[test]
fn a_load_in_two_sweeps_is_measured_once() {
    let plan = plan("[[sweep]]\nsize = ['100B', '1KiB']\n[[sweep]]\nsize = ['1KiB', '2KiB']", &["a"]);
    assert_eq!(all(&plan, 2).len(), 3);
}

fn schedule(plan: &Plan, only: &[&str]) -> Result<Schedule, String> {
    let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
    Schedule::new(plan, &machine(2), &BTreeMap::new(), &only).map_err(|e| e.to_string())
}

#[test]
fn an_unknown_name_is_answered_with_each_known_name_once() {
    let sweeps = "[[sweep]]\nbacklog = [1]\nworkers = [1]\n[[sweep]]\nbacklog = [2]\nworkers = [2]";
    let target = "[[target]]\nname = 'a'\ncommand = ['sh', '{port}', '{backlog}', '{workers}']";
    let plan = read("p", &format!("name = 'p'\n[load]\nconnections = 10\n{sweeps}\n{target}")).unwrap();
    let error = schedule(&plan, &["unlike_any=1"]).unwrap_err();
    let known: Vec<&str> = error.split_once("; known are ").unwrap().1.split(", ").collect();
    assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len(), "{error}");
    assert!(known.contains(&"backlog") && known.contains(&"workers"), "{error}");
}

#[test]
fn only_combines_names_and_alternates_values() {
    let plan = plan("[sweep]\nsize = ['100B', '1KiB', '2KiB']\nclient_cores = ['1x']", &["a", "b"]);
    let ids = |only: &[&str]| -> BTreeSet<String> {
        schedule(&plan, only).unwrap().selected().into_iter().map(|cell| cell.id().to_owned()).collect()
    };
    assert_eq!(ids(&[]).len(), 6);
    assert_eq!(ids(&["target=a"]).len(), 3);
    assert_eq!(ids(&["target=a,size=1024"]).len(), 1);
    assert_eq!(ids(&["size=100B,size=2KiB"]).len(), 4);
    assert_eq!(ids(&["size=100B", "target=b"]).len(), 1);
    assert_eq!(ids(&["client_cores=1"]).len(), 6);
    assert_eq!(ids(&["client_cores=1x", "connections=10", "rate=max"]).len(), 6);
    // An id selects exactly its cell.
    let one = ids(&["target=b,size=1KiB,client_cores=1x"]);
    assert_eq!(one.into_iter().collect::<Vec<_>>(), ["target=b,size=1KiB,client_cores=1x"]);
}

#[test]
fn typing_errors_in_only_are_reported() {
    let plan = plan("[sweep]\nsize = ['100B', '1KiB']", &["uring", "epoll"]);
    for (only, expected) in [
        ("target=urin", "did you mean 'uring'?"),
        ("taget=uring", "did you mean 'target'?"),
        ("size=2KiB", "--only size=2KiB selects nothing; known are 100B, 1KiB"),
        ("size=huge", "'huge' is not a size"),
        ("uring", "is not NAME=VALUE, such as target=uring"),
        ("timeout=1s", "no cell of the plan sets timeout"),
    ] {
        let error = schedule(&plan, &[only]).unwrap_err();
        assert!(error.contains(expected), "{only}: {error}");
    }
}

/// Ids without their common prefix.
fn ids(axes: &str, targets: &[&str]) -> Vec<String> {
    let all = all(&plan(axes, targets), 2);
    all.into_iter().map(|cell| cell.id().trim_start_matches("target=").to_owned()).collect()
}

#[test]
fn a_switch_is_an_axis_with_two_values() {
    for name in ["keepalive", "tls", "strict_http", "location"] {
        let axes = format!(
            "path = '/'\n[sweep]\n{name} = [false, true]\n[[override]]\nwhen = {{ {name} = false }}\nset = {{ connections = 20 }}"
        );
        let cells = all(&plan(&axes, &["a"]), 2);
        let shown = |cell: &Cell| (cell.id().to_owned(), cell.settings.get("connections"));
        let expected = [("false", "20"), ("true", "10")]
            .map(|(value, connections)| (format!("target=a,{name}={value}"), Some(connections.to_owned())));
        assert_eq!(cells.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn filters_select_combinations_of_their_sweep_or_target() {
    let sweep = "[[sweep]]\nsize = ['1B', '2B']\nrate = ['max', '5k']\n";
    let when = format!("{sweep}when = [{{ size = '1B', rate = 5000 }}, {{ size = 2, target = 'b' }}]");
    assert_eq!(
        ids(&when, &["a", "b"]),
        ["a,size=1B,rate=5k", "b,size=1B,rate=5k", "b,size=2B,rate=max", "b,size=2B,rate=5k"]
    );
    let except = format!("{sweep}except = {{ size = ['1B', '2B'], rate = 'max' }}\n[[sweep]]\nsize = '1B'");
    assert_eq!(ids(&except, &["a"]), ["a,size=1B,rate=5k", "a,size=2B,rate=5k", "a,size=1B"]);
    let of_target = "when = { rate = 'max' }\nexcept = { size = '1B' }\n";
    let text =
        format!("name = 'p'\n[load]\nconnections = 1\n{sweep}[[target]]\nname = 'a'\n{of_target}command = ['s']\n");
    let cells = cells(&read("p", &text).unwrap(), &machine(2), &BTreeMap::new());
    assert_eq!(cells.run.iter().map(|cell| cell.id()).collect::<Vec<_>>(), ["target=a,size=2B,rate=max"]);
    assert_eq!((cells.filtered, cells.skipped.len()), (3, 0));
}

#[test]
fn every_combination_has_every_phase_and_overrides_win() {
    let text = "[sweep]\nsize = ['1B', '2B']\n[[phase]]\nname = 'warm'\nduration = '1s'\n[[phase]]\nname = 'peak'\nrate = '5k'\n\
                [[override]]\nwhen = { phase = 'peak', size = '2B' }\nset = { rate = '7k', duration = '9s' }\n\
                [[override]]\nexcept = [{ phase = 'warm' }, { target = 'a' }]\nset = { duration = '4s' }";
    let cells = all(&plan(text, &["a", "b"]), 2);
    let told = |cell: &Cell| format!("{} {} {}", cell.id(), cell.value("rate").unwrap(), cell.settings.duration);
    let told: Vec<String> = cells.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "target=a,size=1B,phase=warm max 1s",
            "target=a,size=1B,phase=peak 5k 3s",
            "target=b,size=1B,phase=warm max 1s",
            "target=b,size=1B,phase=peak 5k 4s",
            "target=a,size=2B,phase=warm max 1s",
            "target=a,size=2B,phase=peak 7k 9s",
            "target=b,size=2B,phase=warm max 1s",
            "target=b,size=2B,phase=peak 7k 4s",
        ]
    );
    assert_eq!((cells[0].combination(), cells[0].phase()), ("size=1B,phase=warm", Some("warm")));
    assert!(cells[0].shares_start(&cells[1]));
    assert!(!cells[0].shares_start(&cells[2]) && !cells[0].shares_start(&cells[4]));
}

#[test]
fn a_phase_can_have_a_share_of_the_rate() {
    let text = "[sweep]\nrate = ['10k', '30k']\n[[phase]]\nname = 'calm'\nrate = '33.3%'\n[[phase]]\nname = 'full'\n\
                [[override]]\nwhen = { rate = '30k', phase = 'calm' }\nset = { duration = '9s' }";
    let plan = plan(text, &["a"]);
    let told = |cell: &Cell| format!("{} {} {}", cell.id(), cell.value("rate").unwrap(), cell.settings.duration);
    let expected = [
        "target=a,rate=10k,phase=calm 3330 3s",
        "target=a,rate=10k,phase=full 10k 3s",
        "target=a,rate=30k,phase=calm 9990 9s",
        "target=a,rate=30k,phase=full 30k 3s",
    ];
    assert_eq!(all(&plan, 2).iter().map(told).collect::<Vec<_>>(), expected);
    // An id is a selection.
    let only = Schedule::new(&plan, &machine(2), &BTreeMap::new(), &["rate=10k".to_owned()]).unwrap();
    let mut wanted: Vec<&str> = only.order.iter().map(|slot| only.cell(*slot).id()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    assert_eq!(wanted, ["target=a,rate=10k,phase=calm", "target=a,rate=10k,phase=full"]);
}

#[test]
fn shuffling_keeps_phases_together_and_in_order() {
    let text = "[sweep]\nsize = [1, 2, 3, 4]\n[[phase]]\nname = 'x'\n[[phase]]\nname = 'y'\n[[phase]]\nname = 'z'";
    let mut plan = plan(text, &["a", "b"]);
    plan.repeats = 3;
    let whole = Schedule::new(&plan, &machine(2), &BTreeMap::new(), &[]).unwrap();
    let mut mirrored = whole.clone();
    mirrored.reorder_abba(7);
    for schedule in [whole, mirrored] {
        let starts = schedule.todo(|_| false);
        assert_eq!(starts.len(), 4 * 2 * 3);
        for (first, start) in starts {
            let phases: Vec<_> = start.iter().map(|slot| schedule.cell(*slot).phase().unwrap()).collect();
            assert_eq!(phases, ["x", "y", "z"]);
            assert_eq!(schedule.order[first], start[0]);
        }
        let one = schedule.order[4];
        assert_eq!(schedule.todo(|slot| *slot != one), [(3, &schedule.order[3..6])]);
    }
    let alone = Schedule::new(&plan, &machine(2), &BTreeMap::new(), &["phase=y,size=1B".to_owned()]).unwrap();
    assert_eq!(alone.todo(|_| false).len(), 2 * 3);
    let error = Schedule::new(&plan, &machine(2), &BTreeMap::new(), &["phase=w".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("known are x, y, z"), "{error}");
}

proptest! {
    #[test]
    fn every_repeat_of_every_cell_once_and_repeats_one_after_the_other(
        sizes in 1usize..6, rates in 1usize..4, targets in 1usize..5, repeats in 1u32..6, seed: u64,
    ) {
        let list = |n: usize, unit: &str| (1..=n).map(|i| format!("'{i}{unit}'")).collect::<Vec<_>>().join(",");
        let names: Vec<String> = (0..targets).map(|i| format!("t{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let plan = plan(&format!("[sweep]\nsize = [{}]\nrate = [{}]", list(sizes, "B"), list(rates, "k")), &names);
        let cells = all(&plan, 2);
        prop_assert_eq!(cells.len(), sizes * rates * targets);
        let order = order(&cells, repeats, seed);

        let distinct: BTreeSet<_> = order.iter().collect();
        prop_assert_eq!(order.len(), cells.len() * repeats as usize);
        prop_assert_eq!(distinct.len(), order.len());
        prop_assert!(order.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat));
        // The targets of one load are adjacent.
        for block in order.chunks(targets) {
            let loads: BTreeSet<&str> = block.iter().map(|slot| cells[slot.cell].combination()).collect();
            prop_assert_eq!(loads.len(), 1);
        }
        prop_assert_eq!(order.clone(), brunt_lab::schedule::order(&cells, repeats, seed));
    }

    #[test]
    fn in_a_mirrored_order_the_targets_of_a_load_are_run_there_and_back_again(
        sizes in 1usize..6, targets in 1usize..5, repeats in 1u32..6, seed: u64,
    ) {
        let list = (1..=sizes).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        let names: Vec<String> = (0..targets).map(|i| format!("t{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cells = all(&plan(&format!("[sweep]\nsize = [{list}]"), &names), 2);
        let order = brunt_lab::schedule::abba(&cells, repeats, seed);
        prop_assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), cells.len() * repeats as usize);
        prop_assert_eq!(order.len(), cells.len() * repeats as usize);
        let pairs = cells.len() * 2 * (repeats as usize / 2);
        for block in order[..pairs].chunks(2 * targets) {
            let loads: BTreeSet<&str> = block.iter().map(|slot| cells[slot.cell].combination()).collect();
            prop_assert_eq!(loads.len(), 1);
            let there = block[..targets].iter().map(|slot| slot.cell);
            let back = block[targets..].iter().rev().map(|slot| slot.cell);
            prop_assert!(there.eq(back));
        }
    }

    #[test]
    fn another_seed_is_another_order(seed: u64) {
        let plan = plan("[sweep]\nsize = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", &["a", "b"]);
        let cells = all(&plan, 2);
        let first = order(&cells, 2, seed);
        prop_assert_ne!(&first, &order(&cells, 2, seed.wrapping_add(1)));
        // Two repeats differ in their order.
        let cells_of = |half: &[brunt_lab::schedule::ScheduledTrial]| half.iter().map(|slot| slot.cell).collect::<Vec<_>>();
        prop_assert_ne!(cells_of(&first[..40]), cells_of(&first[40..]));
    }

    #[test]
    fn no_only_panics(word in "[a-z=,0-9 ]{0,24}") {
        let plan = plan("[sweep]\nsize = [1, 2]", &["a"]);
        let _ = schedule(&plan, &[&word]);
    }
}

#[test]
fn vary_is_part_of_the_cell_and_an_argument_of_brunt_load() {
    let plan = plan("path = '/{{vary}}'\n[sweep]\nvary = [1, '4k']", &["a"]);
    let arguments = |cell: &Cell| Tester::brunt("brunt").args(cell, &Endpoint::here(80, 1), 7, "out".as_ref()).unwrap();
    let cells = all(&plan, 2);
    let ids: Vec<&str> = cells.iter().map(Cell::id).collect();
    assert_eq!(ids, ["target=a,vary=1", "target=a,vary=4k"]);
    assert!(!arguments(&cells[0]).contains(&"--vary".to_owned()));
    let words = arguments(&cells[1]).join(" ");
    assert!(words.contains(":80/{vary} ") && words.contains(" --vary 4k "), "{words}");
}

#[test]
fn variants_of_anything_but_http_are_skipped() {
    let mut plan = plan("", &["a"]);
    plan.set("vary", "4k").unwrap();
    let cells = cells(&plan, &machine(2), &BTreeMap::new());
    assert!(cells.run.is_empty() && cells.skipped[0].why.to_string().contains("add path = \"/\""));
}

#[test]
fn one_process_holds_no_more_connections_than_it_may_open_files() {
    let text = "name = 'p'\n[sweep]\nconnections = ['10k', '100k']\n\
        [[target]]\nname = 'many'\nserve = { service = 'echo', model = 'epoll' }\n\
        [[target]]\nname = 'one'\nserve = { service = 'echo', model = 'epoll-one' }\n\
        [[target]]\nname = 'own'\ncommand = ['sh', '{port}']\nsingle_process = true\n\
        [[target]]\nname = 'small'\ncommand = ['sh', '{port}']\nsingle_process = true\nlimits = { nofile = '10k' }\n";
    let cells = cells(&read("p", text).unwrap(), &machine(2), &BTreeMap::new());
    let run: Vec<&str> = cells.run.iter().map(|cell| cell.id()).collect();
    assert_eq!(
        run,
        [
            "target=many,connections=10k",
            "target=one,connections=10k",
            "target=own,connections=10k",
            "target=many,connections=100k",
        ]
    );
    let why: Vec<String> = cells.skipped.iter().map(|cell| cell.why.to_string()).collect();
    assert!(why[0].contains("10000 files") && why[1].contains("20000 files, too few for 100k"), "{why:?}");
}
