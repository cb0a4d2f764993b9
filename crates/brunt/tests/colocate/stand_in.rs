//! A controller in a process of its own, for others to kill: this test binary, started again.

use super::scene::{BRUNT, settings};
use brunt_colocate::actuators::Actuators;
use brunt_colocate::allotment::Allotment;
use brunt_colocate::exec::Exec;
use brunt_colocate::guardian::{Guardian, Options};
use brunt_colocate::journal::{Contents, Journal, all, folder};
use brunt_meter::cgroup::Linux;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process, thread};

const PERIOD: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_millis(500);

/// Runs in the stand-in only.
#[test]
#[ignore = "a process of other tests"]
fn controller() {
    let Some(home) = env::var_os("BRUNT_STAND_IN").map(PathBuf::from) else { return };
    let mut journal = Journal::in_folder(&folder().unwrap()).unwrap();
    let options = Options { journal: journal.path().to_owned(), period: PERIOD, grace: GRACE };
    let mut guardian = Guardian::start(Path::new(BRUNT), &options).unwrap();
    let mut actuators = Actuators::open(Arc::new(Linux), &settings(), &mut journal).unwrap();
    let job = actuators.group().job("1").unwrap();
    // One process that ends with the controller, and one that no longer knows it.
    let script = "trap '' TERM; (setsid sh -c 'while :; do :; done' &); while :; do :; done";
    let (groups, args) = (job.dirs().to_vec(), vec!["-c".into(), script.into()]);
    let job = Exec { groups, parent: Some(process::id()), program: "sh".into(), args };
    let mut child = job.command(Path::new(BRUNT)).stdin(Stdio::null()).spawn().unwrap();
    fs::write(home.join("guardian"), guardian.pid().to_string()).unwrap();
    while !home.join("end").exists() {
        guardian.beat().unwrap();
        assert_eq!(actuators.apply(Allotment::cores(0.2)).faults, []);
        thread::sleep(PERIOD);
    }
    assert_eq!(journal.undo(&Linux), Vec::<String>::new());
    guardian.stop().unwrap();
    child.wait().unwrap();
}

pub struct StandIn {
    pub child: Child,
    pub guardian: u32,
    pub journal: PathBuf,
    pub dirs: Vec<PathBuf>,
}

/// Starts one, with its state below this directory, and waits until its job runs.
pub fn start(home: &Path) -> StandIn {
    let _ = fs::remove_file(home.join("guardian"));
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "stand_in::controller", "--ignored", "--nocapture"]);
    command.env("BRUNT_STAND_IN", home).env("BRUNT_STATE_DIR", home.join("state"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let guardian = || fs::read_to_string(home.join("guardian")).ok()?.parse::<u32>().ok();
    super::scene::until("the stand-in is ready", || guardian().is_some());
    let journal = all(&home.join("state/colocate")).pop().unwrap();
    let dirs = Contents::read(&journal).unwrap().groups();
    StandIn { child, guardian: guardian().unwrap(), journal, dirs }
}
