//! The limit of what jobs send, on an interface made for the test.

use super::scene::settings;
use brunt_colocate::actuators::{Actuators, NetworkLimit, Resource};
use brunt_colocate::allotment::Allotment;
use brunt_colocate::journal::Journal;
use brunt_meter::cgroup::Linux;
use brunt_testkit::alone;
use std::process::Command;
use std::sync::Arc;
use std::{fs, process};

/// Removed on drop.
struct Interface(String);

impl Interface {
    fn new(number: u32) -> Option<Self> {
        let name = format!("bt{}n{number}", process::id());
        let made = ["dummy", "ifb", "veth"].iter().any(|kind| {
            Command::new("ip").args(["link", "add", &name, "type", kind]).output().is_ok_and(|run| run.status.success())
        });
        if !made {
            println!("skipped: no network interface can be made here");
        }
        made.then_some(Self(name))
    }

    fn tc(&self, words: &[&str]) -> String {
        // tc qdisc add dev NAME ...
        let (verb, rest) = words.split_at(2);
        let output = Command::new("tc").args(verb).args(["dev", &self.0]).args(rest).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn open(&self, journal: &mut Journal) -> std::io::Result<Actuators> {
        let mut settings = settings();
        settings.network = Some(NetworkLimit { interfaces: vec![self.0.clone()], floor: 1_000_000 });
        Actuators::open(Arc::new(Linux), &settings, journal)
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.0]).output();
    }
}

#[test]
fn the_class_of_the_jobs_follows_the_allotment_and_is_removed() {
    let _alone = alone();
    let Some(interface) = Interface::new(1) else { return };
    let home = brunt_testkit::home();
    let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
    let before = interface.tc(&["qdisc", "show"]);
    let mut actuators = match interface.open(&mut journal) {
        Ok(actuators) => actuators,
        Err(why) => return println!("skipped: {why}"),
    };
    let capability = actuators.capabilities().into_iter().find(|one| one.name == Resource::Network).unwrap();
    if capability.available {
        let map = fs::read_to_string(actuators.group().file(&["net_prio.ifpriomap"]).unwrap()).unwrap();
        assert!(map.lines().any(|line| line == format!("{} {}", interface.0, 0xb7c0_0002u32)), "{map}");
        assert!(interface.tc(&["class", "show"]).contains("rate 8Mbit ceil 8Mbit"));
        let allotment = Allotment { network: Some(2_000_000), ..Allotment::cores(0.2) };
        assert_eq!(actuators.apply(allotment).faults, []);
        assert!(interface.tc(&["class", "show"]).contains("rate 16Mbit ceil 16Mbit"));
    } else {
        println!("skipped: {}", capability.evidence);
    }
    assert_eq!(journal.undo(&Linux), Vec::<String>::new());
    assert_eq!(interface.tc(&["qdisc", "show"]), before);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(home.path().to_str().unwrap()) && fs::read_dir(home.path()).unwrap().next().is_none());
}

#[test]
fn an_interface_with_a_discipline_of_another_program_is_refused() {
    let _alone = alone();
    let Some(interface) = Interface::new(2) else { return };
    interface.tc(&["qdisc", "add", "root", "handle", "1:", "htb"]);
    let home = brunt_testkit::home();
    let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
    let before = interface.tc(&["qdisc", "show"]);
    let error = interface.open(&mut journal).unwrap_err().to_string();
    assert!(error.contains(&interface.0) && error.contains("queueing discipline already"), "{error}");
    assert_eq!(journal.undo(&Linux), Vec::<String>::new());
    assert_eq!(interface.tc(&["qdisc", "show"]), before);
}
